// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/units/result.h"

#include <memory>
#include <string>

namespace headroom::probe {

/// A shared library that is loaded when the program runs, and its functions by name.
class Library
{
public:
    /// An Issue with the loader's reason where it is missing or broken.
    static Result<Library> load(const std::string &name);

    /// The function with this name; null where the library has none.
    template<typename Function>
    Function *find(const char *name) const
    {
        return reinterpret_cast<Function *>(symbol(name)); // dlsym: POSIX promises that this works for functions
    }

private:
    struct Close {
        void operator()(void *handle) const;
    };
    explicit Library(void *handle)
        : m_handle(handle, Close())
    {}
    void *symbol(const char *name) const;

    std::shared_ptr<void> m_handle;
};

} // namespace headroom::probe
