// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string_view>

/// What the files of rules share.
namespace headroom::rules {

inline constexpr const char *derivatives = "pytorch/pytorch 2.13, tools/autograd/derivatives.yaml";
inline constexpr const char *adam = "pytorch/pytorch 2.13, torch/optim/adam.py";
inline constexpr const char *sgd = "pytorch/pytorch 2.13, torch/optim/sgd.py";

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

} // namespace headroom::rules
