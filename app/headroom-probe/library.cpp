// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-probe/library.h"

#include <fmt/format.h>

#include <dlfcn.h>

namespace headroom::probe {

Result<Library> Library::load(const std::string &name)
{
    if (void *handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
        return Library(handle);
    const char *reason = dlerror();
    return Issue{{},
                 0,
                 name,
                 fmt::format("cannot be loaded ({})", reason != nullptr ? reason : "no reason given"),
                 "it comes with NVIDIA's driver: is there an NVIDIA GPU in this machine, with its driver installed?"};
}

void Library::Close::operator()(void *handle) const { dlclose(handle); }

void *Library::symbol(const char *name) const { return dlsym(m_handle.get(), name); }

} // namespace headroom::probe
