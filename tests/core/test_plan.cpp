// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/fields.h"
#include "core/plan/plan_json.h"
#include "core/units/strict_json.h"

#include <QtTest>

#include <filesystem>
#include <set>

using namespace headroom;

namespace {

/// A plan that differs from the defaults in every field.
TrainingPlan unlikePlan()
{
    TrainingPlan plan;
    for (const Field &field : fields()) {
        if (field.path.starts_with("selective.")) // one of them excludes the others
            continue;
        const FieldValue before = field.get(plan);
        FieldValue after;
        switch (field.type) {
        case FieldType::Boolean: after = !(std::holds_alternative<bool>(before) && std::get<bool>(before)); break;
        case FieldType::Integer: after = static_cast<std::int64_t>(field.maximum); break;
        case FieldType::Real: after = 0.05; break;
        case FieldType::Choice: {
            const std::string last(field.choices.back().value);
            after = before == FieldValue(last) ? std::string(field.choices.front().value) : last;
            break;
        }
        case FieldType::Text: after = std::string(field.path == "runtime.rank" ? "3" : "9.9"); break;
        case FieldType::TextList: after = std::vector<std::string>{"first", "\xe9\x80\x9a \"second\""}; break;
        }
        field.set(plan, after);
    }
    plan.selective.operators = {"attention", "mlp"};
    plan.model = ModelChoice{{}, {}, "models/config.json"};
    return plan;
}

void collectPaths(const JsonValue &json, const std::string &path, std::set<std::string> &paths)
{
    for (const JsonMember &member : *json.object()) {
        const std::string below = joinPath(path, member.key);
        if (member.value.object() != nullptr && member.key != "config")
            collectPaths(member.value, below, paths);
        else
            paths.insert(below);
    }
}

} // namespace

class TestPlan : public QObject
{
    Q_OBJECT

private slots:
    /// The defaults are part of the format: a plan that says nothing means what it meant before.
    void defaultsAreThoseOfTheFormat()
    {
        const Result<JsonValue> format = parseJson(R"({
            "headroom_plan": 1, "name": "", "model": {"preset": "Qwen/Qwen3-8B"},
            "method": {"kind": "full", "rank": 16, "targets": "all-linear", "dropout": 0.0, "adapter_dtype": "float32", "dora": false,
                       "modules_to_save": [], "quantization": "nf4-double", "kbit_preparation": true},
            "precision": {"recipe": "bf16", "weights": null, "gradients": null, "master": null, "moments": null, "autocast": null},
            "batch": {"micro_batch": 1, "sequence_length": 4096, "gradient_accumulation": 1},
            "optimizer": {"kind": "adamw", "implementation": "fused", "in_backward": false},
            "loop": {"outputs_held": false, "zero_grad": "to-none", "clip_grad_norm": false},
            "checkpointing": "none", "selective": null, "reentrant_checkpointing": false, "attention": "sdpa", "loss": "logits",
            "kernels": "eager", "compile": false,
            "parallel": {"engine": "none", "data": 1, "zero_stage": null, "tensor": 1, "sequence_parallel": false, "pipeline": 1,
                         "virtual_pipeline": 1, "context": 1, "expert": 1, "offload": "none", "reduce_bucket_elements": 500000000,
                         "allgather_bucket_elements": 500000000, "overlap_communication": null, "bucket_sizes": "explicit",
                         "stage3_prefetch_bucket_size": 50000000, "stage3_param_persistence_threshold": 100000,
                         "stage3_max_live_parameters": 1000000000, "stage3_max_reuse_distance": 1000000000, "wrap": "layers",
                         "no_sync": false, "reduce_dtype": null, "gradient_as_bucket_view": false, "reshard_after_forward": true},
            "stack": "transformers",
            "runtime": {"torch": "2.13", "transformers": "5.24", "expandable_segments": false, "max_split_size_mb": null, "rank": "worst",
                        "allocator": "caching", "cublas_workspace_bytes": null},
            "gpus": []})");
        QVERIFY(format.ok());
        QCOMPARE(writePlan(TrainingPlan(), PlanStyle::Complete, false), writeJson(*format));
        const Result<TrainingPlan> read = readPlan(R"({"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-8B"}})");
        QVERIFY(read.ok());
        QVERIFY(*read == TrainingPlan());
    }

    /// Each field is written, read back, and stands once in the complete form.
    void everyFieldRoundTrips()
    {
        const TrainingPlan plan = unlikePlan();
        const auto isLeftOut = [](const Field &field) { return field.path == "selective.every" || field.path == "selective.policy"; };
        for (const Field &field : fields())
            QVERIFY2(isLeftOut(field) || field.get(plan) != field.get(TrainingPlan()), field.path.data());
        for (const PlanStyle style : {PlanStyle::Short, PlanStyle::Complete}) {
            for (const bool indent : {true, false}) {
                const std::string text = writePlan(plan, style, indent);
                const Result<TrainingPlan> again = readPlan(text);
                QVERIFY2(again.ok(), again ? "" : toString(again.issue()).c_str());
                QVERIFY(*again == plan);
                QCOMPARE(text.find('\n') != std::string::npos, indent);
            }
        }
        std::set<std::string> paths;
        collectPaths(parseJson(writePlan(plan, PlanStyle::Complete)).value(), {}, paths);
        for (const Field &field : fields())
            QVERIFY2(isLeftOut(field) || paths.count(std::string(field.path)) == 1, field.path.data());
        QCOMPARE(paths.size(), fields().size()); // without two of selective; with headroom_plan and model.config_path
    }

    void shortFormSaysOnlyWhatDiffers()
    {
        TrainingPlan plan;
        plan.batch.microBatch = 4;
        QCOMPARE(writePlan(plan, PlanStyle::Short, false),
                 std::string(R"({"headroom_plan":1,"model":{"preset":"Qwen/Qwen3-8B"},"batch":{"micro_batch":4}})"));
    }

    void inlineConfigsAreKept()
    {
        const std::string text =
            R"({"headroom_plan":1,"model":{"config":{"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":128,"vocab_size":1000,"rope_theta":10000.0,"_note":"kept"}}})";
        const Result<TrainingPlan> plan = readPlan(text);
        QVERIFY(plan.ok());
        QVERIFY(plan->model.preset.empty() && plan->model.configPath.empty());
        QCOMPARE(writePlan(*plan, PlanStyle::Short, false), text);
        // A plan may name a model that this version does not execute; the estimate refuses it, with the reason.
        QVERIFY(readPlan(R"({"headroom_plan":1,"model":{"config":{"model_type":"mamba","d_model":768}}})").ok());
    }

    void wholeNumbersAreWrittenEitherWay()
    {
        const Result<TrainingPlan> plan = readPlan(
            R"({"headroom_plan": 1.0, "model": {"preset": "a"}, "batch": {"micro_batch": 4.0}, "parallel": {"zero_stage": 3.0}, "runtime": {"rank": 0}})");
        QVERIFY(plan.ok());
        QCOMPARE(plan->batch.microBatch, std::int64_t{4});
        QVERIFY(plan->parallel.zeroStage == 3);
        QCOMPARE(plan->runtime.rank, std::string("0"));
    }

    void filesKnowTheirFolder()
    {
        QTemporaryDir folder;
        QFile file(folder.filePath("a.headroom.json"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray::fromStdString(writePlan(unlikePlan())));
        file.close();
        const Result<TrainingPlan> plan = readPlanFile(file.fileName().toStdString());
        QVERIFY(plan.ok());
        QCOMPARE(plan->folder, std::filesystem::path(folder.path().toStdString()));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("{\n\"headroom_plan\": 2}");
        file.close();
        const Result<TrainingPlan> newer = readPlanFile(file.fileName().toStdString());
        QVERIFY(!newer.ok());
        QCOMPARE(newer.issue().file, file.fileName().toStdString());
        QCOMPARE(newer.issue().line, 2);
        QVERIFY(newer.issue().what.find("newer") != std::string::npos);
    }

    /// What the form shows is complete: label, tip, bounds and choices for every field.
    void tableIsComplete()
    {
        std::set<std::string_view> paths, labels;
        for (const Field &field : fields()) {
            const char *path = field.path.data();
            QVERIFY2(paths.insert(field.path).second, path);
            QVERIFY2(labels.insert(field.label).second, path);
            QVERIFY2(!field.label.empty() && field.tip.ends_with('.'), path);
            QVERIFY2(field.get != nullptr && field.set != nullptr, path);
            QCOMPARE(findField(field.path), &field);
            const bool isNumber = field.type == FieldType::Integer || field.type == FieldType::Real;
            QVERIFY2(!isNumber || field.minimum < field.maximum, path);
            QVERIFY2(field.type != FieldType::Choice || field.choices.size() >= 2, path);
            QVERIFY2(field.nullable == !field.nullLabel.empty(), path);
            for (const FieldChoice &choice : field.choices)
                QVERIFY2(!choice.label.empty() && !choice.value.empty() && (choice.tip.empty() || choice.tip.ends_with('.')), path);
            // A default is a value that can be set again.
            TrainingPlan plan;
            QVERIFY2(!setField(plan, field, field.get(plan)), path);
            QVERIFY2(plan == TrainingPlan(), path);
        }
        QVERIFY(findField("batch") == nullptr);
    }

    void everyChoiceCanBeSet()
    {
        for (const Field &field : fields()) {
            for (const FieldChoice &choice : field.choices) {
                TrainingPlan plan;
                QVERIFY(!setField(plan, field, std::string(choice.value)));
                QVERIFY2(field.get(plan) == FieldValue(std::string(choice.value)), field.path.data());
                QCOMPARE(displayValue(field, field.get(plan)), std::string(choice.label));
            }
        }
    }

    /// A refused value leaves the plan as it was.
    void setFieldRefuses_data()
    {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("json");
        QTest::newRow("below") << "batch.micro_batch"
                               << "0";
        QTest::newRow("above") << "batch.micro_batch"
                               << "65537";
        QTest::newRow("absurd") << "batch.sequence_length"
                                << "1e300";
        QTest::newRow("fraction") << "method.rank"
                                  << "16.5";
        QTest::newRow("text for a number") << "method.rank"
                                           << "\"16\"";
        QTest::newRow("flag for a number") << "method.rank"
                                           << "true";
        QTest::newRow("dropout of one") << "method.dropout"
                                        << "1";
        QTest::newRow("unknown choice") << "attention"
                                        << "\"sparse\"";
        QTest::newRow("null") << "attention"
                              << "null";
        QTest::newRow("none for weights") << "precision.weights"
                                          << "\"none\"";
        QTest::newRow("number for a list") << "gpus"
                                           << "1";
        QTest::newRow("empty entry") << "gpus"
                                     << "[\"\"]";
        QTest::newRow("number for text") << "runtime.torch"
                                         << "[]";
    }
    void setFieldRefuses()
    {
        QFETCH(QString, path);
        QFETCH(QString, json);
        TrainingPlan plan = unlikePlan();
        const std::optional<Issue> issue = assign(plan, path.toStdString(), json.toStdString());
        QVERIFY(issue.has_value());
        QCOMPARE(issue->where, path.toStdString());
        QVERIFY(!issue->what.empty() && !issue->hint.empty());
        QCOMPARE(issue->line, 0);
        QVERIFY(plan == unlikePlan());
    }

    /// --set takes JSON, and what a person writes who does not think of JSON.
    void assigns()
    {
        TrainingPlan plan;
        const auto set = [&](std::string_view path, std::string_view value) {
            const std::optional<Issue> issue = assign(plan, path, value);
            if (issue)
                qWarning("%s", toString(*issue).c_str());
            return !issue;
        };
        QVERIFY(set("batch.micro_batch", "4"));
        QCOMPARE(plan.batch.microBatch, std::int64_t{4});
        QVERIFY(set("attention", "eager"));
        QVERIFY(plan.attention == AttentionKind::Eager);
        QVERIFY(set("attention", "\"sdpa\""));
        QVERIFY(plan.attention == AttentionKind::Sdpa);
        QVERIFY(set("runtime.torch", "2.10"));
        QCOMPARE(plan.runtime.torch, std::string("2.10"));
        QVERIFY(set("parallel.zero_stage", "3"));
        QVERIFY(set("parallel.zero_stage", "null"));
        QVERIFY(!plan.parallel.zeroStage);
        QVERIFY(set("method.targets", "q_proj, v_proj"));
        QCOMPARE(plan.method.targets.names, (std::vector<std::string>{"q_proj", "v_proj"}));
        QVERIFY(set("method.targets", "all-linear"));
        QVERIFY(plan.method.targets.allLinear);
        QVERIFY(set("gpus", R"(["a", "b"])"));
        QCOMPARE(plan.gpus, (std::vector<std::string>{"a", "b"}));
        QVERIFY(set("gpus", ""));
        QVERIFY(plan.gpus.empty());
        QVERIFY(set("selective", R"({"every": 2})"));
        QVERIFY(plan.selective.every == 2);
        QVERIFY(set("model.preset", "Qwen/Qwen3-0.6B"));
        QCOMPARE(plan.model.preset, std::string("Qwen/Qwen3-0.6B"));
        QVERIFY(set("model.config_path", "config.json"));
        QVERIFY(plan.model.preset.empty());
        QVERIFY(set("precision", R"({"recipe": "fp32", "autocast": "none"})"));
        QVERIFY(plan.precision.recipe == Recipe::Fp32 && plan.precision.autocast.state == DtypeOverride::State::None);
        QVERIFY(set("name", "a \"plan\""));
        QCOMPARE(plan.name, std::string("a \"plan\""));

        QVERIFY(assign(plan, "batch.micro", "4")->hint.find("micro_batch") != std::string::npos);
        QVERIFY(assign(plan, "micro_batch", "4")->hint.find("batch.micro_batch") != std::string::npos);
        QVERIFY(assign(plan, "nonsense.micro", "4").has_value());
        QVERIFY(assign(plan, "", "4").has_value());
        QVERIFY(assign(plan, "headroom_plan", "1").has_value());
        QVERIFY(assign(plan, "name", "\xff").has_value());
        QVERIFY(set("selective.every", "3"));
        QVERIFY(plan.selective.every == 3);
        // It says one thing: what is set takes the place of the others.
        QVERIFY(set("selective.policy", "megatron"));
        QVERIFY(!plan.selective.every && plan.selective.policy == SelectivePolicy::Megatron);
        QVERIFY(set("selective.operators", R"(["attention", "mlp"])"));
        QVERIFY(plan.selective.policy == SelectivePolicy::None && plan.selective.operators.size() == 2);
        QCOMPARE(assign(plan, "selective.operators", R"(["atention"])")->hint.substr(0, 25),
                 std::string("did you mean \"attention\"?").substr(0, 25));
        QCOMPARE(assign(plan, "selective.operators", R"(["mlp", "mlp"])")->where, std::string("selective.operators"));
        QVERIFY(set("selective.every", "3"));
        QVERIFY(plan.selective.every == 3 && plan.selective.operators.empty());
        QCOMPARE(assign(plan, "selective.every", "0")->where, std::string("selective.every"));
        QCOMPARE(assign(plan, "selective.evry", "3")->hint, std::string("did you mean \"every\"?"));
        for (const char *path :
             {"model.config.hidden_size", "gpus[0]", "gpus[0].x", "batch.micro_batch.x", "headroom_plan.x", "model.preset.x"}) {
            const std::optional<Issue> issue = assign(plan, path, "5");
            QCOMPARE(issue->where, std::string(path));
            QVERIFY2(issue->what != "unknown key" && issue->hint.find("known here") == std::string::npos, issue->what.c_str());
        }
    }

    void linesOfPaths()
    {
        constexpr const char *text = "{\n\"batch\": {\n\"micro_batch\": 4},\n\"gpus\": [\n\"a\",\n\"b\"],\n"
                                     "\"model\": {\"config\": {\n\"layer_types\": [\n\"x\"]}}}";
        QCOMPARE(lineOf(text, "batch.micro_batch"), 3);
        QCOMPARE(lineOf(text, "batch.sequence_length"), 2);
        QCOMPARE(lineOf(text, "gpus"), 4);
        QCOMPARE(lineOf(text, "gpus[1]"), 6);
        QCOMPARE(lineOf(text, "gpus[2]"), 4);
        QCOMPARE(lineOf(text, "model.config.layer_types[0]"), 9);
        QCOMPARE(lineOf(text, "parallel.data"), 0);
        for (const char *path : {"", ".", "[", "[[", "gpus[", "gpus[x]", "gpus[99999999999999999999]", "..batch"})
            QVERIFY2(lineOf(text, path) <= 4, path);
        QCOMPARE(lineOf("{", "batch"), 0);
    }

    void wrongChoicesNameTheNearestAndAll()
    {
        TrainingPlan plan;
        const std::optional<Issue> issue = assign(plan, "precision.recipe", "bf16-auto");
        QVERIFY(issue->hint.find("did you mean \"bf16-autocast\"?") != std::string::npos);
        for (const FieldChoice &choice : findField("precision.recipe")->choices)
            QVERIFY(issue->hint.find(choice.value) != std::string::npos);
    }

    void valuesForPeople()
    {
        const auto shown = [](std::string_view path, const FieldValue &value) { return displayValue(*findField(path), value); };
        QCOMPARE(shown("batch.sequence_length", std::int64_t{4096}), std::string("4096 tokens"));
        QCOMPARE(shown("batch.micro_batch", std::int64_t{1}), std::string("1 sequence"));
        QCOMPARE(shown("batch.gradient_accumulation", std::int64_t{1}), std::string("1 micro-batch"));
        QCOMPARE(shown("precision.recipe", std::string("bf16-autocast")), std::string("bf16, autocast over fp32 weights"));
        QCOMPARE(shown("precision.weights", {}), std::string("from recipe"));
        QCOMPARE(shown("method.targets", std::string("all-linear")), std::string("all linear layers"));
        QCOMPARE(shown("method.targets", std::vector<std::string>{"q_proj", "v_proj"}), std::string("q_proj, v_proj"));
        QCOMPARE(shown("method.modules_to_save", std::vector<std::string>{}), std::string("none"));
        QCOMPARE(shown("method.dropout", 0.05), std::string("0.05"));
        QCOMPARE(shown("compile", true), std::string("on"));
        const Field &length = *findField("batch.sequence_length");
        QCOMPARE(changeText(length, std::int64_t{4096}, std::int64_t{8192}), std::string("Sequence length 4096 -> 8192"));
    }

    /// A disabled control says why.
    void fieldsWithoutEffectSayWhy()
    {
        const auto reason = [](const TrainingPlan &plan, std::string_view path) { return findField(path)->inapplicable(plan); };
        TrainingPlan plan;
        QVERIFY(!reason(plan, "method.rank").empty());
        QVERIFY(!reason(plan, "parallel.data").empty());
        QVERIFY(!reason(plan, "parallel.zero_stage").empty());
        QVERIFY(!reason(plan, "reentrant_checkpointing").empty());
        QVERIFY(reason(plan, "precision.moments").empty());
        plan.method.kind = MethodKind::Lora;
        plan.parallel.engine = Engine::DeepSpeed;
        plan.checkpointing = Checkpointing::Full;
        plan.optimizer.kind = OptimizerKind::Sgd;
        QVERIFY(reason(plan, "method.rank").empty());
        QVERIFY(!reason(plan, "method.quantization").empty());
        QVERIFY(reason(plan, "parallel.data").empty());
        QVERIFY(reason(plan, "parallel.zero_stage").empty());
        QVERIFY(!reason(plan, "parallel.stage3_max_live_parameters").empty());
        QVERIFY(reason(plan, "reentrant_checkpointing").empty());
        QVERIFY(!reason(plan, "precision.moments").empty());
        QVERIFY(!reason(plan, "selective.every").empty());
        plan.checkpointing = Checkpointing::Selective;
        QVERIFY(reason(plan, "selective.every").empty() && reason(plan, "selective.operators").empty());
        plan.parallel.zeroStage = 3;
        QVERIFY(reason(plan, "parallel.stage3_max_live_parameters").empty());
        QVERIFY(!reason(plan, "parallel.allgather_bucket_elements").empty());
        QVERIFY(findField("batch.micro_batch")->inapplicable == nullptr);
    }

    /// The format's table of recipes: bytes a parameter with AdamW.
    void recipes_data()
    {
        QTest::addColumn<QString>("recipe");
        QTest::addColumn<int>("bytes");
        QTest::newRow("fp32") << "fp32" << 16;
        QTest::newRow("bf16-autocast") << "bf16-autocast" << 16;
        QTest::newRow("fp16-autocast") << "fp16-autocast" << 16;
        QTest::newRow("bf16") << "bf16" << 8;
        QTest::newRow("fp16") << "fp16" << 8;
        QTest::newRow("bf16-master") << "bf16-master" << 16;
        QTest::newRow("fp16-master") << "fp16-master" << 16;
        QTest::newRow("megatron-bf16") << "megatron-bf16" << 18;
    }
    void recipes()
    {
        QFETCH(QString, recipe);
        TrainingPlan plan;
        QVERIFY(!assign(plan, "precision.recipe", recipe.toStdString()));
        const ResolvedPrecision precision = resolvePrecision(plan.precision);
        const std::int64_t weights = elementSize(precision.weights);
        const std::int64_t gradients = elementSize(precision.gradients.value_or(precision.weights));
        const std::int64_t master = precision.master ? elementSize(*precision.master) : 0;
        const std::int64_t moments = 2 * elementSize(precision.moments.value_or(precision.weights));
        QTEST(static_cast<int>(weights + gradients + master + moments), "bytes");
        QCOMPARE(precision.autocast.has_value(), recipe.endsWith("autocast"));
    }

    void overridesReplaceTheRecipe()
    {
        Precision precision;
        precision.autocast = {DtypeOverride::State::Given, DType::BFloat16};
        precision.weights = {DtypeOverride::State::Given, DType::Float32};
        ResolvedPrecision resolved = resolvePrecision(precision);
        QVERIFY(resolved.weights == DType::Float32 && resolved.autocast == DType::BFloat16);
        QVERIFY(!resolved.gradients && !resolved.moments); // each parameter's own
        precision = {};
        precision.recipe = Recipe::Bf16Master;
        precision.master = {DtypeOverride::State::None, {}};
        precision.gradients = {DtypeOverride::State::Given, DType::Float32};
        resolved = resolvePrecision(precision);
        QVERIFY(!resolved.master && resolved.gradients == DType::Float32 && resolved.moments == DType::Float32);
        precision = {};
        precision.master = {DtypeOverride::State::Given, DType::Float32};
        QVERIFY(resolvePrecision(precision).moments == DType::Float32);
    }

    /// Every plan of the traces and measurements is read, is free of contradictions, and survives writing.
    void tracedPlansAreRead()
    {
        const std::filesystem::path truth = std::filesystem::path(HEADROOM_SHARED) / "truth";
        if (std::string_view(HEADROOM_SHARED).empty() || !std::filesystem::exists(truth))
            QSKIP("needs the folder of traces (HEADROOM_SHARED)");
        int plans = 0;
        for (const auto &entry : std::filesystem::recursive_directory_iterator(truth)) {
            if (entry.path().extension() != ".jsonl")
                continue;
            QFile file(QString::fromStdString(entry.path().string()));
            QVERIFY(file.open(QIODevice::ReadOnly));
            while (!file.atEnd()) {
                const Result<JsonValue> line = parseJson(file.readLine().toStdString(), {}, {.bytes = 1U << 28, .values = 10'000'000});
                QVERIFY2(line.ok(), line ? "" : toString(line.issue()).c_str());
                const JsonValue *json = line->find("plan");
                if (json == nullptr || json->object() == nullptr)
                    continue;
                const Result<TrainingPlan> plan = readPlan(writeJson(*json));
                QVERIFY2(plan.ok(), plan ? "" : toString(plan.issue()).c_str());
                for (const Issue &issue : validate(*plan))
                    QVERIFY2(false, toString(issue).c_str());
                QVERIFY(readPlan(writePlan(*plan)).value() == *plan);
                ++plans;
            }
        }
        QVERIFY(plans > 100);
    }
};

QTEST_APPLESS_MAIN(TestPlan)
#include "test_plan.moc"
