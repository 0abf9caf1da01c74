// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/rules.h"
#include "core/estimate/step_record.h"

#include <algorithm>
#include <map>

namespace headroom {

using namespace autograd;

namespace {

void sortByBytes(std::vector<BreakdownRow> &rows)
{
    std::stable_sort(rows.begin(), rows.end(), [](const BreakdownRow &a, const BreakdownRow &b) { return a.bytes > b.bytes; });
}

/// Adds a tensor to the row with its label, or makes one. Shapes and dtypes that differ within a row are not shown.
BreakdownRow &rowFor(std::vector<BreakdownRow> &rows, std::string_view label, Component component)
{
    for (BreakdownRow &row : rows)
        if (row.label == label)
            return row;
    BreakdownRow &row = rows.emplace_back();
    row.label = label;
    row.component = component;
    return row;
}

void count(BreakdownRow &row, Bytes bytes)
{
    row.bytes += bytes;
    ++row.count;
}

void describe(BreakdownRow &row, const StorageRecord &storage)
{
    const std::string shape = storage.shape.rank() > 0 ? toString(storage.shape) : std::string();
    const std::string dtype(name(storage.dtype));
    if (row.count == 1) {
        row.shape = shape;
        row.dtype = dtype;
        return;
    }
    if (row.shape != shape)
        row.shape.clear();
    if (row.dtype != dtype)
        row.dtype.clear();
}

/// "MLP: matrix", or the label alone where it says enough.
std::string fullLabel(const TensorRule &rule, Component component)
{
    const bool ofModel = component == Component::Weights || component == Component::Gradients;
    return ofModel ? std::string(rule.group) + ": " + rule.label : std::string(rule.label);
}

} // namespace

std::vector<BreakdownRow> Estimate::breakdown(Step step) const
{
    std::vector<BreakdownRow> out;
    for (Component component : allComponents) {
        BreakdownRow &row = out.emplace_back();
        row.label = name(component);
        row.component = component;
    }
    if (!record)
        return out;
    const int index = step == Step::First ? 0 : record->steps() - 1;
    for (StorageId id : record->aliveAfter(record->peakEvent(index))) {
        const StorageRecord &storage = record->trace().storages[id];
        const Component component = record->component(id);
        const Bytes bytes = record->bytes(id);
        const TensorRule rule = ruleFor(storage, component);
        BreakdownRow &top = out[static_cast<std::size_t>(component)];
        count(top, bytes);
        BreakdownRow &group = rowFor(top.children, rule.group, component);
        count(group, bytes);
        BreakdownRow &kind = rowFor(group.children, rule.label, component);
        count(kind, bytes);
        describe(kind, storage);
        if (kind.count == 1) {
            kind.rule = rule.rule;
            kind.source = rule.source;
        }
    }
    for (BreakdownRow &top : out) {
        sortByBytes(top.children);
        for (BreakdownRow &group : top.children)
            sortByBytes(group.children);
    }
    return out;
}

std::vector<AliveTensor> Estimate::alive(Step step, std::optional<std::uint32_t> event) const
{
    std::vector<AliveTensor> out;
    if (!record)
        return out;
    const int index = step == Step::First ? 0 : record->steps() - 1;
    const EventRange range = record->step(index);
    if (range.from == range.to)
        return out;
    const std::uint32_t at = event ? std::min(range.from + *event, range.to - 1) : record->peakEvent(index);
    std::map<std::string, std::size_t> rows;
    for (StorageId id : record->aliveAfter(at)) {
        const StorageRecord &storage = record->trace().storages[id];
        const TensorRule rule = ruleFor(storage, record->component(id));
        std::string shape = toString(storage.shape);
        const std::string key = fullLabel(rule, record->component(id)) + '\n' + shape + '\n' + std::string(name(storage.dtype)) + '\n' +
                                std::string(name(record->component(id)));
        const auto [found, isNew] = rows.try_emplace(key, out.size());
        if (isNew) {
            out.push_back({fullLabel(rule, record->component(id)), record->component(id), record->bytes(id), std::move(shape),
                           std::string(name(storage.dtype)), 1});
        } else {
            out[found->second].bytes += record->bytes(id);
            ++out[found->second].count;
        }
    }
    std::stable_sort(out.begin(), out.end(), [](const AliveTensor &a, const AliveTensor &b) { return a.bytes > b.bytes; });
    return out;
}

} // namespace headroom
