// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>

namespace headroom {

/// A label of plain text that can be selected, for text that changes with every estimate.
///
/// QLabel lays text that can be selected out as a document each time a layout asks for its size, several times for a change.
/// This one measures it, once for a text and a width.
class PlainLabel : public QLabel
{
    Q_OBJECT
public:
    /// `wraps`: as wide as the layout wants it, and as high as its lines. Else one line.
    explicit PlainLabel(bool wraps, QWidget *parent = nullptr);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return wordWrap(); }
    int heightForWidth(int width) const override;

protected:
    void changeEvent(QEvent *event) override;

private:
    mutable QString m_measured; ///< the text that the two below are of
    mutable int m_width = -1, m_height = 0;
};

} // namespace headroom
