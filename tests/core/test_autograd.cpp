// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/units/cancelled.h"
#include "tests/core/tape_events.h"

#include <QtTest>

using namespace tapeevents;

/// Storages and references, and what each operator saves for backward. Bytes are raw, as a tensor's elements give them.
class TestAutograd : public QObject
{
    Q_OBJECT

private slots:
    // -- storages

    void storageDiesWithItsLastTensor()
    {
        Tape tape;
        Tensor tensor = tape.empty({4, 4}, DType::Float32);
        const StorageId id = tensor->storage;
        Tensor handle = tensor, shared = tape.detach(tensor), seen = tape.view(tensor, {16}, {1});
        tensor.reset();
        QVERIFY(isAlive(tape, id));
        handle.reset();
        QVERIFY(isAlive(tape, id));
        seen.reset();
        QVERIFY(isAlive(tape, id));
        QCOMPARE(now(tape), std::size_t{1});
        shared.reset();
        QVERIFY(!isAlive(tape, id));
        QCOMPARE(eventsSince(tape, 0), QStringList({"+64 aten.empty.memory_format", "-64 aten.empty.memory_format"}));
    }

    /// A view of a view looks into the first tensor and keeps that alive, as Tensor._base does; a detached tensor does not.
    void viewKeepsItsBase()
    {
        Tape tape;
        Tensor base = tape.empty({2, 8}, DType::Float32);
        TensorImpl *impl = base.impl();
        Tensor row = view(base, {16});
        Tensor column = transposed2d(view(row, {2, 8}));
        QCOMPARE(row->base, impl);
        QCOMPARE(column->base, impl);
        QVERIFY(tape.detach(row)->base == nullptr);
        base.reset();
        row.reset();
        QVERIFY(isAlive(tape, column->storage));
        QCOMPARE(impl->references, 1U);
        column.reset();
        QCOMPARE(liveBytes(tape), std::int64_t{0});
    }

    /// A run that has begun stops soon after it is told to.
    void cancellationComesWithinSomeHundredStorages()
    {
        std::stop_source source;
        Tape tape;
        tape.setCancel(source.get_token());
        for (int i = 0; i < 1000; ++i)
            tape.empty({4}, DType::Float32);
        source.request_stop();
        const auto makeSome = [&] {
            for (int i = 0; i < 300; ++i)
                tape.empty({4}, DType::Float32);
        };
        QVERIFY_THROWS_EXCEPTION(Cancelled, makeSome());
    }

    void assignmentLetsGoOfTheOldTensor()
    {
        Tape tape;
        Tensor t = tape.empty({8}, DType::Float32);
        const StorageId first = t->storage;
        t = tape.empty({8}, DType::Float32); // the new one is there before the old one goes, as in Python
        QVERIFY(!isAlive(tape, first));
        QCOMPARE(eventsSince(tape, 1).size(), 2);
        QVERIFY(eventsSince(tape, 1).front().startsWith('+'));
    }

    void emptyTensorsTakeNothing()
    {
        Tape tape;
        Tensor none = tape.empty({0, 4}, DType::Float32);
        Tensor seen = view(none, {4, 0});
        QCOMPARE(now(tape), std::size_t{0});
        Tensor scalar = tape.empty({}, DType::Float32);
        QCOMPARE(eventsSince(tape, 0), QStringList("+4 aten.empty.memory_format"));
    }

    void sizesBeyond64BitsAreRefused()
    {
        Tape tape;
        const std::int64_t huge = std::int64_t{1} << 31;
        QVERIFY_THROWS_EXCEPTION(SizeOverflow, tape.empty({huge, huge, 4}, DType::Float32));
        QVERIFY_THROWS_EXCEPTION(SizeOverflow, tape.empty({huge, huge}, DType::Float32)); // 2^62 elements fit, 2^64 bytes do not
        QCOMPARE(now(tape), std::size_t{0});
    }

    void recordsSayWhereAStorageComesFrom()
    {
        Tape tape;
        tape.mark(TracePhase::Forward, 0, 0);
        Tensor t;
        {
            Tape::Scope layer(tape, "", 3);
            Tape::Scope module(tape, "mlp");
            Tape::Stream side(tape, 2);
            t = tape.empty({2, 3}, DType::BFloat16, "aten.mm.default");
        }
        Tensor outside = tape.empty({1}, DType::Int64);
        const StorageRecord &record = tape.trace().storages[t->storage];
        QCOMPARE(record.module, "mlp");
        QCOMPARE(static_cast<int>(record.layer), 3);
        QCOMPARE(record.stream, std::uint8_t{2});
        QCOMPARE(record.bytes, std::int64_t{12});
        QCOMPARE(toString(record.shape), std::string("[2, 3]"));
        QVERIFY(record.dtype == DType::BFloat16 && record.phase == TracePhase::Forward && !record.recomputed);
        QCOMPARE(static_cast<int>(tape.trace().storages[outside->storage].layer), -1);
        QCOMPARE(tape.trace().storages[outside->storage].stream, std::uint8_t{0});
    }

    // -- what operators save

    /// A Linear saves its input only for a trainable weight's gradient, its weight only to pass a gradient on.
    void linearSavesWhatGradientsNeed_data()
    {
        QTest::addColumn<bool>("bias");
        QTest::addColumn<bool>("trainable");
        QTest::addColumn<bool>("inputNeedsGradient");
        for (const bool bias : {false, true})
            for (const bool trainable : {false, true})
                for (const bool needs : {false, true})
                    QTest::addRow("%s, weight %s, input %s", bias ? "bias" : "no bias", trainable ? "trained" : "frozen",
                                  needs ? "in the graph" : "outside")
                        << bias << trainable << needs;
    }
    void linearSavesWhatGradientsNeed()
    {
        QFETCH(const bool, bias);
        QFETCH(const bool, trainable);
        QFETCH(const bool, inputNeedsGradient);
        Tape tape;
        const Tensor source = leaf(tape, {2, 4, 8}, inputNeedsGradient);
        const Tensor x = inner(source);
        const Tensor weight = leaf(tape, {16, 8}, trainable);
        const Tensor offset = bias ? leaf(tape, {16}, false) : Tensor();
        const std::size_t before = now(tape);
        const Tensor y = linear(x, weight, offset);
        QCOMPARE(eventsSince(tape, before), QStringList(bias ? "+512 aten.addmm.default" : "+512 aten.mm.default"));
        QCOMPARE(toString(y.sizes()), std::string("[2, 4, 16]"));
        QCOMPARE(y.requiresGrad(), trainable || inputNeedsGradient);
        std::set<StorageId> expected;
        if (trainable)
            expected.insert(x->storage);
        if (inputNeedsGradient)
            expected.insert(weight->storage);
        if (y.requiresGrad()) {
            const Node *node = nodeBehind(y, bias ? "AddmmBackward0" : "MmBackward0");
            QVERIFY(node != nullptr);
            QVERIFY(savedBy(node) == expected);
        } else {
            QVERIFY(y.isLeaf());
        }
    }

    /// What only the graph holds lives until backward; three projections of one input keep it once.
    void oneInputOfThreeProjectionsIsKeptOnce()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true);
        const Tensor q = leaf(tape, {8, 8}, true), k = leaf(tape, {8, 8}, true), v = leaf(tape, {8, 8}, true);
        const std::int64_t steady = liveBytes(tape);
        Tensor x = inner(source);
        const StorageId input = x->storage;
        std::vector<Tensor> outputs{linear(x, q), linear(x, k), linear(x, v)};
        x.reset();
        QCOMPARE(liveBytes(tape) - steady, std::int64_t{4 * 128});
        outputs.pop_back();
        outputs.pop_back();
        QVERIFY(isAlive(tape, input));
        outputs.clear();
        QVERIFY(!isAlive(tape, input));
        QCOMPARE(liveBytes(tape), steady);
    }

    void mulSavesEachFactorForTheOther_data()
    {
        QTest::addColumn<bool>("first");
        QTest::addColumn<bool>("second");
        QTest::newRow("both") << true << true;
        QTest::newRow("first only") << true << false;
        QTest::newRow("second only") << false << true;
    }
    void mulSavesEachFactorForTheOther()
    {
        QFETCH(const bool, first);
        QFETCH(const bool, second);
        Tape tape;
        const Tensor a = leaf(tape, {4, 8}, first), b = leaf(tape, {8}, second);
        const Tensor product = mul(a, b);
        std::set<StorageId> expected;
        if (first)
            expected.insert(b->storage);
        if (second)
            expected.insert(a->storage);
        QVERIFY(savedBy(product->gradFunction) == expected);
        QCOMPARE(toString(product.sizes()), std::string("[4, 8]"));
    }

    void linearOperatorsSaveNothing()
    {
        Tape tape;
        const Tensor a = leaf(tape, {4, 8}, true), b = leaf(tape, {4, 8}, true);
        const Tensor results[] = {add(a, b),
                                  addNumber(a),
                                  mulNumber(a),
                                  mulScalar(a),
                                  divNumber(a),
                                  neg(a),
                                  catLast(a, b),
                                  meanLast(a),
                                  toCopy(a, DType::BFloat16),
                                  clone(a, a.strides()),
                                  transposed2d(a),
                                  view(a, {32}),
                                  sliceLast(a, 0, 4),
                                  expand(unsqueeze(a, 0), {3, 4, 8})};
        for (const Tensor &result : results) {
            QVERIFY(result->gradFunction != nullptr);
            QVERIFY2(savedBy(result->gradFunction).empty(), result->gradFunction->op->name);
        }
    }

    void activationsSaveTheirInput()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true);
        for (Tensor (*activation)(const Tensor &) : {silu, gelu, square}) {
            Tensor x = inner(source);
            const StorageId input = x->storage;
            const Tensor y = activation(x);
            QVERIFY(savedBy(y->gradFunction) == storages({&x}));
            x.reset();
            QVERIFY(isAlive(tape, input));
        }
    }

    /// Softmax, log-softmax and rsqrt save their result: the input dies.
    void someSaveTheirResult()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true);
        for (Tensor (*op)(const Tensor &) : {+[](const Tensor &x) { return softmax(x); }, +[](const Tensor &x) { return logSoftmax(x); },
                                             +[](const Tensor &x) { return safeSoftmax(x); }, rsqrt}) {
            const std::int64_t before = liveBytes(tape);
            Tensor x = inner(source);
            const StorageId input = x->storage;
            Tensor y = op(x);
            const StorageId output = y->storage;
            x.reset();
            QVERIFY(!isAlive(tape, input));
            Tensor next = mulNumber(y);
            y.reset();
            QVERIFY(isAlive(tape, output)); // by its own node, which must not be a cycle:
            next.reset();
            QCOMPARE(liveBytes(tape), before);
        }
    }

    /// half_to_float: fp16 is converted inside the softmax kernel, bfloat16 by a copy before it.
    void softmaxInFp32ConvertsHalfInItsKernel()
    {
        Tape tape;
        const Tensor half = leaf(tape, {4, 8}, false, DType::Float16), brain = leaf(tape, {4, 8}, false, DType::BFloat16);
        std::size_t from = now(tape);
        const Tensor a = softmax(half, DType::Float32);
        QCOMPARE(eventsSince(tape, from), QStringList("+128 aten._softmax.default"));
        from = now(tape);
        const Tensor b = softmax(brain, DType::Float32);
        QCOMPARE(birthsSince(tape, from), QStringList({"+128 aten._to_copy.default", "+128 aten._softmax.default"}));
        QVERIFY(a.dtype() == DType::Float32 && b.dtype() == DType::Float32);
    }

    void dropoutSavesAMaskOfOneByteAnElement()
    {
        Tape tape;
        const Tensor x = leaf(tape, {4, 8}, true, DType::BFloat16);
        const std::size_t from = now(tape);
        Tensor y = dropout(x, 0.1);
        QCOMPARE(eventsSince(tape, from), QStringList({"+64 aten.native_dropout.default", "+32 aten.native_dropout.default"}));
        const std::set<StorageId> saved = savedBy(y->gradFunction);
        QCOMPARE(saved.size(), std::size_t{1});
        QCOMPARE(tape.trace().storages[*saved.begin()].bytes, std::int64_t{32});
        QVERIFY(tape.trace().storages[*saved.begin()].dtype == DType::Bool);
        QCOMPARE(dropout(x, 0.0).impl(), x.impl());
    }

    void embeddingSavesItsIndicesOnly()
    {
        Tape tape;
        const Tensor weight = leaf(tape, {100, 8}, true), indices = leaf(tape, {2, 4}, false, DType::Int64);
        const Tensor y = embedding(weight, indices);
        QVERIFY(savedBy(y->gradFunction) == storages({&indices}));
        QCOMPARE(toString(y.sizes()), std::string("[2, 4, 8]"));
        QVERIFY(embedding(leaf(tape, {100, 8}, false), indices).isLeaf());
    }

    void layerNormSavesInputWeightAndStatistics()
    {
        Tape tape;
        const Tensor x = leaf(tape, {2, 4, 8}, true, DType::BFloat16), weight = leaf(tape, {8}, true, DType::BFloat16),
                     bias = leaf(tape, {8}, true, DType::BFloat16);
        const std::size_t from = now(tape);
        const Tensor y = layerNorm(x, weight, bias);
        const QString op = "aten.native_layer_norm.default";
        QCOMPARE(eventsSince(tape, from), QStringList({"+128 " + op, "+32 " + op, "+32 " + op})); // mean and rstd: fp32, one a row
        const std::set<StorageId> saved = savedBy(y->gradFunction);
        QCOMPARE(saved.size(), std::size_t{5});
        QVERIFY(saved.count(x->storage) == 1 && saved.count(weight->storage) == 1 && saved.count(bias->storage) == 1 &&
                saved.count(y->storage) == 0);
    }

    void lossSavesLogProbabilitiesAndTargets()
    {
        Tape tape;
        const Tensor logits = leaf(tape, {4, 100}, true), target = leaf(tape, {4}, false, DType::Int64);
        Tensor logProbabilities = logSoftmax(logits);
        const StorageId kept = logProbabilities->storage;
        const Tensor loss = nllLoss(logProbabilities, target);
        logProbabilities.reset();
        QVERIFY(isAlive(tape, kept));
        const std::set<StorageId> saved = savedBy(loss->gradFunction);
        QVERIFY(saved.count(kept) == 1 && saved.count(target->storage) == 1);
        QCOMPARE(saved.size(), std::size_t{3}); // and total_weight, a scalar
    }

    // -- attention

    /// 16 bit without a mask: flash. Kept: q, k, v, the output, an fp32 log-sum-exp a head and token, the random state.
    void flashAttention()
    {
        Tape tape;
        const Tensor q = leaf(tape, {2, 8, 16, 64}, true, DType::BFloat16), k = leaf(tape, {2, 2, 16, 64}, true, DType::BFloat16),
                     v = leaf(tape, {2, 2, 16, 64}, true, DType::BFloat16);
        const std::size_t from = now(tape);
        const Tensor out = scaledDotProductAttention(q, k, v, {}, 0.0, true, true);
        const QString op = "aten._scaled_dot_product_flash_attention.default";
        QCOMPARE(eventsSince(tape, from), QStringList({"+32768 " + op, "+1024 " + op, "+16 " + op, "+8 " + op}));
        const std::set<StorageId> saved = savedBy(out->gradFunction);
        QCOMPARE(saved.size(), std::size_t{7});
        for (const Tensor *t : {&q, &k, &v, &out})
            QVERIFY(saved.count((*t)->storage) == 1);
    }

    /// fp32 with as many key as query heads: memory-efficient, whose log-sum-exp is padded to 32 tokens.
    void efficientAttention()
    {
        Tape tape;
        const Tensor q = leaf(tape, {1, 4, 40, 64}, true), k = leaf(tape, {1, 4, 40, 64}, true), v = leaf(tape, {1, 4, 40, 64}, true);
        const std::size_t from = now(tape);
        const Tensor out = scaledDotProductAttention(q, k, v, {}, 0.0, true, false);
        const QString op = "aten._scaled_dot_product_efficient_attention.default";
        QCOMPARE(eventsSince(tape, from), QStringList({"+40960 " + op, QString("+%1 ").arg(4 * 4 * 64) + op, "+8 " + op, "+8 " + op}));
        QCOMPARE(savedBy(out->gradFunction).size(), std::size_t{7});
    }

    /// fp32 with grouped heads: neither kernel takes it, and the scores are made: quadratic in the sequence.
    void mathAttentionMakesTheScores()
    {
        Tape tape;
        const std::int64_t s = 128;
        const Tensor q = leaf(tape, {1, 4, s, 64}, true), k = leaf(tape, {1, 2, s, 64}, true), v = leaf(tape, {1, 2, s, 64}, true);
        const std::size_t from = now(tape);
        const Tensor out = scaledDotProductAttention(q, k, v, {}, 0.0, true, true);
        const qint64 scores = qint64{4} * 4 * s * s;
        QVERIFY(birthsSince(tape, from).contains(QString("+%1 aten._safe_softmax.default").arg(scores)));
        QVERIFY(nodeBehind(out, "SoftmaxBackward0") != nullptr);
    }

    // -- modes

    void noGraphWithoutGradients()
    {
        Tape tape;
        const Tensor w = leaf(tape, {8, 8}, true), x = leaf(tape, {4, 8}, true);
        {
            Tape::NoGrad noGrad(tape);
            const Tensor y = silu(linear(x, w));
            QVERIFY(!y.requiresGrad() && y.isLeaf());
            {
                Tape::NoGrad enabled(tape, true);
                QVERIFY(linear(x, w).requiresGrad());
            }
            QVERIFY(!tape.gradEnabled());
        }
        QVERIFY(tape.gradEnabled());
        const Tensor a = leaf(tape, {4, 8}, false), b = leaf(tape, {8, 8}, false);
        QVERIFY(linear(a, b).isLeaf()); // no input needs a gradient
    }

    void conversionToItsOwnDtypeIsTheTensorItself()
    {
        Tape tape;
        const Tensor x = leaf(tape, {4}, true);
        QCOMPARE(to(x, DType::Float32).impl(), x.impl());
        QVERIFY(to(x, DType::Float16).impl() != x.impl());
        QVERIFY(promote(DType::Float16, DType::BFloat16) == DType::Float32);
        QVERIFY(promote(DType::BFloat16, DType::Float32) == DType::Float32);
        QVERIFY(promote(DType::Int64, DType::BFloat16) == DType::BFloat16);
        QVERIFY(promote(DType::Bool, DType::Int64) == DType::Int64);
    }

    /// Reshape copies only where the strides do not allow a view.
    void reshapeCopiesOnlyWhereItMust()
    {
        Tape tape;
        const Tensor x = leaf(tape, {2, 4, 8}, true);
        const std::size_t from = now(tape);
        const Tensor flat = reshape(x, {8, 8});
        QCOMPARE(flat->storage, x->storage);
        QCOMPARE(now(tape), from);
        const Tensor copied = reshape(transpose(x, 1, 2), {2, 32});
        QVERIFY(copied->storage != x->storage);
        QVERIFY(copied->base == nullptr); // _unsafe_view: it alone owns the copy
        QCOMPARE(eventsSince(tape, from), QStringList("+256 aten.clone.default"));
        QCOMPARE(contiguous(x).impl(), x.impl());
    }
};

QTEST_APPLESS_MAIN(TestAutograd)
#include "test_autograd.moc"
