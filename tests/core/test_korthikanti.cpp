// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/tape_events.h"

#include "core/units/bytes.h"

#include <QtTest>

#include <map>

using namespace tapeevents;

// Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022 (arXiv 2205.05198), section 4: the
// bytes that one GPT layer keeps for backward. The layer is written here from the engine's operators; what it keeps is what those
// operators save. The paper leaves out the norms' mean and rstd ("small buffers", 2 sb against 2 sbh) and so does this test, by
// name; bytes are raw, not rounded to blocks, as the paper's; weights are not activations.

namespace {

constexpr DType half = DType::BFloat16;

/// Sizes of a run: s tokens, b sequences, h hidden, a heads; t ranks of tensor parallelism, of which one is executed.
struct Sizes {
    std::int64_t s, b, h, a, t = 1;
    bool sequenceParallel = false;
    bool selective = false; ///< attention's core is recomputed

    std::int64_t sbh() const { return s * b * h; }
    std::int64_t as2b() const { return a * s * s * b; }
};

/// Megatron's all-gather along the sequence before a column-parallel product, and the reduce-scatter after a row-parallel one:
/// each is the other's backward, neither saves anything.
Tensor resized(const Tensor &x, std::int64_t length, const char *op)
{
    static constexpr Operator operation{"SequenceParallel", [](BackwardCall &call) {
                                            call.give(0, call.tape.empty(call.node.sizes, call.grad.dtype(), "reduce_scatter"));
                                        }};
    if (halted(x))
        return {};
    Tape &tape = *x->tape;
    Node *node = tape.record(operation, {&x});
    if (node)
        node->sizes = x.sizes();
    Tensor out = tape.empty({length, x.size(1), x.size(2)}, x.dtype(), op);
    tape.attach(node, out);
    return out;
}

/// One rank's part of a GPT layer: LayerNorm, attention with dropout, LayerNorm, MLP with GELU and dropout.
class GptLayer
{
public:
    GptLayer(Tape &tape, const Sizes &sizes)
        : m_tape(tape)
        , m_sizes(sizes)
    {
        const std::int64_t h = sizes.h, t = sizes.t;
        for (Tensor *vector : {&m_norm1, &m_normBias1, &m_norm2, &m_normBias2, &m_projectionBias, &m_fc2Bias})
            *vector = leaf(tape, {h}, true, half);
        for (Tensor *matrix : {&m_query, &m_key, &m_value})
            *matrix = leaf(tape, {h / t, h}, true, half);
        m_projection = leaf(tape, {h, h / t}, true, half);
        m_fc1 = leaf(tape, {4 * h / t, h}, true, half);
        m_fc1Bias = leaf(tape, {4 * h / t}, true, half);
        m_fc2 = leaf(tape, {h, 4 * h / t}, true, half);
    }

    Tensor operator()(const Tensor &x) const
    {
        Tensor hidden = norm("norm 1", x, m_norm1, m_normBias1);
        hidden = attention(hidden);
        const Tensor residual = add(x, hidden);
        hidden = norm("norm 2", residual, m_norm2, m_normBias2);
        {
            Tape::Scope scope(m_tape, "fc1 input");
            hidden = columnParallel(hidden, m_fc1, m_fc1Bias);
        }
        {
            Tape::Scope scope(m_tape, "gelu input");
            hidden = gelu(hidden);
        }
        {
            Tape::Scope scope(m_tape, "fc2 input");
            hidden = rowParallel(hidden, m_fc2, m_fc2Bias);
        }
        Tape::Scope scope(m_tape, "MLP dropout mask");
        return add(residual, dropout(hidden, 0.1));
    }

private:
    Tensor norm(const char *module, const Tensor &x, const Tensor &weight, const Tensor &bias) const
    {
        Tape::Scope scope(m_tape, module);
        return layerNorm(x, weight, bias);
    }

    /// With sequence parallelism the gathered input is not kept: the rank's own part is, and gathered again in backward.
    Tensor columnParallel(const Tensor &x, const Tensor &weight, const Tensor &bias = {}) const
    {
        if (!m_sizes.sequenceParallel)
            return linear(x, weight, bias);
        return m_tape.checkpoint(
            [this, weight, bias](const Tensor &part) { return linear(resized(part, m_sizes.s, "all_gather"), weight, bias); }, x);
    }
    Tensor rowParallel(const Tensor &x, const Tensor &weight, const Tensor &bias) const
    {
        Tensor out = linear(x, weight, bias);
        return m_sizes.sequenceParallel ? resized(out, m_sizes.s / m_sizes.t, "reduce_scatter") : out;
    }

    /// [s, b, h / t] seen as [b a / t, s, h / a]: no copy.
    Tensor heads(const Tensor &x) const
    {
        return transpose(view(x, {m_sizes.s, m_sizes.b * m_sizes.a / m_sizes.t, m_sizes.h / m_sizes.a}), 0, 1);
    }

    Tensor core(const Tensor &query, const Tensor &key, const Tensor &value) const
    {
        Tensor scores;
        {
            Tape::Scope scope(m_tape, "Q and K");
            scores = mulNumber(bmm(query, transpose(key, 1, 2)));
        }
        {
            Tape::Scope scope(m_tape, "softmax output");
            scores = softmax(scores);
        }
        {
            Tape::Scope scope(m_tape, "softmax dropout mask");
            scores = dropout(scores, 0.1);
        }
        Tape::Scope scope(m_tape, "dropout output and V");
        return bmm(scores, value);
    }

    Tensor attention(const Tensor &x) const
    {
        Tensor query, key, value;
        {
            Tape::Scope scope(m_tape, "QKV input");
            query = heads(columnParallel(x, m_query));
            key = heads(columnParallel(x, m_key));
            value = heads(columnParallel(x, m_value));
        }
        Tensor context;
        if (m_sizes.selective)
            context = m_tape.checkpoint([this, key, value](const Tensor &q) { return core(q, key, value); }, query);
        else
            context = core(query, key, value);
        Tensor out;
        {
            Tape::Scope scope(m_tape, "projection input");
            context = view(contiguous(transpose(context, 0, 1)), {m_sizes.s, m_sizes.b, m_sizes.h / m_sizes.t});
            out = rowParallel(context, m_projection, m_projectionBias);
        }
        Tape::Scope scope(m_tape, "attention dropout mask");
        return dropout(out, 0.1);
    }

    Tape &m_tape;
    Sizes m_sizes;
    Tensor m_norm1, m_normBias1, m_norm2, m_normBias2, m_query, m_key, m_value, m_projection, m_projectionBias, m_fc1, m_fc1Bias, m_fc2,
        m_fc2Bias;
};

bool isStatistic(const StorageRecord &storage)
{
    return std::string_view(storage.op) == "aten.native_layer_norm.default" && storage.dtype == DType::Float32;
}

/// What a stack keeps for backward: all that was born since its input and is alive, its output (the next layer's input) excepted.
std::int64_t keptBytes(const Sizes &sizes, int layers, bool checkpointed = false)
{
    Tape tape;
    std::vector<GptLayer> stack;
    for (int i = 0; i < layers; ++i)
        stack.emplace_back(tape, sizes);
    const Tensor source = leaf(tape, {sizes.sequenceParallel ? sizes.s / sizes.t : sizes.s, sizes.b, sizes.h}, true, half);
    const auto first = static_cast<StorageId>(tape.trace().storages.size());
    Tensor x = inner(source);
    for (const GptLayer &layer : stack)
        x = checkpointed ? tape.checkpoint(layer, x) : layer(x);
    std::vector<bool> alive(tape.trace().storages.size());
    for (const Event event : tape.trace().events)
        alive[event.storage] = !event.release;
    std::int64_t bytes = 0;
    for (StorageId id = first; id < alive.size(); ++id)
        if (alive[id] && id != x->storage && !isStatistic(tape.trace().storages[id]))
            bytes += tape.trace().storages[id].bytes;
    return bytes;
}

/// Bytes that the nodes of each row save, a storage in the row that saves it.
std::map<std::string, std::int64_t> keptByRow(const Sizes &sizes)
{
    Tape tape;
    const GptLayer layer(tape, sizes);
    const Tensor source = leaf(tape, {sizes.s, sizes.b, sizes.h}, true, half);
    const auto first = static_cast<StorageId>(tape.trace().storages.size());
    const Tensor y = layer(inner(source));
    std::map<std::string, std::set<StorageId>> rows;
    std::set<const Node *> seen;
    std::vector<const Node *> queue{y->gradFunction};
    while (!queue.empty()) {
        const Node *node = queue.back();
        queue.pop_back();
        if (!seen.insert(node).second)
            continue;
        for (const StorageId id : savedBy(node))
            if (id >= first && !isStatistic(tape.trace().storages[id])) // older ones are weights
                rows[node->module].insert(id);
        for (std::size_t e = 0; e < node->edgeCount; ++e)
            if (node->edges[e].node)
                queue.push_back(node->edges[e].node);
    }
    std::map<std::string, std::int64_t> bytes;
    for (const auto &[row, ids] : rows)
        for (const StorageId id : ids)
            bytes[row] += tape.trace().storages[id].bytes;
    return bytes;
}

} // namespace

class TestKorthikanti : public QObject
{
    Q_OBJECT

private:
    static void addSizes()
    {
        QTest::addColumn<Sizes>("sizes");
        QTest::newRow("GPT-2") << Sizes{1024, 3, 768, 12};
        QTest::newRow("7B") << Sizes{4096, 8, 4096, 32};
        QTest::newRow("GPT-3 175B, the paper's") << Sizes{2048, 1, 12288, 96};
        QTest::newRow("1T, the paper's") << Sizes{2048, 1, 25600, 160};
        QTest::newRow("odd") << Sizes{127, 3, 130, 5};
        QTest::newRow("one head") << Sizes{64, 1, 32, 1};
    }

private slots:
    /// Equation 1: s b h (34 + 5 a s / h).
    void layerKeepsWhatThePaperSays_data() { addSizes(); }
    void layerKeepsWhatThePaperSays()
    {
        QFETCH(const Sizes, sizes);
        QCOMPARE(keptBytes(sizes, 1), 34 * sizes.sbh() + 5 * sizes.as2b());
    }

    /// Section 4.1: attention 11 sbh + 5 as^2b, MLP 19 sbh, norms 4 sbh, row by row.
    void partsAreThePapers_data() { addSizes(); }
    void partsAreThePapers()
    {
        QFETCH(const Sizes, sizes);
        const std::int64_t sbh = sizes.sbh(), as2b = sizes.as2b();
        const std::map<std::string, std::int64_t> attention = {{"QKV input", 2 * sbh},
                                                               {"Q and K", 4 * sbh},
                                                               {"softmax output", 2 * as2b},
                                                               {"softmax dropout mask", as2b},
                                                               {"dropout output and V", 2 * as2b + 2 * sbh},
                                                               {"projection input", 2 * sbh},
                                                               {"attention dropout mask", sbh}};
        const std::map<std::string, std::int64_t> mlp = {
            {"fc1 input", 2 * sbh}, {"gelu input", 8 * sbh}, {"fc2 input", 8 * sbh}, {"MLP dropout mask", sbh}};
        const std::map<std::string, std::int64_t> norms = {{"norm 1", 2 * sbh}, {"norm 2", 2 * sbh}};
        const std::map<std::string, std::int64_t> got = keptByRow(sizes);
        const auto sumOf = [&](const std::map<std::string, std::int64_t> &part) {
            std::int64_t sum = 0;
            for (const auto &[row, bytes] : part) {
                if (got.count(row) == 0 || got.at(row) != bytes)
                    qCritical("%s: the paper has %lld, the engine %lld", row.c_str(), static_cast<long long>(bytes),
                              static_cast<long long>(got.count(row) ? got.at(row) : 0));
                sum += got.count(row) != 0 ? got.at(row) : 0;
            }
            return sum;
        };
        QCOMPARE(sumOf(attention), 11 * sbh + 5 * as2b);
        QCOMPARE(sumOf(mlp), 19 * sbh);
        QCOMPARE(sumOf(norms), 4 * sbh);
        for (const auto *part : {&attention, &mlp, &norms})
            for (const auto &[row, bytes] : *part)
                QCOMPARE(got.at(row), bytes);
        QCOMPARE(got.size(), attention.size() + mlp.size() + norms.size());
    }

    /// Layers add up: nothing is shared between them, nothing is kept twice.
    void stackOf32Layers()
    {
        const Sizes sizes{4096, 8, 4096, 32};
        QCOMPARE(keptBytes(sizes, 32), 32 * (34 * sizes.sbh() + 5 * sizes.as2b()));
    }

    /// The 7B example: 4096 x 8 x 4096 x 34 = 4.56 GB a layer, 146 GB in 32 layers: what attention's core does not add.
    void linearPartOf7B()
    {
        Sizes sizes{4096, 8, 4096, 32};
        sizes.selective = true;
        QCOMPARE(keptBytes(sizes, 1), std::int64_t{4096} * 8 * 4096 * 34);
        QCOMPARE(formatBytes({keptBytes(sizes, 1)}, ByteUnit::Decimal), std::string("4.56 GB"));
        QCOMPARE(formatBytes({keptBytes(sizes, 32)}, ByteUnit::Decimal, 0), std::string("146 GB"));
    }

    /// Table 2: tensor parallelism, with sequence parallelism, with selective recomputation, and all recomputed.
    void parallelLayers_data()
    {
        QTest::addColumn<qint64>("t");
        for (const int t : {2, 4, 8})
            QTest::addRow("t = %d", t) << qint64{t};
    }
    void parallelLayers()
    {
        QFETCH(const qint64, t);
        Sizes sizes{2048, 2, 2048, 16, t};
        const std::int64_t sbh = sizes.sbh(), as2b = sizes.as2b();
        QCOMPARE(keptBytes(sizes, 3), 3 * (10 * sbh + 24 * sbh / t + 5 * as2b / t));
        sizes.selective = true;
        QCOMPARE(keptBytes(sizes, 3), 3 * (10 * sbh + 24 * sbh / t));
        sizes.sequenceParallel = true;
        QCOMPARE(keptBytes(sizes, 3), 3 * (34 * sbh / t));
        sizes.selective = false;
        QCOMPARE(keptBytes(sizes, 3), 3 * ((34 * sbh + 5 * as2b) / t));
    }

    void fullRecomputationKeepsInputs()
    {
        const Sizes sizes{1024, 2, 512, 8};
        QCOMPARE(keptBytes(sizes, 5, true), 5 * 2 * sizes.sbh());
    }

    /// What the paper leaves out: two fp32 numbers a token and norm.
    void statisticsAreAllThatIsLeftOut()
    {
        const Sizes sizes{128, 2, 256, 4};
        Tape tape;
        const GptLayer layer(tape, sizes);
        const Tensor source = leaf(tape, {sizes.s, sizes.b, sizes.h}, true, half);
        const std::int64_t before = liveBytes(tape);
        Tensor y = layer(inner(source));
        const std::int64_t output = 2 * sizes.sbh();
        QCOMPARE(liveBytes(tape) - before - output, keptBytes(sizes, 1) + 2 * 2 * 4 * sizes.s * sizes.b);
        tape.mark(TracePhase::Backward, 0, 0);
        tape.backward(y);
        y.reset();
        QCOMPARE(liveBytes(tape), 2 * before); // weights, input, and their gradients
    }
};

QTEST_APPLESS_MAIN(TestKorthikanti)
#include "test_korthikanti.moc"
