# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several ranks: DDP, FSDP 1 and 2, DeepSpeed. Each process is one rank, started by torchrun."""

from __future__ import annotations

import contextlib
import datetime
import os

import torch
import torch.distributed as dist

from ..errors import EnvironmentFault
from ..plan import Plan
from ..training import model as models, one_device, optimizers
from ..training.loop import Loop
from ..training.inventory import bytes_by_component
from ..training.memory import state_tensors

#: Engines that gather parameters in forward.
GATHERING = ("fsdp1", "fsdp2", "deepspeed")
_FROM_HOST = "the model is made whole on the host of each rank, and cut by the engine"
NOTES = {
    "fsdp1": [_FROM_HOST, "saved activations are not told from gathered parameters"],
    "fsdp2": [_FROM_HOST, "saved activations are not told from gathered parameters"],
    "deepspeed": [_FROM_HOST + " (deepspeed.initialize, not zero.Init)", "saved activations are not told from gathered parameters"],
}
_MINUTES = 30


@contextlib.contextmanager
def process_group(device, options):
    """torch.distributed for the time of the run; one rank alone needs no torchrun."""
    if "MASTER_ADDR" not in os.environ:
        if options.ranks > 1:
            raise EnvironmentFault("", "MASTER_ADDR is not set", "start the ranks with torchrun")
        with contextlib.ExitStack() as stack:
            import socket

            free = stack.enter_context(socket.socket())
            free.bind(("127.0.0.1", 0))
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free.getsockname()[1]), RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
    dist.init_process_group(device.backend, timeout=datetime.timedelta(minutes=_MINUTES))
    try:
        yield
    finally:
        dist.destroy_process_group()


def make_loop(engine: str, plan: Plan, device, stack: contextlib.ExitStack) -> Loop:
    wrap = {"ddp": _ddp, "fsdp1": _fsdp1, "fsdp2": _fsdp2, "deepspeed": _deepspeed}[engine]
    start = device.name if engine == "ddp" else "cpu"
    return one_device.make_loop(plan, device.name, stack, start=start, empty=engine == "ddp", wrap=lambda loop: wrap(plan, loop, device))


def _ddp(plan: Plan, loop: Loop, device) -> None:
    from torch.nn.parallel import DistributedDataParallel

    on_gpu = torch.device(device.name).type == "cuda"
    loop.model = DistributedDataParallel(
        loop.module, device_ids=[device.index] if on_gpu else None, gradient_as_bucket_view=plan["parallel.gradient_as_bucket_view"]
    )

    def before_micro(last: bool) -> None:
        loop.model.require_backward_grad_sync = last or not plan["parallel.no_sync"]

    loop.before_micro = before_micro


def _mixed(plan: Plan) -> tuple[torch.dtype | None, torch.dtype | None]:
    """(parameters computed in, gradients reduced in) of FSDP's mixed precision: the recipes with autocast keep fp32 shards, gathered
    and computed in 16 bits; fp32 adapters of a 16-bit base are cast to the base's dtype."""
    dtype = {"bf16-autocast": torch.bfloat16, "fp16-autocast": torch.float16}.get(plan["precision.recipe"])
    if dtype is None and plan["precision.recipe"] == "bf16" and plan["method.kind"] == "lora" and plan["method.adapter_dtype"] == "float32":
        dtype = torch.bfloat16
    reduce = plan["parallel.reduce_dtype"]
    return dtype, models.DTYPES[reduce] if reduce else dtype


def _fsdp1(plan: Plan, loop: Loop, device) -> None:
    import functools

    from torch.distributed.fsdp import CPUOffload, FullyShardedDataParallel, MixedPrecision, ShardingStrategy
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

    param, reduce = _mixed(plan)
    # The engine's mixed precision takes autocast's place.
    loop.autocast = None
    layers = {type(layer) for layer in models.decoder_layers(loop.module)}
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls=layers)
    if plan["method.kind"] == "lora":
        from peft.utils.other import fsdp_auto_wrap_policy

        policy = fsdp_auto_wrap_policy(loop.module)
    partial = plan["parallel.zero_stage"] == 2 or not plan["parallel.reshard_after_forward"]
    loop.model = FullyShardedDataParallel(
        loop.module,
        sharding_strategy=ShardingStrategy.SHARD_GRAD_OP if partial else ShardingStrategy.FULL_SHARD,
        mixed_precision=MixedPrecision(param_dtype=param, reduce_dtype=reduce, buffer_dtype=torch.float32) if param or reduce else None,
        auto_wrap_policy=policy,
        device_id=torch.device(device.name),
        use_orig_params=True,
        cpu_offload=CPUOffload(True) if plan["parallel.offload"] != "none" else None,
    )

    def components() -> dict:
        flats = [handle.flat_param for unit in FullyShardedDataParallel.fsdp_modules(loop.model) if (handle := unit._handle) is not None]
        weights = [*loop.model.parameters(), *loop.model.buffers(), *(flat._local_shard for flat in flats)]
        grads = (
            [p.grad for p in loop.model.parameters()]
            + [getattr(flat, "_saved_grad_shard", None) for flat in flats]
            + [flat.grad for flat in flats]
        )
        return _components(loop, weights, grads, [])

    loop.components = components
    if plan["parallel.no_sync"]:
        _without_sync(loop, plan)


def _without_sync(loop: Loop, plan: Plan) -> None:
    """FSDP1 and DeepSpeed say it as a context around forward and backward of all but the last micro-batch."""
    contexts = contextlib.ExitStack()

    def before_micro(last: bool) -> None:
        contexts.close()
        if not last:
            contexts.enter_context(loop.model.no_sync())

    loop.before_micro = before_micro


def _fsdp2(plan: Plan, loop: Loop, device) -> None:
    try:
        from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
    except ImportError as error:  # public since PyTorch 2.6
        raise EnvironmentFault(
            "", f"torch >= 2.6 is needed for parallel.engine fsdp2, {torch.__version__} is installed", "update PyTorch"
        ) from error
    from torch.distributed.device_mesh import init_device_mesh

    param, reduce = _mixed(plan)
    loop.autocast = None
    by_accelerate = plan["parallel.wrap"] == "accelerate"
    shard = {
        "mesh": init_device_mesh(torch.device(device.name).type, (plan["parallel.data"],)),
        "mp_policy": MixedPrecisionPolicy(param_dtype=param, reduce_dtype=reduce, output_dtype=param if by_accelerate else None),
        "reshard_after_forward": plan["parallel.reshard_after_forward"] and plan["parallel.zero_stage"] != 2,
    }
    if plan["parallel.offload"] != "none":
        shard["offload_policy"] = CPUOffloadPolicy()
    of_root = {key: value for key, value in shard.items() if key != "reshard_after_forward"}
    for layer in models.decoder_layers(loop.module):
        layer.to(device.name)
        fully_shard(layer, **shard)
    loop.module.to(device.name)
    if by_accelerate:
        inner = models.inner_model(loop.module)
        embedding, head, norm = inner.get_input_embeddings(), inner.get_output_embeddings(), _final_norm(inner)
        tied = embedding.weight is head.weight
        if not tied:
            fully_shard(embedding, **shard)
        fully_shard([norm, embedding, head] if tied else [norm, head], **{**shard, "reshard_after_forward": False})
    fully_shard(loop.module, **of_root)
    if plan["parallel.no_sync"]:
        loop.before_micro = loop.module.set_requires_gradient_sync


def _final_norm(inner):
    body = getattr(inner, inner.base_model_prefix)
    for name in ("norm", "final_layernorm", "ln_f", "final_layer_norm"):
        if hasattr(body, name):
            return getattr(body, name)
    raise EnvironmentFault("", f"the last norm of {type(inner).__name__} was not found", 'set parallel.wrap to "layers"')


def _deepspeed(plan: Plan, loop: Loop, device) -> None:
    import deepspeed

    loop.autocast = None
    trainable = [p for p in loop.module.parameters() if p.requires_grad]
    # As the Hugging Face Trainer groups them: matrices, and vectors, which have no weight decay.
    matrices, vectors = [p for p in trainable if p.ndim > 1], [p for p in trainable if p.ndim == 1]
    groups = [{"params": matrices, "weight_decay": 0.01}] + ([{"params": vectors, "weight_decay": 0.0}] if vectors else [])
    engine, optimizer, _, _ = deepspeed.initialize(
        model=loop.module,
        optimizer=optimizers.make(plan, groups),
        config=deepspeed_config(plan, models.inner_model(loop.module).config.hidden_size),
        dist_init_required=False,
    )
    loop.model, loop.optimizers, loop.divides_loss = engine, [getattr(optimizer, "optimizer", optimizer)], False

    def backward(loss, last: bool) -> None:
        engine.backward(loss)
        if not last:
            engine.step()  # counts the micro-batch

    loop.backward, loop.optimizer_step = backward, engine.step
    loop.components = lambda: _deepspeed_components(plan, loop, optimizer)


def deepspeed_config(plan: Plan, hidden: int) -> dict:
    """DeepSpeed's configuration that the plan means."""
    stage = plan["parallel.zero_stage"] or 0
    zero: dict = {
        "stage": stage,
        "contiguous_gradients": True,
        "reduce_bucket_size": plan["parallel.reduce_bucket_elements"],
        "allgather_bucket_size": plan["parallel.allgather_bucket_elements"],
    }
    if stage == 3:
        zero |= {
            "stage3_prefetch_bucket_size": plan["parallel.stage3_prefetch_bucket_size"],
            "stage3_param_persistence_threshold": plan["parallel.stage3_param_persistence_threshold"],
            "stage3_max_live_parameters": plan["parallel.stage3_max_live_parameters"],
            "stage3_max_reuse_distance": plan["parallel.stage3_max_reuse_distance"],
        }
    if plan["parallel.bucket_sizes"] == "auto":  # transformers/integrations/deepspeed.py
        zero["reduce_bucket_size"] = hidden * hidden
        if stage == 3:
            zero |= {"stage3_prefetch_bucket_size": int(0.9 * hidden * hidden), "stage3_param_persistence_threshold": 10 * hidden}
    if plan["parallel.overlap_communication"] is not None:
        zero["overlap_comm"] = plan["parallel.overlap_communication"]
    if plan["parallel.offload"] != "none":
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if plan["parallel.offload"] == "optimizer-and-parameters":
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
    half = "bf16" if plan["precision.recipe"] == "bf16-master" else "fp16"
    config: dict = {
        "train_micro_batch_size_per_gpu": plan["batch.micro_batch"],
        "gradient_accumulation_steps": plan["batch.gradient_accumulation"],
        "gradient_clipping": 1.0 if plan["loop.clip_grad_norm"] else 0.0,
        half: {"enabled": True},
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "zero_optimization": zero,
    }
    if plan["parallel.reduce_dtype"]:
        config["communication_data_type"] = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}[plan["parallel.reduce_dtype"]]
    return config


def _deepspeed_components(plan: Plan, loop: Loop, optimizer) -> dict:
    """DeepSpeed 0.19's own buffers by their names there; what is not found counts with what is."""
    parameters, weights, grads, masters = list(loop.module.parameters()), [], [], []
    weights += [*parameters, *loop.module.buffers(), *(getattr(p, "ds_tensor", None) for p in parameters)]
    for name in ("bit16_groups_flat", "bf16_groups_flat", "fp16_groups_flat", "fp16_partitioned_groups_flat"):
        weights += list(getattr(optimizer, name, None) or [])
    for name in ("single_partition_of_fp32_groups", "fp32_partitioned_groups_flat", "fp32_groups_flat_partition", "fp32_groups_flat"):
        masters += list(getattr(optimizer, name, None) or [])
    grads += [p.grad for p in parameters] + [getattr(p, "grad_accum", None) for p in parameters]
    grads += [getattr(optimizer, "grad_partitions_flat_buffer", None), *(getattr(optimizer, "fp32_groups_gradients_flat", None) or [])]
    for part in (getattr(optimizer, "averaged_gradients", None) or {}).values():
        grads += list(part or [])
    return _components(loop, weights, grads, masters)


def _components(loop: Loop, weights: list, grads: list, masters: list) -> dict:
    return bytes_by_component(weights, grads, masters + state_tensors(loop.optimizers), loop.device_type)
