// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFont>
#include <QFontMetricsF>
#include <QHash>
#include <QRectF>
#include <QString>

#include <memory>

class QCPPainter;
class QTextLayout;

namespace headroom {

/// Single lines of text in one font, shaped once: measured and drawn as QFontMetricsF and QPainter do, which choose and place
/// glyphs anew each time. While a slider moves, most of a chart's texts stay what they were.
class FontLines
{
public:
    explicit FontLines(const QFont &font = {});
    ~FontLines();
    FontLines(FontLines &&) noexcept;
    FontLines &operator=(FontLines &&) noexcept;

    const QFont &font() const { return m_font; }
    double height() const { return m_height; }
    double ascent() const { return m_ascent; }
    double horizontalAdvance(const QString &text) const;
    QString elidedText(const QString &text, Qt::TextElideMode mode, double width) const;

    /// Draws as QPainter::drawText(area, flags, text) does in this font, whatever the painter's. `flags`: alignment and
    /// Qt::TextDontClip. Vector graphics get text, not glyphs.
    void draw(QCPPainter *painter, const QRectF &area, int flags, const QString &text) const;

private:
    struct Line {
        std::shared_ptr<QTextLayout> layout;
        double advance = 0, height = 0;
    };
    const Line &lineOf(const QString &text) const;

    QFont m_font;
    double m_height = 0, m_ascent = 0;
    mutable QHash<QString, Line> m_lines;
};

} // namespace headroom
