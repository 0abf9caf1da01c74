// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/value_scale.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace headroom {

ValueScale::ValueScale(std::vector<double> stops, int page)
    : m_stops(std::move(stops))
    , m_page(std::max(page, 1))
{
    assert(!m_stops.empty() && std::is_sorted(m_stops.begin(), m_stops.end()));
}

ValueScale ValueScale::logarithmic(double minimum, double maximum)
{
    assert(minimum >= 0 && minimum <= maximum);
    constexpr int quarters = 4;
    std::vector<double> stops = {minimum};
    for (double octave = 1; octave <= maximum; octave *= 2) {
        for (int quarter = 0; quarter < quarters; ++quarter) {
            const double value = std::floor(octave + octave * quarter / quarters);
            if (value > stops.back() && value <= maximum)
                stops.push_back(value);
        }
    }
    if (stops.back() < maximum)
        stops.push_back(maximum);
    return ValueScale(std::move(stops), quarters);
}

ValueScale ValueScale::linear(double minimum, double maximum, bool whole, int most)
{
    assert(minimum <= maximum && most >= 2);
    const double span = maximum - minimum;
    double step = whole ? 1 : std::pow(10.0, std::floor(std::log10(std::max(span / most, 1e-6))));
    for (int i = 0; span / step > most; ++i)
        step *= i % 3 == 1 ? 2.5 : 2; // 1, 2, 5, 10, 20, 50 ...
    std::vector<double> stops;
    for (int i = 0; minimum + i * step < maximum - step * 1e-6; ++i)
        stops.push_back(minimum + i * step);
    stops.push_back(maximum);
    return ValueScale(std::move(stops), static_cast<int>(stops.size()) / 10);
}

int ValueScale::nearest(double value) const
{
    const auto above = std::lower_bound(m_stops.begin(), m_stops.end(), value);
    if (above == m_stops.begin())
        return 0;
    if (above == m_stops.end())
        return size() - 1;
    const int position = static_cast<int>(above - m_stops.begin());
    return *above - value < value - *(above - 1) ? position : position - 1;
}

} // namespace headroom
