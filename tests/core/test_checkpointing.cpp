// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/tape_events.h"

#include <QtTest>

using namespace tapeevents;

namespace {

/// Two products with an activation between them, as an MLP is.
struct Block {
    Tensor up, down;

    Block(Tape &tape, bool trainable = true)
        : up(leaf(tape, {16, 8}, trainable))
        , down(leaf(tape, {8, 16}, trainable))
    {}

    Tensor operator()(const Tensor &x) const { return linear(silu(linear(x, up)), down); }
};

/// Operators that ran in a recomputation, in order.
QStringList recomputed(const Tape &tape)
{
    QStringList out;
    for (const StorageRecord &storage : tape.trace().storages)
        if (storage.recomputed)
            out += storage.op;
    return out;
}

/// Keeps the first `count` results of one operator.
class Keeps : public KeptResultPolicy
{
public:
    Keeps(const char *op, int count)
        : m_op(op)
        , m_count(count)
    {}
    bool considers(std::string_view op) const override { return op == m_op; }
    bool keeps(std::string_view, std::string_view) override { return m_count-- > 0; }

private:
    std::string_view m_op;
    int m_count;
};

/// Forward, then backward as the loop marks them.
void step(Tape &tape, const Tensor &out)
{
    tape.mark(TracePhase::Backward, 0, 0);
    tape.backward(out);
}

} // namespace

/// torch.utils.checkpoint in both of its forms.
class TestCheckpointing : public QObject
{
    Q_OBJECT

private slots:
    /// Of a checkpointed block only its input and output stay.
    void forwardKeepsTheInputOnly()
    {
        for (const bool reentrant : {false, true}) {
            Tape tape;
            const Tensor source = leaf(tape, {4, 8}, true);
            const Block block(tape);
            const std::int64_t steady = liveBytes(tape);
            Tensor x = inner(source);
            const StorageId input = x->storage;
            const Tensor y = reentrant ? tape.checkpointReentrant(block, x) : tape.checkpoint(block, x);
            x.reset();
            QVERIFY(isAlive(tape, input));
            QCOMPARE(liveBytes(tape) - steady, std::int64_t{2 * 4 * 8 * 4});
            QVERIFY(y.requiresGrad());
        }
    }

    /// Without the wrapper the same block keeps its inner results too: the test above is not trivially true.
    void uncheckpointedBlockKeepsMore()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true);
        const Block block(tape);
        const std::int64_t steady = liveBytes(tape);
        const Tensor y = block(inner(source));
        QCOMPARE(liveBytes(tape) - steady, std::int64_t{2 * 4 * 8 * 4 + 2 * 4 * 16 * 4});
    }

    /// The recomputation ends with the last tensor that is to be saved: the last product is not run again.
    void recomputationStopsEarly()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true);
        const Block block(tape);
        tape.mark(TracePhase::Forward, 0, 0);
        const Tensor y = tape.checkpoint(block, inner(source));
        QVERIFY(recomputed(tape).isEmpty());
        step(tape, y);
        QCOMPARE(recomputed(tape), QStringList({"aten.mm.default", "aten.silu.default"}));
        QVERIFY(!tape.stopped());
    }

    /// What comes after the last saved tensor is not run: operators of a stopped recomputation do nothing.
    void nothingRunsAfterTheStop()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true);
        const Tensor w = leaf(tape, {8, 8}, true);
        tape.mark(TracePhase::Forward, 0, 0);
        int runs = 0;
        const Tensor y = tape.checkpoint(
            [&](const Tensor &x) {
                ++runs;
                Tensor t = silu(linear(x, w)); // silu's input is the last that is saved
                t = neg(transpose(reshape(t, {2, 2, 8}), 1, 2));
                return contiguous(add(t, t));
            },
            inner(source));
        step(tape, y);
        QCOMPARE(runs, 2);
        QCOMPARE(recomputed(tape), QStringList("aten.mm.default"));
    }

    /// Every operator takes undefined tensors, gives one back, and allocates nothing.
    void operatorsPassUndefinedTensorsOn()
    {
        Tape tape;
        const Tensor none, some = leaf(tape, {4, 8}, true);
        const std::size_t from = now(tape);
        const Tensor results[] = {view(none, {8}),
                                  reshape(none, {8}),
                                  transpose(none, 0, 1),
                                  transposed2d(none),
                                  unsqueeze(none, 0),
                                  expand(none, {4}),
                                  sliceLast(none, 0, 1),
                                  contiguous(none),
                                  add(none, some),
                                  add(some, none),
                                  addNumber(none),
                                  mul(none, some),
                                  mul(some, none),
                                  mulNumber(none),
                                  mulScalar(none),
                                  divNumber(none),
                                  neg(none),
                                  square(none),
                                  rsqrt(none),
                                  silu(none),
                                  gelu(none),
                                  toCopy(none, DType::Float16),
                                  to(none, DType::Float16),
                                  clone(none, {1}),
                                  dropout(none, 0.1),
                                  unary(none, "aten.cos.default"),
                                  catLast(none, some),
                                  catLast(some, none),
                                  meanLast(none),
                                  sumTo(Tensor(), {1}),
                                  mm(none, some),
                                  mm(some, none),
                                  bmm(none, some),
                                  matmul(none, some),
                                  matmul(some, none),
                                  linear(none, some),
                                  layerNorm(none, some, some),
                                  softmax(none),
                                  safeSoftmax(none),
                                  logSoftmax(none),
                                  nllLoss(none, some),
                                  embedding(none, some),
                                  scaledDotProductAttention(none, some, some, {}, 0.0, true, false),
                                  scaledDotProductAttention(some, none, some, {}, 0.0, true, false)};
        for (const Tensor &result : results)
            QVERIFY(!result.defined());
        QCOMPARE(now(tape), from);
        QVERIFY(halted(none) && !halted(some));
        QCOMPARE(none.rank(), 0);
    }

    /// Each recomputed tensor goes when the node that asked for it has run, not with the whole block.
    void recomputedTensorsGoOneByOne()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true);
        const Block block(tape);
        tape.mark(TracePhase::Forward, 0, 0);
        const Tensor y = tape.checkpoint(block, inner(source));
        const std::size_t from = now(tape);
        step(tape, y);
        const QStringList events = eventsSince(tape, from);
        // down's gradients first; then silu's output goes, before silu's backward; its input after that
        const qsizetype recomputedOutput = events.indexOf("+256 aten.silu.default");
        const qsizetype released = events.indexOf("-256 aten.silu.default");
        const qsizetype siluBackward = events.indexOf("+256 aten.silu_backward.default");
        QVERIFY(recomputedOutput > 0 && released > recomputedOutput && siluBackward > released);
        QVERIFY(events.indexOf("-256 aten.mm.default", siluBackward) > siluBackward);
    }

    /// The block's input is kept until the last of its nodes has run.
    void inputLivesUntilTheBlockIsDone()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true);
        const Block block(tape);
        tape.mark(TracePhase::Forward, 0, 0);
        Tensor x = inner(source);
        const StorageId input = x->storage;
        Tensor y = tape.checkpoint(block, x);
        x.reset();
        bool aliveAtUp = false;
        tape.afterAccumulate = [&](const Tensor &parameter) {
            if (parameter.impl() == block.down.impl())
                aliveAtUp = isAlive(tape, input);
        };
        step(tape, y);
        QVERIFY(aliveAtUp);
        QVERIFY(!isAlive(tape, input));
        tape.afterAccumulate = nullptr;
    }

    /// A graph that is dropped without backward releases what its frames keep.
    void droppedGraphReleasesItsInput()
    {
        for (const bool reentrant : {false, true}) {
            Tape tape;
            const Tensor source = leaf(tape, {4, 8}, true);
            const Block block(tape);
            const std::int64_t steady = liveBytes(tape);
            {
                const Tensor y = reentrant ? tape.checkpointReentrant(block, inner(source)) : tape.checkpoint(block, inner(source));
            }
            QCOMPARE(liveBytes(tape), steady);
        }
    }

    /// Blocks are run again one after another: never are the inner results of two alive.
    void oneBlockAtATime()
    {
        std::int64_t peaks[2] = {};
        for (const bool checkpointed : {false, true}) {
            Tape tape;
            const Tensor source = leaf(tape, {64, 8}, true);
            std::vector<Block> blocks(6, Block(tape));
            const std::int64_t steady = liveBytes(tape);
            tape.mark(TracePhase::Forward, 0, 0);
            Tensor x = inner(source);
            for (const Block &block : blocks)
                x = checkpointed ? tape.checkpoint(block, x) : block(x);
            const std::size_t from = now(tape);
            step(tape, x);
            x.reset();
            std::int64_t live = 0, peak = 0;
            for (std::size_t i = 0; i < now(tape); ++i) {
                const Event event = tape.trace().events[i];
                live += (event.release ? -1 : 1) * tape.trace().storages[event.storage].bytes;
                if (i >= from)
                    peak = std::max(peak, live);
            }
            peaks[checkpointed ? 1 : 0] = peak - steady;
        }
        const std::int64_t inner = 2 * 64 * 16 * 4; // a block's two inner results
        QVERIFY(peaks[0] - peaks[1] >= 4 * inner);
    }

    /// torch.is_grad_enabled() is false: nothing is kept for a second run.
    void nothingIsKeptWithoutGradients()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true);
        const Block block(tape);
        Tape::NoGrad noGrad(tape);
        Tensor x = inner(source);
        const StorageId input = x->storage;
        const Tensor y = tape.checkpoint(block, x);
        x.reset();
        QVERIFY(!isAlive(tape, input));
        QVERIFY(!y.requiresGrad());
    }

    /// The recomputation runs under the autocast of the forward, though backward is outside it.
    void autocastIsRestored()
    {
        for (const bool reentrant : {false, true}) {
            Tape tape;
            const Tensor source = leaf(tape, {4, 8}, true);
            const Block block(tape);
            tape.mark(TracePhase::Forward, 0, 0);
            Tensor y;
            {
                Tape::Autocast context(tape, DType::BFloat16);
                y = reentrant ? tape.checkpointReentrant(block, inner(source)) : tape.checkpoint(block, inner(source));
            }
            QVERIFY(y.dtype() == DType::BFloat16);
            step(tape, y);
            QVERIFY(!tape.autocast().has_value());
            // the weights' casts, and the input's
            QCOMPARE(recomputed(tape).filter("aten._to_copy.default").size(), 3);
            QVERIFY(Tensor(block.up->grad).dtype() == DType::Float32);
        }
    }

    void gradientsAndSteadyStateAreThoseOfThePlainBlock()
    {
        std::int64_t after[3] = {};
        for (const int how : {0, 1, 2}) {
            Tape tape;
            const Tensor source = leaf(tape, {4, 8}, true);
            const Block block(tape);
            tape.mark(TracePhase::Forward, 0, 0);
            {
                const Tensor x = inner(source);
                const Tensor y = how == 0 ? block(x) : how == 1 ? tape.checkpoint(block, x) : tape.checkpointReentrant(block, x);
                step(tape, y);
            }
            QVERIFY(block.up->grad && block.down->grad && source->grad);
            after[how] = liveBytes(tape);
        }
        QCOMPARE(after[1], after[0]);
        QCOMPARE(after[2], after[0]);
    }

    // -- selective

    /// What is kept is not computed again, and all before it is.
    void keptResultsAreTakenInsteadOfComputed()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true);
        const Block block(tape);
        tape.mark(TracePhase::Forward, 0, 0);
        const Tensor y = tape.checkpoint(block, inner(source), std::make_unique<Keeps>("aten.mm.default", 1));
        step(tape, y);
        QCOMPARE(recomputed(tape), QStringList("aten.silu.default"));
        QVERIFY(block.up->grad && block.down->grad && source->grad);
    }

    /// A result that the second run takes goes as one that it computed would; one that it stops before stays to the end of
    /// the block's backward.
    void keptResultsLiveUntilTheyAreTaken()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true);
        const Block block(tape);
        const std::int64_t steady = liveBytes(tape);
        tape.mark(TracePhase::Forward, 0, 0);
        Tensor y =
            tape.checkpoint([&](const Tensor &x) { return neg(block(x)); }, inner(source), std::make_unique<Keeps>("aten.mm.default", 2));
        std::vector<StorageId> kept;
        for (std::size_t i = 0; i < tape.trace().storages.size(); ++i)
            if (tape.trace().storages[i].kept)
                kept.push_back(static_cast<StorageId>(i));
        QCOMPARE(kept.size(), std::size_t{2});
        bool aliveAtDown[2] = {}, aliveAtUp[2] = {};
        tape.afterAccumulate = [&](const Tensor &parameter) {
            for (std::size_t i = 0; i < 2; ++i)
                (parameter.impl() == block.down.impl() ? aliveAtDown : aliveAtUp)[i] = isAlive(tape, kept[i]);
        };
        step(tape, y);
        tape.afterAccumulate = nullptr;
        QVERIFY(aliveAtDown[0] && aliveAtDown[1]); // the activation's input, and what the second run did not get to
        QVERIFY(!aliveAtUp[0] && !aliveAtUp[1]);
        y.reset();
        QCOMPARE(liveBytes(tape) - steady, std::int64_t{4 * (16 * 8 + 8 * 16 + 4 * 8)}); // gradients alone
    }

    /// An operator that is made of others is one to what sees operators.
    void whatAnOperatorIsMadeOfIsNotSeen()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true);
        const Tensor w = leaf(tape, {8, 8}, true);
        tape.mark(TracePhase::Forward, 0, 0);
        const Tensor y = tape.checkpoint(
            [&](const Tensor &x) {
                Tensor t;
                {
                    Tape::InsideOperator inside(tape);
                    t = linear(x, w);
                }
                return silu(t);
            },
            inner(source), std::make_unique<Keeps>("aten.mm.default", 9));
        step(tape, y);
        QCOMPARE(recomputed(tape), QStringList("aten.mm.default"));
    }

    // -- reentrant

    /// Every tensor argument is saved, detached and gets its gradient; of a view that is not dense the gradient is contiguous
    /// (grad_layout_contract.h).
    void reentrantTakesSeveralInputs()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true), mask = leaf(tape, {4, 4}, false);
        tape.mark(TracePhase::Forward, 0, 0);
        const Tensor x = inner(source);
        const std::vector<Tensor> halves = chunkLast(x, 2);
        const auto block = [](std::span<const Tensor> inputs, Tensor &) { return add(mul(inputs[0], inputs[1]), inputs[2]); };
        const std::size_t from = now(tape);
        const Tensor y = tape.checkpointReentrant(block, {halves[0], halves[1], mask, {}});
        QCOMPARE(birthsSince(tape, from), QStringList({"+64 aten.mul.Tensor", "+64 aten.add.Tensor"}));
        step(tape, y);
        QCOMPARE(recomputed(tape), QStringList({"aten.mul.Tensor", "aten.add.Tensor"}));
        QVERIFY(source->grad);
        QCOMPARE(eventsSince(tape, from).filter("aten.new_empty_strided.default").size(), qsizetype{0});
    }

    /// A block without a graph in forward; backward runs it whole, the last product too.
    void reentrantRunsTheWholeBlockAgain()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true);
        const Block block(tape);
        tape.mark(TracePhase::Forward, 0, 0);
        const Tensor y = tape.checkpointReentrant(block, inner(source));
        QCOMPARE(QLatin1String(y->gradFunction->op->name), QLatin1String("CheckpointFunctionBackward"));
        step(tape, y);
        QCOMPARE(recomputed(tape), QStringList({"aten.mm.default", "aten.silu.default", "aten.mm.default"}));
    }

    /// A second result that nothing asks a gradient of gets zeros (materialize_grads), which add to what its node gets anyway.
    void reentrantReturnsASecondResult()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true);
        tape.mark(TracePhase::Forward, 0, 0);
        const auto block = [](std::span<const Tensor> inputs, Tensor &besides) {
            besides = neg(inputs[0]);
            return silu(besides);
        };
        Tensor second;
        const Tensor y = tape.checkpointReentrant(block, {inner(source)}, &second);
        QVERIFY(second.requiresGrad() && second->gradFunction == y->gradFunction);
        const std::size_t from = now(tape);
        step(tape, y);
        const QStringList births = birthsSince(tape, from);
        QCOMPARE(births.mid(1),
                 QStringList({"+128 aten.zeros.default", "+128 aten.neg.default", "+128 aten.silu.default",
                              "+128 aten.silu_backward.default", "+128 aten.add.Tensor", "+128 aten.neg.default", "+128 aten.mul.Tensor"}));
        QVERIFY(source->grad);
    }

    /// An input outside the graph gives a block outside the graph: its weights get no gradient. This is why such a model's
    /// embeddings are made to require one.
    void reentrantNeedsAnInputThatRequiresGradients()
    {
        Tape tape;
        const Tensor x = leaf(tape, {4, 8}, false);
        const Block block(tape);
        QVERIFY(!tape.checkpointReentrant(block, x).requiresGrad());
        QVERIFY(tape.checkpoint(block, x).requiresGrad());
    }
};

QTEST_APPLESS_MAIN(TestCheckpointing)
#include "test_checkpointing.moc"
