// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/operators.h"

#include <QStringList>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

/// What tests of the engine look at: the events of a tape, what is alive, and what a node saved.
namespace tapeevents {

using namespace headroom;
using namespace headroom::autograd;

/// Index of the next event, to look at what follows.
inline std::size_t now(const Tape &tape) { return tape.trace().events.size(); }

/// "+64 aten.mm.default", "-64 aten.mm.default": allocations and releases in order.
inline QStringList eventsSince(const Tape &tape, std::size_t from)
{
    QStringList out;
    for (std::size_t i = from; i < tape.trace().events.size(); ++i) {
        const Event event = tape.trace().events[i];
        const StorageRecord &storage = tape.trace().storages[event.storage];
        out += QStringLiteral("%1%2 %3").arg(event.release ? '-' : '+').arg(storage.bytes).arg(QLatin1String(storage.op));
    }
    return out;
}

/// Allocations alone.
inline QStringList birthsSince(const Tape &tape, std::size_t from)
{
    QStringList out = eventsSince(tape, from);
    out.erase(std::remove_if(out.begin(), out.end(), [](const QString &e) { return e.startsWith('-'); }), out.end());
    return out;
}

inline bool isAlive(const Tape &tape, StorageId id)
{
    int alive = 0;
    for (const Event event : tape.trace().events)
        if (event.storage == id)
            alive += event.release ? -1 : 1;
    return alive == 1;
}

inline std::int64_t liveBytes(const Tape &tape)
{
    std::int64_t live = 0;
    for (const Event event : tape.trace().events)
        live += event.release ? -tape.trace().storages[event.storage].bytes : tape.trace().storages[event.storage].bytes;
    return live;
}

/// A leaf: a parameter where `trainable`, else an input.
inline Tensor leaf(Tape &tape, const Dims &sizes, bool trainable, DType dtype = DType::Float32)
{
    Tensor t = tape.empty(sizes, dtype);
    t->requiresGrad = trainable;
    return t;
}

/// A tensor inside the graph, as a layer's input is: it has a gradient function, which saves nothing.
inline Tensor inner(const Tensor &trainableLeaf) { return mulNumber(trainableLeaf); }

/// The nearest node of that name behind a tensor, or null.
inline const Node *nodeBehind(const Tensor &t, std::string_view name)
{
    std::vector<const Node *> queue{t->gradFunction};
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const Node *node = queue[i];
        if (!node)
            continue;
        if (node->op->name == name)
            return node;
        for (std::size_t e = 0; e < node->edgeCount; ++e)
            queue.push_back(node->edges[e].node);
    }
    return nullptr;
}

/// The storages that a node saved.
inline std::set<StorageId> savedBy(const Node *node)
{
    std::set<StorageId> out;
    for (std::size_t i = 0; node && i < node->savedCount; ++i)
        if (node->saved[i].tensor)
            out.insert(node->saved[i].tensor->storage);
    return out;
}

inline std::set<StorageId> storages(std::initializer_list<const Tensor *> tensors)
{
    std::set<StorageId> out;
    for (const Tensor *t : tensors)
        out.insert((*t)->storage);
    return out;
}

} // namespace tapeevents
