// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>

#include <memory>

class QTextLayout;

namespace headroom {

/// A label of plain text that can be selected, for text that changes with every estimate.
///
/// QLabel lays text that can be selected out as a document, to paint it and each time a layout asks for its size. This one
/// lays it out once for a text, to measure and to paint, and leaves it to QLabel only while something is selected.
class PlainLabel : public QLabel
{
    Q_OBJECT
public:
    /// `wraps`: as wide as the layout wants it, and as high as its lines. Else one line.
    explicit PlainLabel(bool wraps, QWidget *parent = nullptr);
    ~PlainLabel() override;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return wordWrap(); }
    int heightForWidth(int width) const override;

protected:
    void paintEvent(QPaintEvent *event) override;
    void changeEvent(QEvent *event) override;

private:
    /// The text's lines, broken for this width.
    const QTextLayout &laidOut(double width) const;

    mutable std::unique_ptr<QTextLayout> m_layout;
    mutable QString m_laidOut; ///< the text that m_layout is of
    mutable double m_width = -1, m_height = 0, m_textWidth = 0;
};

} // namespace headroom
