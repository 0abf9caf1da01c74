// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/training/layer_repeat.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdlib>

namespace headroom::training {

using namespace autograd;

namespace {

/// What is called a layer here is a group of them, where layers repeat only every so many.
/// A stretch of events that one layer owns (or none: -1). Stretches of one pass over the layers form a chain.
struct Segment {
    std::uint32_t from = 0, to = 0;
    std::int16_t layer = -1;
    std::int32_t chain = -1;
    std::uint32_t births = 0; ///< storages of the layer born in it
    StorageId firstBirth = 0; ///< the first of them
    /// A workspace is taken in passing, by whichever layer multiplies first: before how many of the births. It is not the layer's.
    std::uint32_t workspaceAt = noWorkspace;

    static constexpr std::uint32_t noWorkspace = UINT32_MAX;
    bool hasWorkspace() const { return workspaceAt != noWorkspace; }
    std::uint32_t allBirths() const { return births + (hasWorkspace() ? 1 : 0); }
};

/// A workspace that comes between the births of a layer.
struct Workspace {
    std::int32_t chain;
    int layer;        ///< of the longer trace
    std::uint32_t at; ///< before this birth of it
};

/// Where a storage was born: which pass, which layer's stretch, the how many-eth there.
struct Origin {
    std::int32_t chain = -1; ///< -1: outside the layers
    std::int16_t layer = -1;
    std::uint32_t index = 0;
};

/// A layer releases what is its own and its neighbours'; a run of releases over more layers is no layer's.
constexpr int mostOfOneRelease = 3;

class Repeater
{
public:
    Repeater(const Trace &trace, int executed, int layers, int period)
        : m_trace(trace)
        , m_executed(executed)
        , m_kept(executed / 2)
        , m_lower(middleLayer(executed))
        , m_upper(m_lower + 1)
        , m_period(static_cast<std::int16_t>(period))
        , m_more(layers / period - executed)
    {}

    std::optional<Trace> run()
    {
        findGroups();
        split();
        leaveLoneReleases();
        if (m_isAmbiguous || !complete() || !equalInTheMiddle())
            return std::nullopt;
        place();
        write();
        return m_isAmbiguous ? std::nullopt : std::optional(std::move(m_out));
    }

private:
    /// The group that a storage's layer belongs to, in the executed model; what is left over belongs to the last.
    void findGroups()
    {
        m_groups.reserve(m_trace.storages.size());
        for (const StorageRecord &storage : m_trace.storages) {
            const int layer = storage.layer;
            m_groups.push_back(static_cast<std::int16_t>(layer < 0       ? layer
                                                         : m_period == 1 ? std::min(layer, m_executed - 1)
                                                                         : std::min(layer / m_period, m_executed - 1)));
        }
    }

    /// Cuts the events into stretches. A birth belongs to its layer, and so do the releases that follow it. But where a
    /// run of releases goes over many layers (zero_grad, a list of temporaries, autocast's cache), each belongs to the
    /// layer of what it releases.
    void split()
    {
        m_origins.resize(m_trace.storages.size());
        std::size_t mark = 0, cacheRelease = 0;
        std::int16_t current = -1;
        bool boundary = true;
        const auto size = static_cast<std::uint32_t>(m_trace.events.size());
        for (std::uint32_t i = 0; i < size;) {
            for (; mark < m_trace.marks.size() && m_trace.marks[mark].event <= i; ++mark) {
                boundary = true; // a pass never crosses a mark
                current = -1;
            }
            for (; cacheRelease < m_trace.cacheReleases.size() && m_trace.cacheReleases[cacheRelease] <= i; ++cacheRelease)
                boundary = true;
            const std::uint32_t limit = mark < m_trace.marks.size() ? m_trace.marks[mark].event : size;
            if (!m_trace.events[i].release) {
                if (const StorageId storage = m_trace.events[i].storage; !isWorkspace(storage))
                    current = m_groups[storage];
                take(i++, current, boundary);
                continue;
            }
            std::uint32_t to = i;
            std::uint64_t layers = 0; // a bit for each; a storage may come from the other end
            for (; to < limit && m_trace.events[to].release; ++to)
                if (const std::int16_t layer = m_groups[m_trace.events[to].storage]; layer >= 0)
                    layers |= std::uint64_t{1} << std::min<int>(layer, 63);
            const bool many = std::popcount(layers) > mostOfOneRelease;
            for (; i < to; ++i)
                take(i, many ? m_groups[m_trace.events[i].storage] : current, boundary);
        }
    }

    bool isWorkspace(StorageId storage) const { return isBlasWorkspace(m_trace.storages[storage]); }

    void take(std::uint32_t i, std::int16_t layer, bool &boundary)
    {
        if (boundary || m_segments.back().layer != layer) {
            Segment segment{i, i, layer, -1, 0, m_born};
            if (layer >= 0) {
                const bool follows = !boundary && m_segments.back().layer >= 0 && std::abs(m_segments.back().layer - layer) == 1;
                segment.chain = follows ? m_segments.back().chain : m_chains++;
            }
            m_segments.push_back(segment);
            boundary = false;
        }
        Segment &segment = m_segments.back();
        segment.to = i + 1;
        if (m_trace.events[i].release)
            return;
        assert(m_trace.events[i].storage == m_born);
        if (segment.chain >= 0 && isWorkspace(m_born)) {
            m_isAmbiguous |= segment.hasWorkspace(); // one is all that is told apart
            segment.workspaceAt = segment.births;
            m_born++;
        } else {
            m_origins[m_born++] = {segment.chain, segment.layer, segment.births++};
        }
    }

    /// A loop's last temporary goes when the loop has long gone on (a Python variable's next value): a release that stands alone
    /// is no pass of its own, but one from outside the layers.
    void leaveLoneReleases()
    {
        std::vector<std::uint32_t> stretches(static_cast<std::size_t>(m_chains));
        for (const Segment &segment : m_segments)
            if (segment.chain >= 0)
                ++stretches[static_cast<std::size_t>(segment.chain)];
        const auto isLone = [&](const Segment &segment) {
            return segment.chain >= 0 && segment.allBirths() == 0 && stretches[static_cast<std::size_t>(segment.chain)] == 1;
        };
        if (std::none_of(m_segments.begin(), m_segments.end(), isLone))
            return;
        std::vector<std::int32_t> renumbered(static_cast<std::size_t>(m_chains));
        for (Segment &segment : m_segments)
            if (isLone(segment)) {
                renumbered[static_cast<std::size_t>(segment.chain)] = 1; // for now: how many are left out from here on
                segment.layer = -1;
                segment.chain = -1;
            }
        std::int32_t left = 0;
        for (std::int32_t chain = 0; chain < m_chains; ++chain) {
            std::int32_t &number = renumbered[static_cast<std::size_t>(chain)];
            left += number;
            number = chain - left;
        }
        for (Segment &segment : m_segments)
            if (segment.chain >= 0)
                segment.chain = renumbered[static_cast<std::size_t>(segment.chain)];
        for (Origin &origin : m_origins)
            if (origin.chain >= 0)
                origin.chain = renumbered[static_cast<std::size_t>(origin.chain)];
        m_chains -= left;
    }

    /// Every pass goes over all layers, up or down, once.
    bool complete()
    {
        m_chainSegments.assign(static_cast<std::size_t>(m_chains) * m_executed, UINT32_MAX);
        for (std::uint32_t s = 0; s < m_segments.size(); ++s) {
            const Segment &segment = m_segments[s];
            if (segment.layer < 0)
                continue;
            if (segment.layer >= m_executed)
                return false;
            std::uint32_t &own = segmentOf(segment.chain, segment.layer);
            if (own != UINT32_MAX)
                return false;
            own = s;
        }
        return std::find(m_chainSegments.begin(), m_chainSegments.end(), UINT32_MAX) == m_chainSegments.end();
    }

    std::uint32_t &segmentOf(std::int32_t chain, int layer)
    {
        return m_chainSegments[static_cast<std::size_t>(chain) * m_executed + static_cast<std::size_t>(layer)];
    }

    /// The lower and the upper middle layer do the same in every pass, each seen from its own place.
    bool equalInTheMiddle()
    {
        for (std::int32_t chain = 0; chain < m_chains; ++chain) {
            const Segment &a = m_segments[segmentOf(chain, m_lower)], &b = m_segments[segmentOf(chain, m_upper)];
            if (a.to - a.from != b.to - b.from || a.births != b.births || a.hasWorkspace() || b.hasWorkspace())
                return false;
            for (std::uint32_t i = 0; i < a.to - a.from; ++i)
                if (!equal(m_trace.events[a.from + i], m_trace.events[b.from + i]))
                    return false;
        }
        return true;
    }

    bool equal(Event a, Event b) const
    {
        if (a.release != b.release)
            return false;
        const Origin &from = m_origins[a.storage], &to = m_origins[b.storage];
        if (from.chain != to.chain || from.index != to.index)
            return false;
        if (from.chain < 0 ? a.storage != b.storage : to.layer - from.layer != 1)
            return false;
        const StorageRecord &x = m_trace.storages[a.storage], &y = m_trace.storages[b.storage];
        return a.release || (x.bytes == y.bytes && x.shape == y.shape && x.dtype == y.dtype && x.role == y.role && x.stream == y.stream &&
                             x.recomputed == y.recomputed && x.kept == y.kept);
    }

    /// Gives every stretch of the longer trace its first storage's number.
    void place()
    {
        m_placed.assign(static_cast<std::size_t>(m_chains) * static_cast<std::size_t>(m_executed + m_more), 0);
        m_outside.assign(m_trace.storages.size(), noStorage);
        StorageId next = 0;
        forEach([&](const Segment &segment, int layer) {
            m_eventCount += segment.to - segment.from;
            if (segment.chain >= 0) {
                placed(segment.chain, layer) = next;
                if (segment.hasWorkspace()) {
                    m_outside[segment.firstBirth + segment.workspaceAt] = next + segment.workspaceAt;
                    m_workspaces.push_back({segment.chain, layer, segment.workspaceAt});
                }
                next += segment.allBirths();
                return;
            }
            for (std::uint32_t i = segment.from; i < segment.to; ++i)
                if (!m_trace.events[i].release)
                    m_outside[m_trace.events[i].storage] = next++;
        });
        m_count = next;
    }

    StorageId &placed(std::int32_t chain, int layer)
    {
        return m_placed[static_cast<std::size_t>(chain) * static_cast<std::size_t>(m_executed + m_more) + static_cast<std::size_t>(layer)];
    }

    /// The number in the longer trace of the layer's birth `index` in a pass.
    StorageId numberOf(std::int32_t chain, int layer, std::uint32_t index)
    {
        const bool shifted = std::any_of(m_workspaces.begin(), m_workspaces.end(), [&](const Workspace &workspace) {
            return workspace.chain == chain && workspace.layer == layer && workspace.at <= index;
        });
        return placed(chain, layer) + index + (shifted ? 1 : 0);
    }

    /// Whether a workspace comes between the births of a layer near this one.
    bool isNearWorkspace(int layer) const
    {
        return std::any_of(m_workspaces.begin(), m_workspaces.end(),
                           [&](const Workspace &workspace) { return std::abs(workspace.layer - layer) < m_kept; });
    }

    /// Calls f(stretch, its layer in the longer trace) in the longer trace's order.
    template<typename F>
    void forEach(F f)
    {
        for (std::uint32_t s = 0; s < m_segments.size(); ++s) {
            const Segment &segment = m_segments[s];
            if (segment.layer < 0) {
                f(segment, -1);
                continue;
            }
            const bool last = segment.layer >= m_upper;
            const bool upwards = s + 1 < m_segments.size() && m_segments[s + 1].chain == segment.chain
                                     ? m_segments[s + 1].layer > segment.layer
                                     : m_segments[s - 1].layer < segment.layer;
            f(segment, segment.layer + (last ? m_more : 0));
            const Segment &middle = m_segments[segmentOf(segment.chain, m_lower)];
            if (upwards && segment.layer == m_lower)
                for (int layer = m_upper; layer < m_upper + m_more; ++layer)
                    f(middle, layer);
            else if (!upwards && segment.layer == m_upper)
                for (int layer = m_upper + m_more - 1; layer >= m_upper; --layer)
                    f(middle, layer);
        }
    }

    /// What a stretch's event becomes in the longer trace.
    struct Written {
        /// Where its storage was born in a layer near the stretch's own, which it follows: the place in m_placed to which the layer
        /// is added; the event then has the number from the first storage there.
        std::uint32_t near = notNear;
        Event event;
    };
    static constexpr std::uint32_t notNear = UINT32_MAX;

    /// Seen from a layer, what belongs to a layer near it keeps its distance; seen from outside or from the other end (where a
    /// gradient has come through all layers in one storage), its end. At half the executed layers it may be either. What is outside
    /// may know the ends, but no single layer in the middle, whose copies nobody would then release.
    Written written(const Segment &segment, Event event)
    {
        const Origin &origin = m_origins[event.storage];
        if (origin.chain < 0)
            return {notNear, {m_outside[event.storage], event.release}};
        const int distance = origin.layer - segment.layer;
        const int width = m_executed + m_more;
        if (segment.layer >= 0 && std::abs(distance) < m_kept)
            return {static_cast<std::uint32_t>(origin.chain * width + distance + m_kept), {origin.index, event.release}};
        m_isAmbiguous |= segment.layer < 0 ? origin.layer == m_lower || origin.layer == m_upper : std::abs(distance) == m_kept;
        const int other = origin.layer + (origin.layer >= m_upper ? m_more : 0);
        return {notNear, {numberOf(origin.chain, other, origin.index), event.release}};
    }

    /// The same at once, for one layer of the longer trace.
    Event writtenNear(const Segment &segment, int layer, Event event)
    {
        const Origin &origin = m_origins[event.storage];
        const int distance = origin.layer - segment.layer;
        if (origin.chain >= 0 && std::abs(distance) < m_kept)
            return {numberOf(origin.chain, layer + distance, origin.index), event.release};
        return written(segment, event).event;
    }

    void write()
    {
        m_out.storages.reserve(m_count);
        m_out.events.resize(m_eventCount);
        Event *next = m_out.events.data();
        const auto eventsSoFar = [&] { return static_cast<std::uint32_t>(next - m_out.events.data()); };
        std::size_t mark = 0, cacheRelease = 0;
        std::vector<Written> pattern;
        const Segment *of = nullptr; // whose pattern it is: a middle stretch is written many times, one after the other
        forEach([&](const Segment &segment, int layer) {
            for (; cacheRelease < m_trace.cacheReleases.size() && m_trace.cacheReleases[cacheRelease] <= segment.from; ++cacheRelease)
                m_out.cacheReleases.push_back(eventsSoFar());
            for (; mark < m_trace.marks.size() && m_trace.marks[mark].event <= segment.from; ++mark) {
                m_out.marks.push_back(m_trace.marks[mark]);
                m_out.marks.back().event = eventsSoFar();
            }
            if (of != &segment) {
                of = &segment;
                pattern.clear();
                for (std::uint32_t i = segment.from; i < segment.to; ++i)
                    pattern.push_back(written(segment, m_trace.events[i]));
            }
            // Storages are numbered as they are born, there and here.
            const auto born = m_trace.storages.begin() + segment.firstBirth;
            const std::size_t first = m_out.storages.size();
            const std::size_t births = segment.allBirths();
            m_out.storages.insert(m_out.storages.end(), born, born + births);
            const std::int16_t *const groups = m_groups.data() + segment.firstBirth;
            for (std::size_t i = 0; i < births; ++i)
                if (StorageRecord &record = m_out.storages[first + i]; record.layer >= 0)
                    record.layer = static_cast<std::int16_t>(record.layer + (layer - groups[i]) * m_period);
            if (segment.layer >= 0 && isNearWorkspace(layer)) {
                for (std::uint32_t i = segment.from; i < segment.to; ++i)
                    *next++ = writtenNear(segment, layer, m_trace.events[i]);
                return;
            }
            const std::size_t offset = static_cast<std::size_t>(layer - m_kept); // may wrap: `near` has m_kept in it
            Event *event = next;
            for (const Written &one : pattern) {
                *event = one.event;
                if (one.near != notNear)
                    event->storage = event->storage + m_placed[one.near + offset];
                ++event;
            }
            next = event;
        });
        for (; mark < m_trace.marks.size(); ++mark) {
            m_out.marks.push_back(m_trace.marks[mark]);
            m_out.marks.back().event = eventsSoFar();
        }
    }

    const Trace &m_trace;
    int m_executed;
    int m_kept;           ///< layers at either end
    int m_lower, m_upper; ///< the layer that stands for those between, and the one after it, which must be its equal
    bool m_isAmbiguous = false;
    std::int16_t m_period; ///< layers of a group
    int m_more;            ///< groups to put in
    std::vector<Segment> m_segments;
    std::vector<std::int16_t> m_groups;         ///< per storage
    std::vector<Origin> m_origins;              ///< per storage
    std::vector<std::uint32_t> m_chainSegments; ///< per chain and layer: its stretch
    std::int32_t m_chains = 0;
    StorageId m_born = 0;                ///< storages that split() has met
    std::vector<StorageId> m_placed;     ///< per chain and layer of the longer trace: its first storage
    std::vector<Workspace> m_workspaces; ///< forward's thread takes one, and backward's
    std::vector<StorageId> m_outside;    ///< per storage outside the layers: its number in the longer trace
    StorageId m_count = 0;               ///< storages of the longer trace
    std::size_t m_eventCount = 0;        ///< and its events
    Trace m_out;
};

} // namespace

std::optional<Trace> repeatLayers(const Trace &trace, int executed, int layers, int period)
{
    assert(period > 0 && executed % 2 == 0 && layers >= executed * period);
    return Repeater(trace, executed, layers, period).run();
}

} // namespace headroom::training
