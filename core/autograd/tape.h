// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/node.h"
#include "core/autograd/pool.h"
#include "core/autograd/tensor.h"
#include "core/autograd/trace.h"

#include <functional>
#include <initializer_list>
#include <optional>
#include <stop_token>
#include <vector>

namespace headroom::autograd {

class ModuleHooks;

/// Runs model code: owns tensors and backward nodes, writes the trace, knows the modes that PyTorch keeps per thread
/// (gradients enabled, autocast). One tape is one process's view of one GPU; it is used by one thread.
class Tape
{
public:
    Tape();
    ~Tape();
    Tape(const Tape &) = delete;
    Tape &operator=(const Tape &) = delete;

    // -- tensors
    /// A new storage and a tensor over all of it.
    Tensor make(const Dims &sizes, const Dims &strides, DType dtype, const char *op);
    Tensor empty(const Dims &sizes, DType dtype, const char *op = "aten.empty.memory_format")
    {
        return make(sizes, contiguousStrides(sizes), dtype, op);
    }
    /// A view of `tensor`'s storage. It keeps its base alive, as PyTorch's views do, also where no gradient is recorded.
    Tensor view(const Tensor &tensor, const Dims &sizes, const Dims &strides);
    /// tensor.detach(): shares the storage and nothing else.
    Tensor detach(const Tensor &tensor);
    /// A storage without a tensor: buffers inside a kernel. Release it with freeStorage(). Throws Cancelled on request, as
    /// all that makes storages.
    StorageId allocateStorage(std::int64_t bytes, const char *op, std::uint8_t stream = 0);
    void freeStorage(StorageId storage);
    void setRole(const Tensor &tensor, Role role)
    {
        if (tensor->storage != noStorage)
            m_trace.storages[tensor->storage].role = role;
    }
    /// tensor.data = value: `tensor` lets go of its storage and shares value's, or has none where `value` is undefined.
    /// Its sizes stay: a sharded parameter keeps the shape that it has when gathered.
    void setData(const Tensor &tensor, const Tensor &value);

    // -- recording
    /// A node for an operator over `inputs`, or null where no gradient is to be recorded.
    /// Undefined inputs are allowed and get no edge.
    Node *record(const Operator &op, std::initializer_list<const Tensor *> inputs);
    /// Saves an input or output for the formula (SavedVariable). Under checkpointing it goes to the frame.
    void save(Node *node, int slot, const Tensor &tensor);
    /// Makes `output` the node's result, or its result `index` where an operator returns several.
    void attach(Node *node, Tensor &output, std::uint8_t index = 0);
    /// Makes the changed `tensor` the result of the operator that changed it in place (rebase_history).
    void rebase(Node *node, Tensor &tensor);
    /// loss.backward(): runs the graph behind `root` (a scalar, or `gradient` is given). Accumulates into leaves.
    /// With a second root, which lies behind the first, and its gradient: torch.autograd.backward((a, b), (grad_a, grad_b)).
    void backward(const Tensor &root, const Tensor &gradient = {}, const Tensor &second = {}, const Tensor &secondGradient = {});
    /// Called after a leaf's gradient was accumulated (register_post_accumulate_grad_hook).
    std::function<void(const Tensor &leaf)> afterAccumulate;

    // -- checkpointing (torch/utils/checkpoint.py)
    /// use_reentrant=False: saves go to a frame; the first that is asked for runs `block` again, up to the last save.
    /// With a policy the results that it keeps are not computed again (context_fn).
    Tensor checkpoint(std::function<Tensor(const Tensor &)> block, const Tensor &input, std::unique_ptr<KeptResultPolicy> policy = {});
    /// use_reentrant=True: no graph in forward; backward runs the block whole and a backward of its own through it.
    /// Up to four tensors, undefined ones among them. `besides` takes what the block returns besides its output.
    Tensor checkpointReentrant(CheckpointedBlock block, std::initializer_list<Tensor> inputs, Tensor *besides = nullptr);
    Tensor checkpointReentrant(const std::function<Tensor(const Tensor &)> &block, const Tensor &input);
    /// Within its scope a block runs for the second time.
    class RunningAgain
    {
    public:
        explicit RunningAgain(Tape &tape)
            : m_tape(tape)
            , m_before(std::exchange(tape.m_runningAgain, true))
        {}
        ~RunningAgain() { m_tape.m_runningAgain = m_before; }
        RunningAgain(const RunningAgain &) = delete;
        RunningAgain &operator=(const RunningAgain &) = delete;

    private:
        Tape &m_tape;
        bool m_before;
    };
    /// Within its scope what is made is an operator's own: selective checkpointing sees that operator alone.
    class InsideOperator
    {
    public:
        explicit InsideOperator(Tape &tape)
            : m_tape(tape)
            , m_before(std::exchange(tape.m_insideOperator, true))
        {}
        ~InsideOperator() { m_tape.m_insideOperator = m_before; }
        InsideOperator(const InsideOperator &) = delete;
        InsideOperator &operator=(const InsideOperator &) = delete;

    private:
        Tape &m_tape;
        bool m_before;
    };
    /// The result that selective checkpointing has kept for the operator that is to run now, or undefined: run it. make()
    /// asks and offers by itself; operators that are made of others do so around them.
    Tensor keptResult(const char *op);
    void offerResult(const char *op, const Tensor &result);
    /// Whether the tensor that make() gave last had been kept: its operator did not run.
    bool lastWasKept() const { return m_lastWasKept; }
    /// Early stop: the recomputation has all it needs. Operators then do nothing and return undefined tensors.
    bool stopped() const { return m_stopped; }

    // -- modes
    bool gradEnabled() const { return m_gradEnabled; }
    class NoGrad
    {
    public:
        explicit NoGrad(Tape &tape, bool enabled = false)
            : m_tape(tape)
            , m_before(tape.m_gradEnabled)
        {
            tape.m_gradEnabled = enabled;
        }
        ~NoGrad() { m_tape.m_gradEnabled = m_before; }
        NoGrad(const NoGrad &) = delete;
        NoGrad &operator=(const NoGrad &) = delete;

    private:
        Tape &m_tape;
        bool m_before;
    };

    /// torch.autocast: the dtype that matrix products compute in; unset: no autocast.
    std::optional<DType> autocast() const { return m_autocastDepth ? m_autocastDtype : std::nullopt; }
    class Autocast
    {
    public:
        Autocast(Tape &tape, std::optional<DType> dtype);
        ~Autocast();
        Autocast(const Autocast &) = delete;
        Autocast &operator=(const Autocast &) = delete;

    private:
        Tape &m_tape;
        bool m_active;
        std::optional<DType> m_before;
    };
    /// autocast's cached_cast (ATen/autocast_mode.cpp): a cast of a trainable fp32 leaf is kept until the outermost context ends.
    Tensor autocastCast(const Tensor &tensor);

    /// Where it is stopped, the next storages are not made: Cancelled is thrown instead, within some hundred of them.
    void setCancel(std::stop_token cancel) { m_cancel = std::move(cancel); }

    // -- floating-point operations
    /// A product or attention runs. Counted as torch/utils/flop_counter.py does (PyTorch 2.13): 2 for each multiplication
    /// and addition, causal attention as if it were not. What forward runs and what checkpointing runs again is kept by layer,
    /// of the micro-batch that ran last; backward itself is not counted.
    void countFlops(double flops)
    {
        if (m_runningAgain || !m_inBackward)
            (m_runningAgain ? m_flops.again : m_flops.forward).add(m_layer, flops);
    }
    const FlopsByLayer &flops() const { return m_flops; }

    // -- workspaces
    /// Bytes that each cuBLAS handle takes at its first product and keeps (CublasHandlePool.cpp); 0: none.
    void setWorkspaceBytes(std::int64_t bytes) { m_workspaceBytes = bytes; }
    /// A matrix product runs: handles are per thread, and backward runs on a thread of its own.
    void useBlas();

    // -- modules
    /// What is called around every module's forward; null: nothing. Not owned.
    ModuleHooks *moduleHooks() const { return m_moduleHooks; }
    void setModuleHooks(ModuleHooks *hooks) { m_moduleHooks = hooks; }

    // -- labels
    class Scope
    {
    public:
        Scope(Tape &tape, const char *module)
            : m_tape(tape)
            , m_module(tape.m_module)
            , m_layer(tape.m_layer)
        {
            tape.m_module = module;
        }
        Scope(Tape &tape, const char *module, std::int16_t layer)
            : Scope(tape, module)
        {
            tape.m_layer = layer;
        }
        ~Scope()
        {
            m_tape.m_module = m_module;
            m_tape.m_layer = m_layer;
        }
        Scope(const Scope &) = delete;
        Scope &operator=(const Scope &) = delete;

    private:
        Tape &m_tape;
        const char *m_module;
        std::int16_t m_layer;
    };
    std::int16_t layer() const { return m_layer; }
    TracePhase phase() const { return m_phase; }
    /// Files what follows under the module and layer of a parameter.
    class ParameterScope : public Scope
    {
    public:
        ParameterScope(Tape &tape, const Tensor &parameter)
            : Scope(tape, parameter->storage == noStorage ? tape.m_module : tape.m_trace.storages[parameter->storage].module,
                    parameter->storage == noStorage ? tape.m_layer : tape.m_trace.storages[parameter->storage].layer)
        {}
    };
    void mark(TracePhase phase, int step, int microBatch);
    /// torch.cuda.empty_cache()
    void emptyCache() { m_trace.cacheReleases.push_back(static_cast<std::uint32_t>(m_trace.events.size())); }
    void mark(TracePhase phase); ///< within the same step and micro-batch
    /// Within its scope new tensors are in host memory: they have sizes and no storage on the device.
    class OnHost
    {
    public:
        explicit OnHost(Tape &tape)
            : m_tape(tape)
            , m_before(std::exchange(tape.m_onHost, true))
        {}
        ~OnHost() { m_tape.m_onHost = m_before; }
        OnHost(const OnHost &) = delete;
        OnHost &operator=(const OnHost &) = delete;

    private:
        Tape &m_tape;
        bool m_before;
    };
    /// Within its scope allocations go to this CUDA stream's pool: torch.cuda.stream().
    class Stream
    {
    public:
        Stream(Tape &tape, std::uint8_t stream)
            : m_tape(tape)
            , m_before(tape.m_stream)
        {
            tape.m_stream = stream;
        }
        ~Stream() { m_tape.m_stream = m_before; }
        Stream(const Stream &) = delete;
        Stream &operator=(const Stream &) = delete;

    private:
        Tape &m_tape;
        std::uint8_t m_before;
    };

    const Trace &trace() const { return m_trace; }
    Trace takeTrace() { return std::move(m_trace); }

    // -- used by Tensor and the engine
    void releaseTensor(TensorImpl *impl);
    Node *accumulatorOf(TensorImpl *leaf);
    void dropNode(Node *node);
    Tensor unpack(Node &node, int slot);

private:
    TensorImpl *newImpl();
    Node *newNode();
    void releaseSaved(Node &node);
    void dropFrame(CheckpointFrame *frame);
    void recompute(CheckpointFrame &frame);
    void releaseStorageReference(StorageId storage);
    /// What is empty or on the host is nobody else's.
    std::uint32_t storageReferences(StorageId storage) const { return storage == noStorage ? 1 : m_storageReferences[storage]; }
    void evaluate(Node *node, std::vector<Node *> &ready);
    void fit(Tensor &gradient, const Edge &edge);
    void clearAutocastCache();

    Trace m_trace;
    std::vector<std::uint32_t> m_storageReferences;
    Pool<TensorImpl> m_impls;
    std::vector<TensorImpl *> m_freeImpls;
    Pool<Node> m_nodes;
    std::vector<Node *> m_freeNodes;
    std::vector<Node *> m_dying; // nodes to be released, so that long graphs do not recurse
    bool m_releasing = false;
    std::uint64_t m_sequence = 0;
    std::uint32_t m_epoch = 0;

    bool m_gradEnabled = true;
    bool m_stopped = false;
    CheckpointFrame *m_packing = nullptr;     // forward of a checkpointed block
    CheckpointFrame *m_recomputing = nullptr; // its second forward
    bool m_insideOperator = false;
    bool m_runningAgain = false;
    bool m_inBackward = false;
    FlopsByLayer m_flops;
    bool m_lastWasKept = false;
    std::uint32_t m_recomputedCount = 0;
    Node *m_unattached = nullptr; // where the recomputation stopped
    std::optional<DType> m_autocastDtype;
    int m_autocastDepth = 0;
    struct CachedCast {
        Tensor source, cast;
    };
    std::vector<CachedCast> m_autocastCache;

    std::int64_t m_workspaceBytes = 0;
    StorageId m_workspaces[2] = {noStorage, noStorage};
    const char *m_module = "";
    std::int16_t m_layer = -1;
    TracePhase m_phase = TracePhase::Load;
    std::uint8_t m_stream = 0;
    bool m_onHost = false;
    ModuleHooks *m_moduleHooks = nullptr;
    std::stop_token m_cancel;
};

} // namespace headroom::autograd
