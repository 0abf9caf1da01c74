// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/exit_status.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom::cli {

/// Standard output, unbuffered: what is written is out when write() returns, so that a reader at the other end of a pipe
/// has each answer as soon as it is known.
class Output
{
public:
    /// SIGPIPE would end the program without a word; here a closed pipe is an error of write() like any other.
    Output();

    /// False where it could not be written; then and ever after.
    bool write(std::string_view text);
    bool ok() const { return m_error == 0; }

    /// The status to exit with: `status` where all could be written. Says on standard error what went wrong, but for a reader
    /// that closed the pipe because it has seen enough (`| head`).
    int finish(int status) const;

private:
    int m_error = 0; ///< errno
};

/// A line on standard error, with the program's name before it; control characters and malformed UTF-8 are replaced.
void complain(std::string_view text);

/// The text, or its beginning and "..." where it is longer than `bytes`: errors quote what they complain of, and a key or a
/// name may be megabytes long. No character of UTF-8 is cut.
std::string shortened(std::string_view text, std::size_t bytes = 400);

} // namespace headroom::cli
