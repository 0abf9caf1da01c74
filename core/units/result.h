// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace headroom {

/// What is wrong with something the user gave, where, and how to mend it.
struct Issue {
    std::string file;       ///< the file as the user named it; empty: no file, or the caller adds it
    int line = 0;           ///< 1-based line in that file; 0: unknown
    std::string where;      ///< the field's path, e.g. "batch.micro_batch"; empty: the whole document
    std::string what;       ///< what is wrong, one sentence without a full stop
    std::string hint;       ///< how to mend it; may be empty

    bool operator==(const Issue &) const = default;
};

/// "plan.headroom.json:3: batch.micro_batch: must be at least 1 (write a whole number from 1 to 65536)".
std::string toString(const Issue &issue);

/// A value, or the issue that kept it from being made. For errors the user can cause; our own mistakes are assertions.
template<typename T>
class [[nodiscard]] Result
{
public:
    Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
    Result(Issue issue) : m_state(std::in_place_index<1>, std::move(issue)) {}

    bool ok() const { return m_state.index() == 0; }
    explicit operator bool() const { return ok(); }

    const T &value() const & { assert(ok()); return std::get<0>(m_state); }
    T &value() & { assert(ok()); return std::get<0>(m_state); }
    T &&value() && { assert(ok()); return std::get<0>(std::move(m_state)); }
    const T &operator*() const & { return value(); }
    T &operator*() & { return value(); }
    const T *operator->() const { return &value(); }
    T *operator->() { return &value(); }

    const Issue &issue() const { assert(!ok()); return std::get<1>(m_state); }
    Issue &issue() { assert(!ok()); return std::get<1>(m_state); }

private:
    std::variant<T, Issue> m_state;
};

} // namespace headroom
