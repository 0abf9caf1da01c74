// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/tape_events.h"

#include <QtTest>

using namespace tapeevents;

namespace {

constexpr const char *fresh = "aten.ones_like.default";

/// A gradient as the loss's backward would hand it in: nobody else holds it once backward runs.
Tensor scalarLoss(const Tensor &x)
{
    Tape &tape = *x->tape;
    return nllLoss(logSoftmax(x), tape.empty({x.size(0)}, DType::Int64));
}

/// Allocations of copies that AccumulateGrad makes of a gradient it may not keep.
int copies(const QStringList &events, qint64 bytes)
{
    int count = 0;
    for (const char *op : {"aten.clone.default", "aten.new_empty_strided.default"})
        count += static_cast<int>(events.count(QStringLiteral("+%1 %2").arg(bytes).arg(QLatin1String(op))));
    return count;
}

/// backward() from `root`, as operators and bytes in order.
QStringList backwardEvents(Tape &tape, const Tensor &root)
{
    const std::size_t from = now(tape);
    tape.backward(root);
    return eventsSince(tape, from);
}

} // namespace

/// The autograd engine: order, gradients that meet, leaves, lifetimes; autocast's cache and cuBLAS workspaces.
class TestBackward : public QObject
{
    Q_OBJECT

private slots:
    /// Tensors without a storage on the device (empty ones, or on the host) take part in fan-in and accumulation.
    void gradientsWithoutAStorageMeet()
    {
        Tape tape;
        const Tensor source = leaf(tape, {0, 4}, true);
        const Tensor x = inner(source);
        const Tensor sum = add(neg(x), divNumber(x));
        tape.backward(sum, tape.empty({0, 4}, DType::Float32));
        QVERIFY(source->grad != nullptr);
        QCOMPARE(source->grad->storage, noStorage);
    }

    // -- order

    /// The node that was made last runs first, wherever it stands in the graph.
    void highestSequenceNumberFirst()
    {
        for (const bool negFirst : {true, false}) {
            Tape tape;
            const Tensor source = leaf(tape, {8}, true);
            const Tensor x = inner(source);
            Tensor first = negFirst ? neg(x) : divNumber(x);
            Tensor second = negFirst ? divNumber(x) : neg(x);
            const Tensor sum = add(first, second);
            const QStringList births = backwardEvents(tape, sum).filter("+");
            QCOMPARE(births.size(), 4); // the root's own gradient, the two, and the product's
            QCOMPARE(births[1], QString(negFirst ? "+32 aten.div.Tensor" : "+32 aten.neg.default"));
            QCOMPARE(births[2], QString(negFirst ? "+32 aten.neg.default" : "+32 aten.div.Tensor"));
            QCOMPARE(births[3], QString("+32 aten.mul.Tensor"));
        }
    }

    /// A leaf's gradient is accumulated as soon as it is there, before the rest of the graph.
    void leavesComeBeforeTheRest()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true), w = leaf(tape, {8, 8}, true);
        std::vector<TensorImpl *> order;
        tape.afterAccumulate = [&](const Tensor &parameter) { order.push_back(parameter.impl()); };
        tape.backward(linear(inner(source), w));
        QCOMPARE(order.size(), std::size_t{2});
        QCOMPARE(order[0], w.impl());
        QCOMPARE(order[1], source.impl());
        QVERIFY(w->grad != nullptr && source->grad != nullptr);
    }

    /// Formulas run by the arguments' names: a Linear's weight gradient comes before its input's.
    void weightGradientBeforeInputGradient()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true), w = leaf(tape, {16, 8}, true);
        Tensor y = linear(inner(source), w);
        const QStringList births = backwardEvents(tape, y).filter("+");
        QCOMPARE(births, QStringList({"+256 " + QString(fresh), "+512 aten.mm.default", "+128 aten.mm.default", "+128 aten.mul.Tensor"}));
    }

    /// What a node saved goes when the node has run, before the next one allocates.
    void savedTensorsGoWithTheirNode()
    {
        Tape tape;
        const Tensor source = leaf(tape, {8}, true);
        Tensor x = inner(source);
        Tensor a = silu(x);
        const StorageId first = x->storage, second = a->storage;
        Tensor b = silu(a);
        x.reset();
        a.reset();
        const std::size_t from = now(tape);
        tape.backward(b);
        QStringList order;
        for (std::size_t i = from; i < now(tape); ++i) {
            const Event event = tape.trace().events[i];
            if (event.release && (event.storage == first || event.storage == second))
                order += event.storage == first ? "input" : "middle";
            else if (!event.release && std::string_view(tape.trace().storages[event.storage].op) == "aten.silu_backward.default")
                order += "gradient";
        }
        QCOMPARE(order, QStringList({"gradient", "middle", "gradient", "input"}));
    }

    void rootGradientLivesUntilBackwardReturns()
    {
        Tape tape;
        const Tensor source = leaf(tape, {8}, true);
        const QStringList events = backwardEvents(tape, silu(inner(source)));
        QCOMPARE(events.front(), "+32 " + QString(fresh));
        QCOMPARE(events.back(), "-32 " + QString(fresh));
    }

    // -- gradients that meet

    /// Two gradients that nobody else holds: the second is added into the first.
    void meetingGradientsAreAddedInPlace()
    {
        Tape tape;
        const Tensor source = leaf(tape, {8}, true);
        const Tensor x = inner(source);
        const Tensor negated = neg(x), divided = divNumber(x);
        const QStringList events = backwardEvents(tape, add(negated, divided));
        QVERIFY(events.filter("aten.add").isEmpty());
        // div's gradient is the buffer; neg's is added into it and goes at once
        QCOMPARE(events.mid(1, 3), QStringList({"+32 aten.div.Tensor", "+32 aten.neg.default", "-32 aten.neg.default"}));
    }

    /// A residual hands one gradient to both of its branches. Once the branch has used it up, it is added into ...
    void residualGradientIsAddedIntoOnceItsBranchIsDone()
    {
        Tape tape;
        const Tensor source = leaf(tape, {8}, true);
        const Tensor x = inner(source);
        const Tensor sum = add(x, neg(x));
        QVERIFY(backwardEvents(tape, neg(sum)).filter("aten.add").isEmpty());
    }

    /// ... but while another branch still waits with it, the sum is a new tensor. Into that, more is added in place.
    void gradientThatSomebodyElseHoldsIsNotAddedInto()
    {
        Tape tape;
        const Tensor source = leaf(tape, {8}, true);
        const Tensor x = inner(source);
        const Tensor waiting = neg(x), divided = divNumber(x);
        const Tensor sum = add(add(x, waiting), divided);
        const QStringList events = backwardEvents(tape, neg(sum));
        QCOMPARE(events.filter("+32 aten.add.Tensor").size(), 1);
        QVERIFY(events.indexOf("+32 aten.add.Tensor") > events.indexOf("+32 aten.div.Tensor"));
        QVERIFY(events.lastIndexOf("+32 aten.neg.default") > events.indexOf("+32 aten.add.Tensor"));
    }

    /// A product's gradient is computed in two dimensions and seen in three. So where q, k and v meet, the first addition
    /// allocates and the second does not.
    void projectionsOfOneInputAllocateOneSum()
    {
        Tape tape;
        const Tensor source = leaf(tape, {2, 4, 8}, true);
        const Tensor x = inner(source);
        std::vector<Tensor> weights;
        for (int i = 0; i < 3; ++i)
            weights.push_back(leaf(tape, {8, 8}, false));
        const Tensor q = linear(x, weights[0]), k = linear(x, weights[1]), v = linear(x, weights[2]);
        const QStringList events = backwardEvents(tape, neg(add(add(q, k), v)));
        QCOMPARE(events.filter("+256 aten.mm.default").size(), 3);
        QCOMPARE(events.filter("+256 aten.add.Tensor").size(), 1);
    }

    /// A gradient that is a view shares its base's storage: it is not added into. Where it comes second it is added to the first.
    void gradientsThatAreViewsAreNotAddedInto()
    {
        for (const bool viewComesFirst : {true, false}) {
            Tape tape;
            const Tensor source = leaf(tape, {4, 8}, true);
            const Tensor x = inner(source);
            Tensor straight = viewComesFirst ? neg(x) : Tensor();
            const Tensor flipped = transposed2d(divNumber(transposed2d(x)));
            if (!viewComesFirst)
                straight = neg(x);
            const QStringList events = backwardEvents(tape, neg(add(straight, flipped)));
            QCOMPARE(events.filter("+128 aten.add.Tensor").size(), viewComesFirst ? 1 : 0);
        }
    }

    /// The engine brings a gradient to the sizes and dtype of its input: summed over broadcast dimensions, then cast.
    void gradientsAreFittedToTheirInputs()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true);
        const Tensor x = inner(source);
        const Tensor w = leaf(tape, {8}, true, DType::BFloat16);
        Tensor product = mul(x, w);
        QVERIFY(product.dtype() == DType::Float32);
        const QStringList events = backwardEvents(tape, product);
        // other's product first, then self's; then the engine sums and casts w's
        QCOMPARE(events.mid(1, 6), QStringList({"+128 aten.mul.Tensor", "+128 aten.mul.Tensor", "+32 aten.sum.dim_IntList",
                                                "-128 aten.mul.Tensor", "+16 aten._to_copy.default", "-32 aten.sum.dim_IntList"}));
        QVERIFY(Tensor(w->grad).dtype() == DType::BFloat16);
        QCOMPARE(toString(Tensor(w->grad).sizes()), std::string("[8]"));
    }

    void frozenWeightsPassGradientsOn()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true), frozen = leaf(tape, {8, 8}, false);
        tape.backward(linear(inner(source), frozen));
        QVERIFY(frozen->grad == nullptr);
        QVERIFY(source->grad != nullptr);
    }

    // -- leaves

    /// The first gradient becomes .grad without a copy where nobody else holds it; its storage is then a gradient's.
    void firstGradientIsStolen()
    {
        Tape tape;
        const Tensor x = leaf(tape, {4, 8}, false), w = leaf(tape, {16, 8}, true);
        const std::size_t from = now(tape);
        tape.backward(linear(x, w));
        QCOMPARE(copies(birthsSince(tape, from), 512), 0);
        QVERIFY(Tensor(w->grad).strides() == w.strides());
        QVERIFY(tape.trace().storages[w->grad->storage].role == Role::Gradient);
        QCOMPARE(tape.trace().storages[w->grad->storage].op, "aten.mm.default");
    }

    /// Two leaves that get one gradient: the first clones it, the second is then its only holder and steals it.
    void sharedGradientIsClonedOnce()
    {
        Tape tape;
        const Tensor a = leaf(tape, {8}, true), b = leaf(tape, {8}, true);
        const QStringList events = backwardEvents(tape, neg(add(a, b)));
        QCOMPARE(copies(events, 32), 1);
        QVERIFY(a->grad != nullptr && b->grad != nullptr && a->grad->storage != b->grad->storage);
        QCOMPARE(liveBytes(tape), std::int64_t{4 * 32});
    }

    /// The root's gradient is held by backward() itself, so a leaf may not keep it.
    void rootGradientIsCloned()
    {
        Tape tape;
        const Tensor a = leaf(tape, {8}, true);
        const QStringList events = backwardEvents(tape, addNumber(a));
        QCOMPARE(events.size(), 3);
        QCOMPARE(copies(events, 32), 1);
        QCOMPARE(events.back(), "-32 " + QString(fresh));
    }

    /// A gradient in another layout than its parameter's is cloned into the parameter's.
    void gradientInAnotherLayoutIsCloned()
    {
        Tape tape;
        const Tensor w = leaf(tape, {4, 8}, true);
        Tensor flipped = neg(clone(transposed2d(w), {4, 1}));
        const QStringList events = backwardEvents(tape, flipped);
        QCOMPARE(copies(events, 128), 1);
        QVERIFY(Tensor(w->grad).strides() == w.strides());
    }

    /// A second backward adds into .grad: nothing new stays.
    void laterGradientsAreAddedIntoTheFirst()
    {
        Tape tape;
        const Tensor x = leaf(tape, {4, 8}, false), w = leaf(tape, {16, 8}, true);
        tape.backward(linear(x, w));
        const std::int64_t once = liveBytes(tape);
        const StorageId gradient = w->grad->storage;
        tape.backward(linear(x, w));
        QCOMPARE(liveBytes(tape), once);
        QCOMPARE(w->grad->storage, gradient);
    }

    /// A tied weight's two gradients meet before they reach the leaf; the head's is a view, so the sum is a third tensor.
    void tiedWeightGetsOneGradient()
    {
        Tape tape;
        const Tensor weight = leaf(tape, {32, 8}, true), indices = leaf(tape, {4}, false, DType::Int64);
        int accumulated = 0;
        tape.afterAccumulate = [&](const Tensor &) { ++accumulated; };
        const QStringList events = backwardEvents(tape, linear(silu(embedding(weight, indices)), weight));
        QCOMPARE(accumulated, 1);
        const QString size = "+1024 ";
        QCOMPARE(events.filter(size),
                 QStringList({size + "aten.mm.default", size + "aten.embedding_dense_backward.default", size + "aten.add.Tensor"}));
        QCOMPARE(liveBytes(tape), std::int64_t{2 * 1024 + 32});
    }

    void droppedGraphLeavesNothing()
    {
        Tape tape;
        const Tensor x = leaf(tape, {4, 8}, false), w = leaf(tape, {8, 8}, true);
        const std::int64_t before = liveBytes(tape);
        {
            const Tensor y = silu(linear(silu(linear(x, w)), w));
            QVERIFY(liveBytes(tape) > before);
        }
        QCOMPARE(liveBytes(tape), before);
        QVERIFY(w->accumulator == nullptr);
        QCOMPARE(w->references, 1U);
    }

    /// Graphs are walked and released without recursion.
    void longGraphsDoNotOverflowTheStack()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4}, true);
        for (const bool backward : {false, true}) {
            Tensor x = inner(source);
            for (int i = 0; i < 10'000; ++i)
                x = i % 3 == 0 ? silu(x) : i % 3 == 1 ? rsqrt(x) : view(view(x, {2, 2}), {4});
            if (backward)
                tape.backward(x);
            x.reset();
            QCOMPARE(liveBytes(tape), std::int64_t{backward ? 32 : 16});
        }
    }

    void wholeStepComesBackToWeightsAndGradients()
    {
        Tape tape;
        const Tensor x = leaf(tape, {4, 8}, false), w = leaf(tape, {8, 8}, true), head = leaf(tape, {32, 8}, true);
        const std::int64_t steady = liveBytes(tape);
        {
            const Tensor loss = scalarLoss(linear(silu(linear(x, w)), head));
            tape.backward(loss);
        }
        QCOMPARE(liveBytes(tape), steady + 4 * (64 + 256));
    }

    // -- autocast

    /// A trainable fp32 leaf is cast once and the cast kept until the outermost context ends.
    void castOfATrainableLeafIsCached()
    {
        Tape tape;
        const Tensor x = leaf(tape, {4, 8}, false, DType::BFloat16), w = leaf(tape, {8, 8}, true);
        const std::size_t from = now(tape);
        StorageId cast = noStorage;
        {
            Tape::Autocast outer(tape, DType::BFloat16);
            {
                Tape::NoGrad noGrad(tape); // nothing is saved; only the cache holds the cast
                Tape::Autocast nested(tape, DType::BFloat16);
                cast = tape.autocastCast(w)->storage;
                linear(x, w);
            }
            QVERIFY(isAlive(tape, cast));
            linear(x, w);
            QCOMPARE(birthsSince(tape, from).filter("+128 aten._to_copy.default").size(), 1);
            QVERIFY(isAlive(tape, cast));
        }
        QVERIFY(!isAlive(tape, cast));
        QVERIFY(!tape.autocast().has_value());
    }

    void otherTensorsAreCastEachTime_data()
    {
        QTest::addColumn<QString>("which");
        for (const char *which : {"frozen leaf", "result of an operator", "view of a leaf", "16-bit leaf"})
            QTest::newRow(which) << QString(which);
    }
    void otherTensorsAreCastEachTime()
    {
        QFETCH(const QString, which);
        Tape tape;
        const Tensor trainable = leaf(tape, {8, 8}, true), frozen = leaf(tape, {8, 8}, false),
                     half = leaf(tape, {8, 8}, true, DType::Float16);
        const Tensor t = which == "frozen leaf"      ? frozen
                         : which == "view of a leaf" ? transposed2d(trainable)
                         : which == "16-bit leaf"    ? half
                                                     : inner(trainable);
        const std::size_t from = now(tape);
        Tape::Autocast context(tape, DType::BFloat16);
        const Tensor a = tape.autocastCast(t), b = tape.autocastCast(t);
        QVERIFY(a.impl() != b.impl());
        QCOMPARE(birthsSince(tape, from).size(), 2);
    }

    void autocastLeavesItsOwnDtypeAndIntegersAlone()
    {
        Tape tape;
        const Tensor half = leaf(tape, {8}, true, DType::BFloat16), integers = leaf(tape, {8}, false, DType::Int64);
        {
            Tape::Autocast context(tape, DType::BFloat16);
            QCOMPARE(tape.autocastCast(half).impl(), half.impl());
            QCOMPARE(tape.autocastCast(integers).impl(), integers.impl());
        }
        const Tensor w = leaf(tape, {8}, true);
        QCOMPARE(tape.autocastCast(w).impl(), w.impl()); // no context
        Tape::Autocast none(tape, std::nullopt);
        QCOMPARE(tape.autocastCast(w).impl(), w.impl());
    }

    /// The graph keeps a cast that a product saved; its gradient comes back in the leaf's dtype.
    void savedCastsOutliveTheContext()
    {
        Tape tape;
        const Tensor source = leaf(tape, {4, 8}, true, DType::BFloat16), w = leaf(tape, {8, 8}, true);
        Tensor y;
        StorageId cast = noStorage;
        {
            Tape::Autocast context(tape, DType::BFloat16);
            y = linear(inner(source), w);
            cast = tape.autocastCast(w)->storage;
        }
        QVERIFY(isAlive(tape, cast));
        QVERIFY(y.dtype() == DType::BFloat16);
        tape.backward(y);
        QVERIFY(!isAlive(tape, cast));
        QVERIFY(Tensor(w->grad).dtype() == DType::Float32);
    }

    // -- workspaces

    /// Handles are per thread: forward's first product takes a workspace, and backward's; both stay.
    void cublasTakesAWorkspaceAThread()
    {
        Tape tape;
        tape.setWorkspaceBytes(1000);
        const Tensor x = leaf(tape, {4, 8}, true), w = leaf(tape, {8, 8}, true);
        for (int step = 0; step < 2; ++step) {
            tape.mark(TracePhase::Forward, step, 0);
            const Tensor y = linear(linear(inner(x), w), w);
            tape.mark(TracePhase::Backward, step, 0);
            tape.backward(y);
        }
        const QStringList workspaces = eventsSince(tape, 0).filter("cuBLAS workspace");
        QCOMPARE(workspaces, QStringList({"+1000 cuBLAS workspace", "+1000 cuBLAS workspace"}));
    }
};

QTEST_APPLESS_MAIN(TestBackward)
#include "test_backward.moc"
