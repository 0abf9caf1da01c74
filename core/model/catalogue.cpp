// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/catalogue.h"

#include "core/model/model_json.h"
#include "embedded/models_json.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <mutex>
#include <vector>

namespace headroom {

namespace {

std::string textAt(const JsonValue &entry, std::string_view key)
{
    const JsonValue *value = entry.find(key);
    return value != nullptr && value->string() != nullptr ? *value->string() : std::string();
}

/// An entry of the file: its text, and where the id stands in it.
struct Entry {
    std::string_view text, id;
};

/// The objects in the file's list of models, found without reading what is in them: one plan needs one of all these models, and
/// reading them all took an eighth of the command line's time.
std::vector<Entry> entriesOf(std::string_view file)
{
    std::vector<Entry> entries;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t at = 0; at < file.size(); ++at) {
        switch (file[at]) {
        case '"':
            while (++at < file.size() && file[at] != '"')
                at += file[at] == '\\' ? 1 : 0;
            break;
        case '{':
        case '[':
            if (++depth == 3) // the file, its list, an entry
                begin = at;
            break;
        case '}':
        case ']':
            if (depth-- == 3)
                entries.push_back({file.substr(begin, at + 1 - begin), {}});
            break;
        default: break;
        }
    }
    constexpr std::string_view key = "{\"id\": \"";
    for (Entry &entry : entries) {
        assert(entry.text.substr(0, key.size()) == key);
        const std::string_view rest = entry.text.substr(key.size());
        entry.id = rest.substr(0, rest.find('"'));
    }
    return entries;
}

/// The file ships inside the program: what is wrong with it is our mistake, found by tests/core/test_model.cpp.
ModelPreset readPreset(std::string_view text)
{
    const Result<JsonValue> read = parseJson(text);
    assert(read.ok());
    const JsonValue &entry = *read;
    ModelPreset preset;
    preset.id = textAt(entry, "id");
    preset.family = textAt(entry, "family");
    preset.modelType = textAt(entry, "model_type");
    preset.parameters = entry.find("parameters")->wholeNumber().value_or(0);
    preset.source = textAt(entry, "source");
    if (const JsonValue *config = entry.find("config"))
        preset.configText = writeJson(*config);
    if (const std::optional<Issue> refused = unsupportedReason(preset.modelType)) {
        preset.unsupportedReason = refused->what;
    } else if (const JsonValue *unresolved = entry.find("unresolved")) {
        for (const JsonValue &field : *unresolved->array())
            preset.unsupportedReason += (preset.unsupportedReason.empty() ? "sources disagree about " : ", ") + *field.string();
        preset.unsupportedReason += ": open the model's config.json instead";
    } else {
        Result<ModelConfig> config = readModelConfig(*entry.find("config"), preset.id);
        assert(config.ok());
        preset.config = std::move(config).value();
        preset.supported = true;
    }
    return preset;
}

/// All entries, each read when it is first asked for, by whichever thread.
class Catalogue
{
public:
    Catalogue()
        : m_entries(entriesOf(embedded::models_json))
        , m_presets(m_entries.size())
        , m_read(std::make_unique<std::once_flag[]>(m_entries.size()))
    {}

    const std::vector<Entry> &entries() const { return m_entries; }
    const ModelPreset &preset(std::size_t index)
    {
        std::call_once(m_read[index], [&] { m_presets[index] = readPreset(m_entries[index].text); });
        return m_presets[index];
    }
    std::span<const ModelPreset> presets()
    {
        for (std::size_t i = 0; i < m_entries.size(); ++i)
            preset(i);
        return m_presets;
    }

private:
    std::vector<Entry> m_entries;
    std::vector<ModelPreset> m_presets;
    std::unique_ptr<std::once_flag[]> m_read;
};

Catalogue &catalogue()
{
    static Catalogue all;
    return all;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

} // namespace

std::span<const ModelPreset> modelPresets() { return catalogue().presets(); }

const ModelPreset *findModelPreset(std::string_view id)
{
    const auto sameButForCase = [&](const Entry &entry) {
        return std::equal(id.begin(), id.end(), entry.id.begin(), entry.id.end(), [](char a, char b) { return lower(a) == lower(b); });
    };
    const std::vector<Entry> &entries = catalogue().entries();
    const auto found = std::find_if(entries.begin(), entries.end(), sameButForCase);
    return found == entries.end() ? nullptr : &catalogue().preset(static_cast<std::size_t>(found - entries.begin()));
}

} // namespace headroom
