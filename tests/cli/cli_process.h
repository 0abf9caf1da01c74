// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QJsonArray>
#include <QJsonObject>
#include <QStringList>

/// What one run of headroom-cli came to.
struct CliRun {
    int status = -1; ///< exit status; -1: it crashed or did not end
    QByteArray output;
    QByteArray error;

    /// standard output as one JSON document; empty where it is none.
    QJsonObject object() const;
    QJsonArray array() const;
    /// standard output as JSON lines; a line that is no JSON object comes as an empty one.
    QList<QJsonObject> lines() const;
};

/// Runs the built headroom-cli with these arguments and this standard input.
CliRun runCli(const QStringList &arguments, const QByteArray &input = {});

/// A plan on one line: a Llama of two small layers, so that a thousand take a moment. `extra` is more of the plan, with a
/// comma before it: `,"batch": {"micro_batch": 2}`.
QByteArray smallPlan(const QByteArray &name, const QByteArray &extra = {});
