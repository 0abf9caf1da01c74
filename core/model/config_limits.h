// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace headroom {

// Far above any model there is, low enough that no inventory fills the memory.
constexpr std::int64_t mostWidth = std::int64_t{1} << 20;
constexpr std::int64_t mostIntermediate = std::int64_t{1} << 22;
// Four times as many as Llama 3.1 405B has. An estimate takes time and memory in proportion: about a second at most for these.
constexpr std::int64_t mostLayers = 512;
constexpr std::int64_t mostLayerNumber = 10'000; ///< of keys that count layers but need not stay below the model's own number
constexpr std::int64_t mostHeads = std::int64_t{1} << 16;
constexpr std::int64_t mostVocabulary = std::int64_t{1} << 27;
constexpr std::int64_t mostPositions = std::int64_t{1} << 40;
constexpr std::int64_t mostParameters = std::int64_t{1} << 50;

} // namespace headroom
