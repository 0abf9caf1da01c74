// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTest>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/// Files of test cases: one JSON document a line.
namespace jsonlines {

using Json = nlohmann::json;

inline std::vector<Json> readLines(const std::filesystem::path &file)
{
    std::vector<Json> lines;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
        lines.push_back(Json::parse(line));
    return lines;
}

/// A row of the test, with the column "json", for each case whose plan `wanted` takes.
template<typename Wanted>
void addCases(const std::vector<Json> &cases, Wanted wanted)
{
    QTest::addColumn<QByteArray>("json");
    for (const Json &one : cases)
        if (wanted(one["plan"]))
            QTest::newRow(one["id"].get<std::string>().c_str()) << QByteArray::fromStdString(one.dump());
}

/// The cases of a file below the folder of traces kept beside the repository; where there is none, one row without JSON.
template<typename Wanted>
void addSharedCases(const char *name, Wanted wanted)
{
    const std::filesystem::path file = std::filesystem::path(HEADROOM_SHARED) / name;
    if (*HEADROOM_SHARED != '\0' && std::filesystem::exists(file))
        return addCases(readLines(file), wanted);
    QTest::addColumn<QByteArray>("json");
    QTest::newRow("absent") << QByteArray();
}

} // namespace jsonlines
