// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

namespace headroom {

/// The values that a slider stops at, ascending: what lies between slider positions (0 ... size - 1) and a field's values.
class ValueScale
{
public:
    /// Powers of two and the three quarters between each two (4096, 5120, 6144, 7168, 8192), whole numbers only.
    static ValueScale logarithmic(double minimum, double maximum);
    /// At most `most` evenly spaced stops, multiples of 1, 2 or 5 x 10^n counted from `minimum`; whole numbers where `whole`.
    static ValueScale linear(double minimum, double maximum, bool whole, int most = 100);

    int size() const { return static_cast<int>(m_stops.size()); }
    double valueAt(int position) const { return m_stops.at(static_cast<std::size_t>(position)); }
    /// The position whose value is nearest.
    int nearest(double value) const;
    /// Positions that a page key moves by: an octave, or a tenth.
    int page() const { return m_page; }

private:
    explicit ValueScale(std::vector<double> stops, int page);

    std::vector<double> m_stops;
    int m_page;
};

} // namespace headroom
