// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-probe/child_process.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ; // NOLINT(readability-redundant-declaration): POSIX leaves it to the program

namespace headroom::probe {

namespace {

constexpr std::size_t longestLine = 64 << 10;
constexpr auto patience = std::chrono::seconds(15); ///< how long a child may take to end when it was asked to

volatile std::sig_atomic_t asked = 0; ///< how often we were asked to end

void onSignal(int) { asked = asked + 1; }

/// SIGINT, SIGTERM and SIGHUP are counted while this lives.
class SignalCounter
{
public:
    SignalCounter()
    {
        asked = 0;
        struct sigaction action = {};
        action.sa_handler = onSignal; // no SA_RESTART: poll() is to return
        for (std::size_t i = 0; i < signals.size(); ++i)
            sigaction(signals[i], &action, &m_before[i]);
        struct sigaction ignore = {};
        ignore.sa_handler = SIG_IGN;
        sigaction(SIGPIPE, &ignore, &m_pipeBefore);
    }
    ~SignalCounter()
    {
        for (std::size_t i = 0; i < signals.size(); ++i)
            sigaction(signals[i], &m_before[i], nullptr);
        sigaction(SIGPIPE, &m_pipeBefore, nullptr);
    }
    SignalCounter(const SignalCounter &) = delete;
    SignalCounter &operator=(const SignalCounter &) = delete;

private:
    static constexpr std::array<int, 3> signals{SIGINT, SIGTERM, SIGHUP};
    std::array<struct sigaction, 3> m_before{};
    struct sigaction m_pipeBefore {
    };
};

class Pipe
{
public:
    bool open() { return pipe2(m_ends.data(), O_CLOEXEC) == 0; }
    ~Pipe()
    {
        close(0);
        close(1);
    }
    void close(std::size_t end)
    {
        if (m_ends[end] >= 0)
            ::close(m_ends[end]);
        m_ends[end] = -1;
    }
    int operator[](std::size_t end) const { return m_ends[end]; }

private:
    std::array<int, 2> m_ends{-1, -1};
};

/// Cuts what comes into lines; one without an end is cut too.
class Lines
{
public:
    explicit Lines(const std::function<void(std::string_view)> &take)
        : m_take(take)
    {}
    void add(std::string_view text)
    {
        m_text += text;
        std::size_t from = 0;
        for (std::size_t end = m_text.find('\n'); end != std::string::npos; end = m_text.find('\n', from)) {
            // ssh ends its lines as terminals do.
            const std::size_t last = end > from && m_text[end - 1] == '\r' ? end - 1 : end;
            m_take(std::string_view(m_text).substr(from, last - from));
            from = end + 1;
        }
        m_text.erase(0, from);
        if (m_text.size() > longestLine)
            finish();
    }
    void finish()
    {
        if (!m_text.empty())
            m_take(m_text);
        m_text.clear();
    }

private:
    const std::function<void(std::string_view)> &m_take;
    std::string m_text;
};

Issue couldNot(const std::string &program, int error)
{
    return {{}, 0, program, fmt::format("could not be started: {}", std::strerror(error)), {}};
}

/// The child's process number, or errno.
Result<pid_t> spawn(const std::vector<std::string> &arguments, const ChildOptions &options, const Pipe &in, const Pipe &out,
                    const Pipe &err)
{
    std::vector<char *> vector;
    for (const std::string &argument : arguments)
        vector.push_back(const_cast<char *>(argument.c_str())); // posix_spawn's signature is older than const
    vector.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, options.output ? out[1] : err[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
        sigaddset(&defaults, signal);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    short flags = POSIX_SPAWN_SETSIGDEF;
    if (options.ownGroup)
        flags = static_cast<short>(flags | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setflags(&attributes, flags);
    pid_t child = 0;
    const int error = posix_spawnp(&child, vector[0], &actions, &attributes, vector.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0)
        return couldNot(arguments[0], error);
    return child;
}

/// Reads what is there; false at the end.
bool drain(int descriptor, const std::function<void(std::string_view)> &take)
{
    std::array<char, 16384> buffer;
    const ssize_t got = read(descriptor, buffer.data(), buffer.size());
    if (got > 0)
        take({buffer.data(), static_cast<std::size_t>(got)});
    return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

} // namespace

Result<ChildEnd> runChild(const std::vector<std::string> &arguments, const ChildOptions &options)
{
    using Clock = std::chrono::steady_clock;
    Pipe in, out, err;
    if (!in.open() || !out.open() || !err.open())
        return couldNot(arguments[0], errno);
    const SignalCounter counter;
    const Result<pid_t> child = spawn(arguments, options, in, out, err);
    if (!child)
        return child.issue();
    in.close(0);
    out.close(1);
    err.close(1);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    std::string_view input = options.input;
    if (input.empty() && !options.endByInput)
        in.close(1);

    Lines errorLines(options.errorLine);
    ChildEnd end;
    int told = 0, status = 0;
    bool ended = false;
    Clock::time_point askedAt, endedAt;
    for (;;) {
        if (asked > told && !ended) {
            end.interrupted = true;
            if (told == 0)
                askedAt = Clock::now();
            const bool kills = told > 0;
            told = asked;
            if (kills || !options.endByInput)
                kill(options.ownGroup ? -*child : *child, kills ? SIGKILL : SIGTERM);
            in.close(1);
        }
        if (told > 0 && !ended && Clock::now() - askedAt > patience)
            kill(options.ownGroup ? -*child : *child, SIGKILL);
        const pid_t waited = ended ? 0 : waitpid(*child, &status, WNOHANG);
        if (waited == *child || (waited < 0 && errno == ECHILD)) {
            ended = true;
            endedAt = Clock::now();
        }
        // What the child left running may hold the pipes open: they are read for a moment only.
        if (ended && ((out[0] < 0 && err[0] < 0) || Clock::now() - endedAt > std::chrono::seconds(1)))
            break;
        std::array<pollfd, 3> polled{{{out[0], POLLIN, 0}, {err[0], POLLIN, 0}, {input.empty() ? -1 : in[1], POLLOUT, 0}}};
        poll(polled.data(), polled.size(), 50);
        if ((polled[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 &&
            !drain(
                out[0], options.output ? options.output : [](std::string_view) {}))
            out.close(0);
        if ((polled[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !drain(err[0], [&](std::string_view text) { errorLines.add(text); }))
            err.close(0);
        if ((polled[2].revents & (POLLOUT | POLLHUP | POLLERR)) != 0 && in[1] >= 0) {
            const ssize_t written = write(in[1], input.data(), input.size());
            if (written > 0)
                input.remove_prefix(static_cast<std::size_t>(written));
            else if (written < 0 && errno != EAGAIN && errno != EINTR)
                input = {};
            if (input.empty() && !options.endByInput)
                in.close(1);
        }
    }
    errorLines.finish();
    if (WIFSIGNALED(status))
        end.signal = WTERMSIG(status);
    else
        end.status = WEXITSTATUS(status);
    // One that was asked to end while the last lines were read.
    end.interrupted = end.interrupted || asked > 0;
    return end;
}

} // namespace headroom::probe
