// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/catalogue.h"

#include "core/model/model_json.h"
#include "embedded/models_json.h"

#include <algorithm>
#include <cassert>

namespace headroom {

namespace {

std::string textAt(const JsonValue &entry, std::string_view key)
{
    const JsonValue *value = entry.find(key);
    return value != nullptr && value->string() != nullptr ? *value->string() : std::string();
}

/// The file ships inside the program: what is wrong with it is our mistake, found by tests/core/test_model.cpp.
std::vector<ModelPreset> readPresets()
{
    const Result<JsonValue> file = parseJson(embedded::models_json);
    assert(file.ok());
    std::vector<ModelPreset> presets;
    for (const JsonValue &entry : *file->find("models")->array()) {
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
        presets.push_back(std::move(preset));
    }
    return presets;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

} // namespace

std::span<const ModelPreset> modelPresets()
{
    static const std::vector<ModelPreset> presets = readPresets();
    return presets;
}

const ModelPreset *findModelPreset(std::string_view id)
{
    const auto sameButForCase = [&](const ModelPreset &preset) {
        return std::equal(id.begin(), id.end(), preset.id.begin(), preset.id.end(), [](char a, char b) { return lower(a) == lower(b); });
    };
    const std::span<const ModelPreset> presets = modelPresets();
    const auto found = std::find_if(presets.begin(), presets.end(), sameButForCase);
    return found == presets.end() ? nullptr : &*found;
}

} // namespace headroom
