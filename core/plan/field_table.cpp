// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The table of fields. Ranges are wide on purpose: they keep out what cannot be meant, not what does not fit.
#include "core/plan/applicability.h"
#include "core/plan/choices.h"
#include "core/plan/field_access.h"
#include "core/plan/fields.h"

#include <algorithm>
#include <iterator>

namespace headroom {

namespace {

using namespace access;
using namespace applicability;

constexpr std::uint8_t statics = MovesWeights | MovesGradients | MovesOptimizer;
constexpr std::uint8_t running = MovesActivations | MovesTemporary;
constexpr std::uint8_t everything = statics | running;

/// A Field built step by step, so that each line of the table says only what matters.
struct Row : Field {
    constexpr Row(std::string_view path_, FieldGroup group_, FieldType type_, const Access &access_, std::string_view label_,
                  std::string_view tip_, std::uint8_t moves_)
        : Field{path_, label_, tip_, {}, {}, {}, access_.get, access_.set, nullptr, 0, 0, group_, type_, moves_, false, false, false}
    {}
    constexpr Row from(double low, double high, std::string_view unit_ = {}) const
    {
        Row row = *this;
        row.minimum = low;
        row.maximum = high;
        row.unit = unit_;
        return row;
    }
    constexpr Row in(std::span<const FieldChoice> choices_) const
    {
        Row row = *this;
        row.choices = choices_;
        return row;
    }
    constexpr Row powers() const
    {
        Row row = *this;
        row.logarithmic = true;
        return row;
    }
    constexpr Row orNull(std::string_view label_) const
    {
        Row row = *this;
        row.nullable = true;
        row.nullLabel = label_;
        return row;
    }
    constexpr Row folded() const
    {
        Row row = *this;
        row.advanced = true;
        return row;
    }
    constexpr Row unless(std::string (*reason)(const TrainingPlan &)) const
    {
        Row row = *this;
        row.inapplicable = reason;
        return row;
    }
};

using P = TrainingPlan;
using enum FieldType;
using G = FieldGroup;
using Texts = std::vector<std::string>;

constexpr double mostElements = 1e12;

constexpr Field table[]{
    Row("name", G::Plan, Text, plain<std::string, &P::name>, HEADROOM_TR("Name"),
        HEADROOM_TR("What the plan is called in windows and reports."), MovesNothing),

    // Method
    Row("method.kind", G::Method, Choice, enumerated<choices::method, &P::method, &Method::kind>, HEADROOM_TR("Method"),
        HEADROOM_TR("Decides what is trained. With adapters, gradients and optimizer state exist for the adapters alone."), everything)
        .in(choices::method),
    Row("method.rank", G::Method, Integer, plain<std::int64_t, &P::method, &Method::rank>, HEADROOM_TR("LoRA rank"),
        HEADROOM_TR("Width of each adapter: its parameters, gradients, state and the tensors saved in it grow in proportion."), everything)
        .from(1, 65536)
        .powers()
        .unless(noAdapters),
    Row("method.targets", G::Method, TextList, targets, HEADROOM_TR("Adapted layers"),
        HEADROOM_TR(
            "Modules that get an adapter, by name; all-linear is every linear layer but the output head. Each one saves its input again."),
        everything)
        .unless(noAdapters),
    Row("method.dropout", G::Method, Real, plain<double, &P::method, &Method::dropout>, HEADROOM_TR("LoRA dropout"),
        HEADROOM_TR("Above 0, every adapted layer saves a dropped copy of its input and the mask."), running)
        .from(0, 0.99)
        .unless(noAdapters),
    Row("method.adapter_dtype", G::Method, Choice, dtype<&P::method, &Method::adapterDtype>, HEADROOM_TR("Adapter dtype"),
        HEADROOM_TR(
            "Dtype of the adapters' parameters, gradients and state. fp32 adapters without autocast also save an fp32 copy of each input."),
        everything)
        .in(choices::dtypes)
        .unless(noAdapters),
    Row("method.dora", G::Method, Boolean, plain<bool, &P::method, &Method::dora>, HEADROOM_TR("DoRA"),
        HEADROOM_TR("Trains a magnitude for each output as well; the norm of the merged weight is computed in every forward pass."),
        everything)
        .folded()
        .unless(noAdapters),
    Row("method.modules_to_save", G::Method, TextList, plain<Texts, &P::method, &Method::modulesToSave>,
        HEADROOM_TR("Modules trained whole"),
        HEADROOM_TR("Modules of which a trainable copy is kept beside the frozen one, such as embed_tokens and lm_head."), everything)
        .folded()
        .unless(noAdapters),
    Row("method.quantization", G::Method, Choice, enumerated<choices::quantization, &P::method, &Method::quantization>,
        HEADROOM_TR("Base stored as"), HEADROOM_TR("Storage of the frozen base; each layer is unpacked when it is used."),
        MovesWeights | MovesTemporary)
        .in(choices::quantization)
        .unless(notQuantised),
    Row("method.kbit_preparation", G::Method, Boolean, plain<bool, &P::method, &Method::kbitPreparation>,
        HEADROOM_TR("Prepare for k-bit training"),
        HEADROOM_TR("PEFT's preparation: norms, embedding and head in fp32, and checkpointing with inputs that require a gradient."),
        everything)
        .folded()
        .unless(notQuantised),

    // Precision
    Row("precision.recipe", G::Precision, Choice, enumerated<choices::recipe, &P::precision, &Precision::recipe>, HEADROOM_TR("Precision"),
        HEADROOM_TR("Dtypes of weights, gradients, master weights and moments, and whether autocast runs: from 8 to 18 bytes a parameter "
                    "with AdamW."),
        everything)
        .in(choices::recipe),
    Row("precision.weights", G::Precision, Choice, dtypeOverride<&P::precision, &Precision::weights>, HEADROOM_TR("Weights"),
        HEADROOM_TR("Dtype in which the weights are stored; with adapters, the frozen base's."), everything)
        .in(choices::dtypes)
        .orNull(HEADROOM_TR("from recipe"))
        .folded(),
    Row("precision.gradients", G::Precision, Choice, dtypeOverride<&P::precision, &Precision::gradients>, HEADROOM_TR("Gradients"),
        HEADROOM_TR("Dtype in which gradients are kept until the step."), MovesGradients)
        .in(choices::dtypes)
        .orNull(HEADROOM_TR("from recipe"))
        .folded(),
    Row("precision.master", G::Precision, Choice, dtypeOverride<&P::precision, &Precision::master>, HEADROOM_TR("Master weights"),
        HEADROOM_TR("A second copy of the trained weights that the optimizer updates."), MovesOptimizer)
        .in(choices::dtypesOrNone)
        .orNull(HEADROOM_TR("from recipe"))
        .folded(),
    Row("precision.moments", G::Precision, Choice, dtypeOverride<&P::precision, &Precision::moments>, HEADROOM_TR("Moments"),
        HEADROOM_TR("Dtype of the optimizer's moments."), MovesOptimizer)
        .in(choices::dtypes)
        .orNull(HEADROOM_TR("from recipe"))
        .folded()
        .unless(noMoments),
    Row("precision.autocast", G::Precision, Choice, dtypeOverride<&P::precision, &Precision::autocast>, HEADROOM_TR("Autocast"),
        HEADROOM_TR(
            "Runs matrix products in this dtype inside forward. Weights of another dtype are copied, and the copies live until backward."),
        running)
        .in(choices::dtypesOrNone)
        .orNull(HEADROOM_TR("from recipe"))
        .folded(),

    // Batch
    Row("batch.micro_batch", G::Batch, Integer, plain<std::int64_t, &P::batch, &Batch::microBatch>, HEADROOM_TR("Micro-batch"),
        HEADROOM_TR("Sequences that go through the model at once on each GPU: activations grow in proportion."), running)
        .from(1, 65536, HEADROOM_TR("sequences"))
        .powers(),
    Row("batch.sequence_length", G::Batch, Integer, plain<std::int64_t, &P::batch, &Batch::sequenceLength>, HEADROOM_TR("Sequence length"),
        HEADROOM_TR("Tokens in each sequence, without padding: activations grow in proportion, eager attention's scores with the square."),
        running)
        .from(1, 16'777'216, HEADROOM_TR("tokens"))
        .powers(),
    Row("batch.gradient_accumulation", G::Batch, Integer, plain<std::int64_t, &P::batch, &Batch::gradientAccumulation>,
        HEADROOM_TR("Gradient accumulation"),
        HEADROOM_TR("Micro-batches before each optimizer step. From the second one on, gradients are there while the forward pass runs."),
        MovesGradients | running)
        .from(1, 65536, HEADROOM_TR("micro-batches"))
        .powers(),

    // Optimizer and loop
    Row("optimizer.kind", G::Optimizer, Choice, enumerated<choices::optimizer, &P::optimizer, &OptimizerChoice::kind>,
        HEADROOM_TR("Optimizer"),
        HEADROOM_TR("Decides what is kept for each trained parameter from step to step: two moments, one, or none."),
        MovesOptimizer | MovesTemporary)
        .in(choices::optimizer),
    Row("optimizer.implementation", G::Optimizer, Choice,
        enumerated<choices::implementation, &P::optimizer, &OptimizerChoice::implementation>, HEADROOM_TR("Implementation"),
        HEADROOM_TR("How the step runs: what it needs for itself while it updates the parameters."), MovesTemporary)
        .in(choices::implementation)
        .unless(notTorchOptimizer),
    Row("optimizer.in_backward", G::Optimizer, Boolean, plain<bool, &P::optimizer, &OptimizerChoice::inBackward>,
        HEADROOM_TR("Step inside backward"),
        HEADROOM_TR("Each parameter is updated as soon as its gradient is there, and the gradient freed: hardly any gradients at once."),
        MovesGradients | MovesTemporary)
        .folded(),
    Row("loop.outputs_held", G::Optimizer, Boolean, plain<bool, &P::loop, &Loop::outputsHeld>, HEADROOM_TR("Outputs held"),
        HEADROOM_TR("The loop keeps the model's outputs, logits included, until the next forward pass; the Hugging Face Trainer does not."),
        running)
        .folded(),
    Row("loop.zero_grad", G::Optimizer, Choice, enumerated<choices::zeroGrad, &P::loop, &Loop::zeroGrad>,
        HEADROOM_TR("Gradients after the step"), HEADROOM_TR("Zeroed gradients stay allocated through the next forward pass and loss."),
        MovesGradients)
        .in(choices::zeroGrad)
        .folded()
        .unless(steppedInBackward),
    Row("loop.clip_grad_norm", G::Optimizer, Boolean, plain<bool, &P::loop, &Loop::clipGradNorm>, HEADROOM_TR("Clip the gradient norm"),
        HEADROOM_TR("The norm of all gradients is computed before the step, which takes temporary memory."), MovesTemporary)
        .folded()
        .unless(steppedInBackward),

    // What is saved for backward
    Row("checkpointing", G::Saving, Choice, enumerated<choices::checkpointing, &P::checkpointing>, HEADROOM_TR("Checkpointing"),
        HEADROOM_TR("Keeps less for backward and computes it again: about a third more compute for most of the activations."), running)
        .in(choices::checkpointing),
    Row("selective.every", G::Saving, Integer, selectiveEvery, HEADROOM_TR("Checkpoint every"),
        HEADROOM_TR("Checkpoints the first layer and then every n-th: those between keep all that backward needs."), running)
        .from(1, choices::mostLayersApart, "layers")
        .orNull(HEADROOM_TR("not by layers"))
        .unless(nothingSelected),
    Row("selective.operators", G::Saving, TextList, selectiveOperators, HEADROOM_TR("Kept operators"),
        HEADROOM_TR(
            "Operators whose results are kept, by name: attention, linear, mlp, experts, bmm, softmax, activation. The rest of each "
            "layer is computed again."),
        running)
        .unless(nothingSelected),
    Row("selective.policy", G::Saving, Choice, selectivePolicy, HEADROOM_TR("Selection of"),
        HEADROOM_TR(
            "What torchtitan and Megatron-LM call selective: the results of attention and every second product kept, or the core of "
            "attention alone computed again."),
        running)
        .in(std::span(choices::selectivePolicy).subspan(1))
        .orNull(HEADROOM_TR("none of these"))
        .unless(nothingSelected),
    Row("reentrant_checkpointing", G::Saving, Boolean, plain<bool, &P::reentrantCheckpointing>, HEADROOM_TR("Reentrant checkpointing"),
        HEADROOM_TR("The older kind: it runs a backward pass inside backward. With adapters the input embeddings require a gradient."),
        running)
        .folded()
        .unless(nothingCheckpointed),
    Row("attention", G::Saving, Choice, enumerated<choices::attention, &P::attention>, HEADROOM_TR("Attention"),
        HEADROOM_TR("Fused kernels keep no matrix of scores; eager attention keeps it, as large as the sequence length squared."), running)
        .in(choices::attention),
    Row("loss", G::Saving, Choice, enumerated<choices::loss, &P::loss>, HEADROOM_TR("Loss"),
        HEADROOM_TR("The logits are tokens x vocabulary, in fp32 while the loss is computed: often the highest point of a step."), running)
        .in(choices::loss),
    Row("kernels", G::Saving, Choice, enumerated<choices::kernels, &P::kernels>, HEADROOM_TR("Kernels"),
        HEADROOM_TR("Whose norms, rotary embedding and activation run: fused ones keep fewer tensors for backward."), running)
        .in(choices::kernels)
        .folded(),
    Row("compile", G::Saving, Boolean, plain<bool, &P::compile>, HEADROOM_TR("torch.compile"),
        HEADROOM_TR("Fuses operators, so that fewer of their outputs are kept."), running)
        .folded(),

    // Several GPUs
    Row("parallel.engine", G::Parallelism, Choice, enumerated<choices::engine, &P::parallel, &Parallel::engine>, HEADROOM_TR("Engine"),
        HEADROOM_TR("Who spreads the run over several GPUs, with its buckets and gathered weights."), everything)
        .in(choices::engine),
    Row("parallel.data", G::Parallelism, Integer, plain<std::int64_t, &P::parallel, &Parallel::data>, HEADROOM_TR("GPUs, data parallel"),
        HEADROOM_TR("GPUs that each take their own micro-batches; what the engine shards is divided among them."), everything)
        .from(1, 1'048'576, HEADROOM_TR("GPUs"))
        .powers()
        .unless(oneGpu),
    Row("parallel.zero_stage", G::Parallelism, Integer, optionally<std::int64_t, int, &P::parallel, &Parallel::zeroStage>,
        HEADROOM_TR("ZeRO stage"),
        HEADROOM_TR("What is divided among the GPUs: 1 optimizer state, 2 gradients too, 3 weights too, gathered layer by layer."),
        statics | MovesTemporary)
        .from(0, 3)
        .orNull(HEADROOM_TR("engine's default"))
        .unless(doesNotShard),
    Row("parallel.tensor", G::Parallelism, Integer, plain<std::int64_t, &P::parallel, &Parallel::tensor>, HEADROOM_TR("Tensor parallel"),
        HEADROOM_TR("GPUs that share each layer's matrices and part of its activations."), everything)
        .from(1, 65536, HEADROOM_TR("GPUs"))
        .powers()
        .folded()
        .unless(noModelParallelism),
    Row("parallel.sequence_parallel", G::Parallelism, Boolean, plain<bool, &P::parallel, &Parallel::sequenceParallel>,
        HEADROOM_TR("Sequence parallel"),
        HEADROOM_TR("Divides what tensor parallelism leaves whole: norms, dropouts and the inputs of layers."), running)
        .folded()
        .unless(noTensorParallelism),
    Row("parallel.pipeline", G::Parallelism, Integer, plain<std::int64_t, &P::parallel, &Parallel::pipeline>,
        HEADROOM_TR("Pipeline stages"),
        HEADROOM_TR("GPUs that each hold some of the layers; early stages keep activations of several micro-batches."), everything)
        .from(1, 10000, HEADROOM_TR("stages"))
        .powers()
        .folded()
        .unless(noModelParallelism),
    Row("parallel.virtual_pipeline", G::Parallelism, Integer, plain<std::int64_t, &P::parallel, &Parallel::virtualPipeline>,
        HEADROOM_TR("Chunks for each stage"),
        HEADROOM_TR("Interleaved pipeline: each stage holds this many pieces of the model, and keeps more activations."), running)
        .from(1, 10000, HEADROOM_TR("chunks"))
        .powers()
        .folded()
        .unless(noPipeline),
    Row("parallel.context", G::Parallelism, Integer, plain<std::int64_t, &P::parallel, &Parallel::context>, HEADROOM_TR("Context parallel"),
        HEADROOM_TR("GPUs that share each sequence: activations are divided among them."), running)
        .from(1, 65536, HEADROOM_TR("GPUs"))
        .powers()
        .folded()
        .unless(noModelParallelism),
    Row("parallel.expert", G::Parallelism, Integer, plain<std::int64_t, &P::parallel, &Parallel::expert>, HEADROOM_TR("Expert parallel"),
        HEADROOM_TR("GPUs that share the routed experts of each layer."), everything)
        .from(1, 65536, HEADROOM_TR("GPUs"))
        .powers()
        .folded()
        .unless(noModelParallelism),
    Row("parallel.offload", G::Parallelism, Choice, enumerated<choices::offload, &P::parallel, &Parallel::offload>, HEADROOM_TR("Offload"),
        HEADROOM_TR("Moves optimizer state, or weights too, to the host's memory."), statics | MovesTemporary)
        .in(choices::offload)
        .folded()
        .unless(doesNotShard),
    Row("parallel.reduce_bucket_elements", G::Parallelism, Integer, plain<std::int64_t, &P::parallel, &Parallel::reduceBucketElements>,
        HEADROOM_TR("Reduce bucket"), HEADROOM_TR("Elements of the buffer in which gradients are collected before they are reduced."),
        MovesTemporary)
        .from(1, mostElements, HEADROOM_TR("elements"))
        .powers()
        .folded()
        .unless(noExplicitBucket),
    Row("parallel.allgather_bucket_elements", G::Parallelism, Integer,
        plain<std::int64_t, &P::parallel, &Parallel::allgatherBucketElements>, HEADROOM_TR("All-gather bucket"),
        HEADROOM_TR("Elements gathered at once after the step of stages 1 and 2."), MovesTemporary)
        .from(1, mostElements, HEADROOM_TR("elements"))
        .powers()
        .folded()
        .unless(noGatherBucket),
    Row("parallel.overlap_communication", G::Parallelism, Boolean, optionally<bool, bool, &P::parallel, &Parallel::overlapCommunication>,
        HEADROOM_TR("Overlap communication"), HEADROOM_TR("Reduces one bucket while backward fills another: a second bucket exists."),
        MovesTemporary)
        .orNull(HEADROOM_TR("engine's default"))
        .folded()
        .unless(noOverlap),
    Row("parallel.bucket_sizes", G::Parallelism, Choice, enumerated<choices::bucketSizes, &P::parallel, &Parallel::bucketSizes>,
        HEADROOM_TR("Bucket sizes"), HEADROOM_TR("Whether DeepSpeed's bucket sizes are those given here or follow from the hidden size."),
        MovesTemporary)
        .in(choices::bucketSizes)
        .folded()
        .unless(notDeepSpeed),
    Row("parallel.stage3_prefetch_bucket_size", G::Parallelism, Integer,
        plain<std::int64_t, &P::parallel, &Parallel::stage3PrefetchBucketSize>, HEADROOM_TR("Stage 3 prefetch"),
        HEADROOM_TR("Elements of weights that are gathered ahead of their use."), MovesTemporary)
        .from(0, mostElements, HEADROOM_TR("elements"))
        .powers()
        .folded()
        .unless(notStage3OrAuto),
    Row("parallel.stage3_param_persistence_threshold", G::Parallelism, Integer,
        plain<std::int64_t, &P::parallel, &Parallel::stage3ParamPersistenceThreshold>, HEADROOM_TR("Stage 3 persistence"),
        HEADROOM_TR("Parameters with fewer elements than this stay whole on every GPU."), MovesWeights)
        .from(0, mostElements, HEADROOM_TR("elements"))
        .powers()
        .folded()
        .unless(notStage3OrAuto),
    Row("parallel.stage3_max_live_parameters", G::Parallelism, Integer,
        plain<std::int64_t, &P::parallel, &Parallel::stage3MaxLiveParameters>, HEADROOM_TR("Stage 3 live parameters"),
        HEADROOM_TR("Gathered elements that may exist at once before weights are released."), MovesTemporary)
        .from(0, mostElements, HEADROOM_TR("elements"))
        .powers()
        .folded()
        .unless(notStage3),
    Row("parallel.stage3_max_reuse_distance", G::Parallelism, Integer, plain<std::int64_t, &P::parallel, &Parallel::stage3MaxReuseDistance>,
        HEADROOM_TR("Stage 3 reuse distance"), HEADROOM_TR("Weights that are used again within this many elements stay gathered."),
        MovesTemporary)
        .from(0, mostElements, HEADROOM_TR("elements"))
        .powers()
        .folded()
        .unless(notStage3),
    Row("parallel.wrap", G::Parallelism, Choice, enumerated<choices::wrap, &P::parallel, &Parallel::wrap>, HEADROOM_TR("Wrapping"),
        HEADROOM_TR("Which modules FSDP gathers at once."), MovesTemporary)
        .in(choices::wrap)
        .folded()
        .unless(notFsdp),
    Row("parallel.no_sync", G::Parallelism, Boolean, plain<bool, &P::parallel, &Parallel::noSync>,
        HEADROOM_TR("Reduce the last micro-batch only"),
        HEADROOM_TR("Gradients of earlier micro-batches stay whole on every GPU until the last one."), MovesGradients)
        .folded()
        .unless(nothingAccumulated),
    Row("parallel.reduce_dtype", G::Parallelism, Choice, optionalDtype<&P::parallel, &Parallel::reduceDtype>, HEADROOM_TR("Reduce in"),
        HEADROOM_TR("Dtype in which gradients are sent and added up."), MovesGradients | MovesTemporary)
        .in(choices::dtypes)
        .orNull(HEADROOM_TR("engine's default"))
        .folded()
        .unless(oneGpu),
    Row("parallel.gradient_as_bucket_view", G::Parallelism, Boolean, plain<bool, &P::parallel, &Parallel::gradientAsBucketView>,
        HEADROOM_TR("Gradients inside the buckets"), HEADROOM_TR("DDP's buckets hold the gradients themselves instead of copies of them."),
        MovesTemporary)
        .folded()
        .unless(notDdp),
    Row("parallel.reshard_after_forward", G::Parallelism, Boolean, plain<bool, &P::parallel, &Parallel::reshardAfterForward>,
        HEADROOM_TR("Release weights after forward"),
        HEADROOM_TR("Gathered weights are released after each layer's forward and gathered again in backward."), MovesTemporary)
        .folded()
        .unless(notFsdp2),

    // Software
    Row("stack", G::Runtime, Choice, enumerated<choices::stack, &P::stack>, HEADROOM_TR("Model code"),
        HEADROOM_TR("Whose layers run: what each keeps for backward differs."), running)
        .in(choices::stack)
        .folded(),
    Row("runtime.torch", G::Runtime, Text, plain<std::string, &P::runtime, &Runtime::torch>, HEADROOM_TR("PyTorch"),
        HEADROOM_TR("Version of PyTorch; one that is not known takes the nearest."), running)
        .folded(),
    Row("runtime.transformers", G::Runtime, Text, plain<std::string, &P::runtime, &Runtime::transformers>, "transformers",
        HEADROOM_TR("Version of transformers; one that is not known takes the nearest."), running)
        .folded(),
    Row("runtime.expandable_segments", G::Runtime, Boolean, plain<bool, &P::runtime, &Runtime::expandableSegments>,
        HEADROOM_TR("Expandable segments"),
        HEADROOM_TR("PYTORCH_CUDA_ALLOC_CONF's expandable_segments: far less of what is reserved lies idle."), MovesNothing)
        .folded(),
    Row("runtime.max_split_size_mb", G::Runtime, Integer, optionally<std::int64_t, std::int64_t, &P::runtime, &Runtime::maxSplitSizeMb>,
        HEADROOM_TR("Largest block split"), HEADROOM_TR("PYTORCH_CUDA_ALLOC_CONF's max_split_size_mb: larger blocks are never split."),
        MovesNothing)
        .from(21, 16'777'216, "MiB")
        .powers()
        .orNull(HEADROOM_TR("no limit"))
        .folded()
        .unless(expandable),
    Row("runtime.rank", G::Runtime, Text, plain<std::string, &P::runtime, &Runtime::rank>, HEADROOM_TR("Rank shown"),
        HEADROOM_TR("Whose figures are given: worst, first, last, or a rank's number."), MovesNothing)
        .folded()
        .unless(oneGpu),
    Row("runtime.allocator", G::Runtime, Choice, enumerated<choices::allocator, &P::runtime, &Runtime::allocator>,
        HEADROOM_TR("Allocated counts"), HEADROOM_TR("Whether allocated is what torch.cuda reports or the sum of rounded storages."),
        everything)
        .in(choices::allocator)
        .folded(),
    Row("runtime.cublas_workspace_bytes", G::Runtime, Integer,
        optionally<std::int64_t, std::int64_t, &P::runtime, &Runtime::cublasWorkspaceBytes>, HEADROOM_TR("cuBLAS workspace"),
        HEADROOM_TR("Bytes that each cuBLAS handle takes on first use; 0 leaves workspaces out."), MovesTemporary)
        .from(0, 1'099'511'627'776.0, HEADROOM_TR("bytes"))
        .orNull(HEADROOM_TR("as the GPU takes"))
        .folded(),

    Row("gpus", G::Gpus, TextList, plain<Texts, &P::gpus>, "GPUs",
        HEADROOM_TR("Cards that the plan is held against, by their id in the catalogue."), MovesNothing),
};

} // namespace

std::span<const Field> fields() { return table; }

const Field *findField(std::string_view path)
{
    const auto found = std::find_if(std::begin(table), std::end(table), [&](const Field &field) { return field.path == path; });
    return found == std::end(table) ? nullptr : &*found;
}

} // namespace headroom
