// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli_process.h"

#include <QJsonDocument>
#include <QProcess>

QJsonObject CliRun::object() const { return QJsonDocument::fromJson(output).object(); }

QJsonArray CliRun::array() const { return QJsonDocument::fromJson(output).array(); }

QList<QJsonObject> CliRun::lines() const
{
    QList<QJsonObject> list;
    QList<QByteArray> texts = output.split('\n');
    if (texts.last().isEmpty())
        texts.removeLast();
    for (const QByteArray &text : texts)
        list.append(QJsonDocument::fromJson(text).object());
    return list;
}

CliRun runCli(const QStringList &arguments, const QByteArray &input)
{
    QProcess process;
    process.start(QStringLiteral(HEADROOM_CLI), arguments);
    process.write(input);
    process.closeWriteChannel();
    CliRun run;
    if (process.waitForFinished(240'000) && process.exitStatus() == QProcess::NormalExit)
        run.status = process.exitCode();
    run.output = process.readAllStandardOutput();
    run.error = process.readAllStandardError();
    return run;
}

QByteArray smallPlan(const QByteArray &name, const QByteArray &extra)
{
    return R"({"headroom_plan": 1, "name": ")" + name +
           R"(", "model": {"config": {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, )"
           R"("num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 512}})" +
           (extra.contains("\"batch\"") ? QByteArray() : QByteArray(R"(, "batch": {"sequence_length": 32})")) + extra + "}";
}
