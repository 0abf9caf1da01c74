// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/line_source.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headroom::cli {

namespace {

constexpr std::size_t bufferSize = std::size_t{256} << 10;

Issue readingIssue(const std::string &name, int error)
{
    return {name, 0, {}, std::string("cannot be read: ") + std::strerror(error), "check that the file exists and may be read"};
}

/// A file, a pipe or a terminal can be read line by line; a folder cannot, and a device has no lines and may have no end.
std::optional<Issue> unsuitable(const std::string &file, int descriptor)
{
    struct stat status = {};
    if (::fstat(descriptor, &status) != 0)
        return readingIssue(file, errno);
    if (S_ISDIR(status.st_mode))
        return Issue{file, 0, {}, "is a folder", "name a file in it"};
    if (S_ISBLK(status.st_mode) || (S_ISCHR(status.st_mode) && ::isatty(descriptor) == 0))
        return Issue{file, 0, {}, "is a device", "name a file or a pipe, or give - for standard input"};
    if (S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) > LineSource::mostBytes)
        return Issue{file, 0, {}, fmt::format("has more than the {} GiB that are read", LineSource::mostBytes >> 30), "divide it"};
    return std::nullopt;
}

} // namespace

Result<LineSource> LineSource::open(const std::string &file)
{
    if (file == "-")
        return LineSource("standard input", STDIN_FILENO);
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return readingIssue(file, errno);
    LineSource source(file, descriptor); // closes it
    if (std::optional<Issue> issue = unsuitable(file, descriptor))
        return std::move(*issue);
    return source;
}

LineSource::LineSource(std::string name, int descriptor)
    : m_name(std::move(name))
    , m_descriptor(descriptor)
    , m_buffer(bufferSize)
{}

LineSource::LineSource(LineSource &&other) noexcept
    : m_name(std::move(other.m_name))
    , m_descriptor(std::exchange(other.m_descriptor, -1))
    , m_buffer(std::move(other.m_buffer))
    , m_begin(other.m_begin)
    , m_end(other.m_end)
    , m_read(other.m_read)
    , m_lines(other.m_lines)
    , m_error(std::move(other.m_error))
{}

LineSource &LineSource::operator=(LineSource &&other) noexcept
{
    if (this != &other) {
        close();
        m_name = std::move(other.m_name);
        m_descriptor = std::exchange(other.m_descriptor, -1);
        m_buffer = std::move(other.m_buffer);
        m_begin = other.m_begin;
        m_end = other.m_end;
        m_read = other.m_read;
        m_lines = other.m_lines;
        m_error = std::move(other.m_error);
    }
    return *this;
}

LineSource::~LineSource() { close(); }

void LineSource::close()
{
    if (m_descriptor > STDIN_FILENO)
        ::close(m_descriptor);
    m_descriptor = -1;
}

bool LineSource::fill()
{
    ssize_t got = 0;
    do
        got = ::read(m_descriptor, m_buffer.data(), m_buffer.size());
    while (got < 0 && errno == EINTR);
    if (got < 0)
        m_error = readingIssue(m_name, errno);
    m_begin = 0;
    m_end = got > 0 ? static_cast<std::size_t>(got) : 0;
    m_read += m_end;
    return got > 0;
}

void LineSource::giveUp(std::string what, std::string hint)
{
    m_error = Issue{m_name, m_lines, {}, std::move(what), std::move(hint)};
    m_begin = m_end = 0;
}

std::optional<LineSource::Line> LineSource::next()
{
    if (m_error)
        return std::nullopt;
    if (m_read > mostBytes) {
        giveUp(fmt::format("more than the {} GiB that are read; what comes after this line was not", mostBytes >> 30), "divide it");
        return std::nullopt;
    }
    Line line;
    bool begun = false;
    std::size_t wholeLength = 0;
    while (m_begin < m_end || fill()) {
        begun = true;
        const char *const from = m_buffer.data() + m_begin;
        const auto *const feed = static_cast<const char *>(std::memchr(from, '\n', m_end - m_begin));
        const std::size_t length = feed ? static_cast<std::size_t>(feed - from) : m_end - m_begin;
        if (!line.tooLong && length > longestLine - line.text.size()) {
            line.tooLong = true;
            std::string().swap(line.text);
        }
        if (!line.tooLong)
            line.text.append(from, length);
        m_begin += length + (feed ? 1 : 0);
        wholeLength += length;
        if (feed)
            break;
        if (wholeLength > endlessLine) {
            line.number = ++m_lines;
            giveUp(fmt::format("the line does not end within {} MiB; it and what comes after it was not read", endlessLine >> 20),
                   "is this text? End each line with a line feed");
            return line;
        }
    }
    if (!begun || m_error)
        return std::nullopt;
    line.number = ++m_lines;
    return line;
}

} // namespace headroom::cli
