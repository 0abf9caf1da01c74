// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

enum class MapDetail : std::uint8_t {
    Device,  ///< each cell's device memory
    WhatFits ///< of cells that cannot fit, as more is asked for at once than there is, just that: the allocator is not replayed
};

/// What a plan takes of one GPU for each of some micro-batches and sequence lengths.
struct FitMap {
    struct Cell {
        Bytes device;         ///< as GpuEstimate::device of the plan with this micro-batch and length
        bool fits = false;    ///< as GpuEstimate::fits: within the capacity, whatever the error band
        bool atLeast = false; ///< WhatFits alone: it is more than `device`
    };

    std::string gpu; ///< id
    Bytes capacity;
    std::vector<std::int64_t> microBatches;
    std::vector<std::int64_t> sequenceLengths; ///< tokens
    std::vector<std::optional<Cell>> cells;    ///< row by row, a row for each micro-batch; empty: cannot be estimated
    std::optional<Issue> refusal;              ///< why, of the first cell that cannot
    std::size_t executed = 0;                  ///< cells whose step was executed; the others' sizes were read off lines

    const std::optional<Cell> &at(std::size_t microBatch, std::size_t sequenceLength) const
    {
        return cells[microBatch * sequenceLengths.size() + sequenceLength];
    }
};

/// At most so many cells in a map.
inline constexpr std::size_t mostCells = 100'000;

/// Every cell's figures are those of estimate(). `microBatches` and `sequenceLengths` are taken in ascending order, each once.
///
/// What a step does seldom hangs on the micro-batch, and its sizes grow in proportion to it. So of a length the
/// first micro-batch, which is often done otherwise, and four more are executed; where these do the same and every size lies on
/// one line through all four, the sizes between are read off that line, and where not, each half is looked at by itself
/// (tests/core/test_fit_map.cpp compares every cell with its estimate). The allocator is replayed for every cell. Lengths are
/// shared out among all processors.
///
/// An Issue where the GPU's id, a micro-batch or a length is not valid, there is none of them, there are too many cells, no
/// cell can be estimated (the first one's refusal), or it was cancelled.
Result<FitMap> fitMap(const TrainingPlan &plan, std::string_view gpu, std::vector<std::int64_t> microBatches,
                      std::vector<std::int64_t> sequenceLengths, MapDetail detail = MapDetail::Device, std::stop_token cancel = {});

/// Of a map with MapDetail::Device: `{"gpu", "micro_batch": [...], "sequence_length": [...], "device": [[...]], "fits": [[...]]}`, null
/// where a cell cannot be estimated.
std::string writeFitMap(const FitMap &map);

} // namespace headroom
