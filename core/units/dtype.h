// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string_view>

namespace headroom {

/// PyTorch's element types, as far as training memory needs them (c10/core/ScalarType.h).
enum class DType : std::uint8_t { Bool, UInt8, Int8, Int32, Int64, Float16, BFloat16, Float32, Float64 };

/// Bytes of one element.
constexpr std::int64_t elementSize(DType dtype)
{
    switch (dtype) {
    case DType::Bool:
    case DType::UInt8:
    case DType::Int8: return 1;
    case DType::Float16:
    case DType::BFloat16: return 2;
    case DType::Int32:
    case DType::Float32: return 4;
    case DType::Int64:
    case DType::Float64: return 8;
    }
    return 0;
}

constexpr bool isFloating(DType dtype) { return dtype >= DType::Float16; }
constexpr bool isHalf(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

/// PyTorch's name without "torch.": "bfloat16".
constexpr std::string_view name(DType dtype)
{
    switch (dtype) {
    case DType::Bool: return "bool";
    case DType::UInt8: return "uint8";
    case DType::Int8: return "int8";
    case DType::Int32: return "int32";
    case DType::Int64: return "int64";
    case DType::Float16: return "float16";
    case DType::BFloat16: return "bfloat16";
    case DType::Float32: return "float32";
    case DType::Float64: return "float64";
    }
    return "";
}

} // namespace headroom
