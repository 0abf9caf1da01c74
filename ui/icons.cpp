// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/icons.h"

#include <QFile>
#include <QPainter>
#include <QPixmap>
#include <QPixmapCache>
#include <QSvgRenderer>

/// Outside any namespace, as the macro demands: a static library does not register its pictures by itself.
static void registerPictures() { Q_INIT_RESOURCE(headroom_pictures); }

namespace headroom {
namespace {

/// Drawn at 64 pixels and scaled down by QIcon: sharp enough up to a 32 px icon at twofold density.
constexpr int iconPixels = 64;

QPixmap drawn(const QString &name, const QColor &colour)
{
    const QString key = QStringLiteral("headroom/%1/%2").arg(name, colour.name(QColor::HexArgb));
    QPixmap pixmap;
    if (QPixmapCache::find(key, &pixmap))
        return pixmap;
    registerPictures();
    QFile file(QStringLiteral(":/icons/%1.svg").arg(name));
    const bool found = file.open(QIODevice::ReadOnly);
    Q_ASSERT_X(found, "themedIcon", qPrintable(name));
    QByteArray svg = found ? file.readAll() : QByteArray();
    svg.replace("#000000", colour.name().toLatin1());
    QSvgRenderer renderer(svg);
    pixmap = QPixmap(iconPixels, iconPixels);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    renderer.render(&painter);
    painter.end();
    QPixmapCache::insert(key, pixmap);
    return pixmap;
}

} // namespace

QIcon themedIcon(const QString &name, const QPalette &palette)
{
    QIcon icon(drawn(name, palette.color(QPalette::Active, QPalette::WindowText)));
    icon.addPixmap(drawn(name, palette.color(QPalette::Disabled, QPalette::WindowText)), QIcon::Disabled);
    return icon;
}

QIcon colouredIcon(const QString &name, const QColor &colour) { return QIcon(drawn(name, colour)); }

QIcon programIcon()
{
    registerPictures();
    QSvgRenderer renderer(QStringLiteral(":/headroom.svg"));
    QIcon icon;
    for (const int size : {16, 32, 48, 128}) {
        QPixmap pixmap(size, size);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        renderer.render(&painter);
        painter.end();
        icon.addPixmap(pixmap);
    }
    return icon;
}

} // namespace headroom
