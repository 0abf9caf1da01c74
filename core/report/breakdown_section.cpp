// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/report/sections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace headroom {

namespace {

/// The sources that rows cite, each once, in the order of their first mention.
class SourceList
{
public:
    /// "[2]"; empty for a row without a source.
    std::string cite(const std::string &source)
    {
        if (source.empty())
            return {};
        auto it = std::find(m_sources.begin(), m_sources.end(), source);
        if (it == m_sources.end())
            it = m_sources.insert(m_sources.end(), source);
        return fmt::format("[{}]", it - m_sources.begin() + 1);
    }

    ReportTable table() const
    {
        ReportTable table{"Sources", {"No.", "Source"}, {false, false}, {}, {}};
        for (std::size_t i = 0; i < m_sources.size(); ++i)
            table.rows.push_back({fmt::format("[{}]", i + 1), m_sources[i]});
        return table;
    }

private:
    std::vector<std::string> m_sources;
};

/// In percent; 0 where there is no whole.
double share(Bytes part, Bytes whole)
{
    return whole.value == 0 ? 0 : 100.0 * static_cast<double>(part.value) / static_cast<double>(whole.value);
}

std::string shapeText(const BreakdownRow &row)
{
    return row.shape.empty() || row.dtype.empty() ? row.shape + row.dtype : row.shape + " " + row.dtype;
}

class TableBuilder
{
public:
    TableBuilder(Bytes whole, ByteUnit unit, SourceList &sources)
        : m_whole(whole)
        , m_unit(unit)
        , m_sources(sources)
    {}

    ReportTable build(const BreakdownRow &component)
    {
        m_table = {fmt::format("{}: {}, {} of allocated", capitalised(component.label), formatBytes(component.bytes, m_unit),
                               formatShare(component.bytes, m_whole)),
                   {"What", "Size", "Share", "Tensors", "Shape and type", "Why it is there", "Source"},
                   {false, true, true, true, false, false, false},
                   {},
                   {}};
        for (const BreakdownRow &child : component.children)
            add(child, 0);
        if (component.children.empty())
            add(component, 0);
        return std::move(m_table);
    }

private:
    void add(const BreakdownRow &row, int depth)
    {
        // An em space a level: survives Markdown, HTML and PDF, where plain spaces are folded.
        std::string label;
        for (int i = 0; i < depth; ++i)
            label += "\u2003";
        label += row.label;
        m_table.shares.push_back(share(row.bytes, m_whole));
        m_table.rows.push_back({label, formatBytes(row.bytes, m_unit), formatShare(row.bytes, m_whole),
                                row.count > 0 ? formatCount(row.count) : "", shapeText(row), row.rule, m_sources.cite(row.source)});
        for (const BreakdownRow &child : row.children)
            add(child, depth + 1);
    }

    Bytes m_whole;
    ByteUnit m_unit;
    SourceList &m_sources;
    ReportTable m_table;
};

} // namespace

ReportSection breakdownSection(const Estimate &estimate, ByteUnit unit)
{
    ReportSection section;
    section.heading = "Breakdown";
    section.paragraphs.push_back(fmt::format("What is alive when allocated memory is highest, {} of a later step ({}).",
                                             phraseOf(estimate.peak.phase), formatBytes(estimate.peak.allocated, unit)));
    SourceList sources;
    TableBuilder builder(estimate.peak.allocated, unit, sources);
    std::vector<std::string> absent;
    for (const BreakdownRow &component : estimate.breakdown(Estimate::Step::Steady)) {
        if (component.bytes.value == 0)
            absent.push_back(component.label);
        else
            section.tables.push_back(builder.build(component));
    }
    if (!absent.empty())
        section.paragraphs.push_back(fmt::format("Nothing is alive at that instant of: {}.", fmt::join(absent, ", ")));
    if (ReportTable table = sources.table(); !table.rows.empty())
        section.tables.push_back(std::move(table));
    return section;
}

std::string formatShare(Bytes part, Bytes whole) { return whole.value == 0 ? std::string() : fmt::format("{:.1f} %", share(part, whole)); }

std::string capitalised(std::string_view name)
{
    std::string out(name);
    if (!out.empty() && out.front() >= 'a' && out.front() <= 'z')
        out.front() = static_cast<char>(out.front() - 'a' + 'A');
    return out;
}

} // namespace headroom
