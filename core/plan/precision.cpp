// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/fields.h"

namespace headroom {

namespace {

/// A row of the plan format's table "Precision recipes".
ResolvedPrecision recipeRow(Recipe recipe)
{
    using enum DType;
    switch (recipe) {
    case Recipe::Fp32: return {Float32, {}, {}, {}, {}};
    case Recipe::Bf16: return {BFloat16, {}, {}, {}, {}};
    case Recipe::Fp16: return {Float16, {}, {}, {}, {}};
    case Recipe::Bf16Autocast: return {Float32, {}, {}, {}, BFloat16};
    case Recipe::Fp16Autocast: return {Float32, {}, {}, {}, Float16};
    case Recipe::Bf16Master: return {BFloat16, BFloat16, Float32, Float32, {}};
    case Recipe::Fp16Master: return {Float16, Float16, Float32, Float32, {}};
    case Recipe::MegatronBf16: return {BFloat16, Float32, Float32, Float32, {}};
    case Recipe::Fp8: return {BFloat16, BFloat16, Float32, Float32, {}};
    }
    return {Float32, {}, {}, {}, {}};
}

void apply(const DtypeOverride &given, std::optional<DType> &resolved)
{
    switch (given.state) {
    case DtypeOverride::State::FromRecipe: break;
    case DtypeOverride::State::None: resolved.reset(); break;
    case DtypeOverride::State::Given: resolved = given.dtype; break;
    }
}

} // namespace

ResolvedPrecision resolvePrecision(const Precision &precision)
{
    ResolvedPrecision resolved = recipeRow(precision.recipe);
    const bool recipeHasMaster = resolved.master.has_value();
    if (precision.weights.state == DtypeOverride::State::Given)
        resolved.weights = precision.weights.dtype;
    apply(precision.master, resolved.master);
    // The optimizer makes moments of what it updates: of the master copy where the plan adds one to a recipe without.
    if (!recipeHasMaster && resolved.master)
        resolved.moments = resolved.master;
    apply(precision.gradients, resolved.gradients);
    apply(precision.moments, resolved.moments);
    apply(precision.autocast, resolved.autocast);
    return resolved;
}

} // namespace headroom
