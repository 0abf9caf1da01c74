// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/palette.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

/// WCAG 2.1: relative luminance of an sRGB colour.
double luminance(const QColor &colour)
{
    const auto linear = [](double c) { return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

QColor mix(const QColor &a, const QColor &b, double share)
{
    const auto part = [share](double x, double y) { return static_cast<float>(x + (y - x) * share); };
    return QColor::fromRgbF(part(a.redF(), b.redF()), part(a.greenF(), b.greenF()), part(a.blueF(), b.blueF()));
}

} // namespace

QColor componentColour(Component component)
{
    switch (component) {
    case Component::Weights: return QColor(0x00, 0x72, 0xB2);
    case Component::Gradients: return QColor(0xE6, 0x9F, 0x00);
    case Component::Optimizer: return QColor(0x00, 0x9E, 0x73);
    case Component::Activations: return QColor(0xCC, 0x79, 0xA7);
    case Component::Temporary: return QColor(0x56, 0xB4, 0xE9);
    }
    return {};
}

QColor overLimitColour() { return QColor(0xD5, 0x5E, 0x00); }

QColor cacheColour(const QPalette &palette) { return mix(palette.color(QPalette::Base), palette.color(QPalette::Text), 0.45); }

QColor outsideColour(const QPalette &palette) { return mix(palette.color(QPalette::Base), palette.color(QPalette::Text), 0.65); }

QString componentLabel(Component component)
{
    switch (component) {
    case Component::Weights: return QCoreApplication::translate("headroom::Component", "Weights");
    case Component::Gradients: return QCoreApplication::translate("headroom::Component", "Gradients");
    case Component::Optimizer: return QCoreApplication::translate("headroom::Component", "Optimizer");
    case Component::Activations: return QCoreApplication::translate("headroom::Component", "Activations");
    case Component::Temporary: return QCoreApplication::translate("headroom::Component", "Temporary");
    }
    return {};
}

double contrastRatio(const QColor &a, const QColor &b)
{
    const double la = luminance(a);
    const double lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

QColor textOver(const QColor &background)
{
    return contrastRatio(Qt::white, background) >= contrastRatio(Qt::black, background) ? Qt::white : Qt::black;
}

QColor readableOn(const QColor &wanted, const QColor &background, double ratio)
{
    const QColor end = textOver(background);
    QColor colour = wanted;
    for (int step = 1; step <= 20 && contrastRatio(colour, background) < ratio; ++step)
        colour = mix(wanted, end, step / 20.0);
    return colour;
}

bool isDark(const QPalette &palette)
{
    return palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
}

} // namespace headroom
