# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans: good ones are completed, bad ones refused with the place, what is wrong and how to mend it."""

import json
import os
import subprocess

import support
from headroom_probe import precision, scope, strict_json
from headroom_probe.errors import BadInput, Unsupported
from headroom_probe.fields import FIELDS
from headroom_probe.plan import read_plan


class Reading(support.TestCase):
    def read(self, document, config=None):
        return read_plan(self.write("plan.headroom.json", document), config)

    def refused(self, document, where: str, what: str) -> BadInput:
        with self.assertRaises(BadInput) as caught:
            self.read(document)
        self.assertIn(where, caught.exception.where)
        self.assertIn(what, str(caught.exception))
        self.assertTrue(caught.exception.hint, "says how to mend it")
        self.assertIn("plan.headroom.json", str(caught.exception))
        return caught.exception

    def test_missing_keys_take_the_format_s_defaults(self):
        plan = self.read({"headroom_plan": 1, "model": {"config": support.TINY_CONFIG}})
        self.assertEqual((plan["batch.sequence_length"], plan["optimizer.kind"], plan["runtime.allocator"]), (4096, "adamw", "caching"))
        self.assertEqual(plan["parallel.stage3_max_live_parameters"], 10**9)

    def test_the_complete_plan_reads_as_itself(self):
        plan = self.read(support.tiny_plan(optimizer__kind="sgd", method__targets=["q_proj"], method__kind="lora"))
        again = self.read(plan.document())
        self.assertEqual(plan.document(), again.document())
        self.assertEqual(
            set(plan.document()["method"]),
            {"kind", "rank", "targets", "dropout", "adapter_dtype", "dora", "modules_to_save", "quantization", "kbit_preparation"},
        )

    def test_whole_numbers_may_have_a_point(self):
        self.assertEqual(self.read(support.tiny_plan(batch__micro_batch=4.0))["batch.micro_batch"], 4)

    def test_bad_values_are_named(self):
        for changes, where, what in (
            ({"batch__micro_batch": 0}, "batch.micro_batch", "at least 1"),
            ({"batch__micro_batch": 1.5}, "batch.micro_batch", "whole number"),
            ({"batch__micro_batch": True}, "batch.micro_batch", "whole number"),
            ({"batch__micro_batch": 10**18}, "batch.micro_batch", "at most"),
            ({"batch__micro_batch": 1e300}, "batch.micro_batch", "at most"),
            ({"batch__sequence_length": None}, "batch.sequence_length", "null"),
            ({"method__dropout": 1.0}, "method.dropout", "at most"),
            ({"method__kind": "loar"}, "method.kind", "not one of its values"),
            ({"method__targets": []}, "method.targets", "no module"),
            ({"method__targets": "q_proj"}, "method.targets", "list of strings"),
            ({"checkpointing": 3}, "checkpointing", "must be a string"),
            ({"compile": "yes"}, "compile", "true or false"),
            ({"selective": {"every": 0}}, "selective.every", "none of its values"),
            ({"selective": {"evry": 2}}, "selective.evry", "unknown key"),
            ({"batch__micro_bach": 1}, "batch.micro_bach", 'did you mean "micro_batch"'),
            ({"bach": {}}, "bach", 'did you mean "batch"'),
            ({"batch.micro_batch": 1}, "batch.micro_batch", "unknown key"),
            ({"batch": []}, "batch", "must be an object"),
            ({"parallel__data": 2}, "parallel", "without an engine"),
            ({"optimizer__in_backward": True, "batch__gradient_accumulation": 2}, "optimizer.in_backward", "inside backward"),
            ({"parallel__engine": "fsdp2", "parallel__zero_stage": 0}, "parallel.zero_stage", "stages 2 and 3"),
        ):
            with self.subTest(changes):
                self.refused(support.tiny_plan(**changes), where, what)

    def test_the_format_s_number(self):
        self.refused({"model": {}}, "headroom_plan", "missing")
        self.refused({"model_type": "llama"}, "headroom_plan", "config.json")
        self.refused({"headroom_plan": 2, "model": {}}, "headroom_plan", "newer")
        self.refused([1], "", "a plan is an object")

    def test_models(self):
        self.refused({"headroom_plan": 1}, "model", "missing")
        self.refused({"headroom_plan": 1, "model": {}}, "model", "names no model")
        self.refused({"headroom_plan": 1, "model": {"config": {}, "config_path": "a"}}, "model", "more than one")
        self.refused({"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-8B"}}, "model.preset", "--config")
        self.refused({"headroom_plan": 1, "model": {"config": {"hidden_size": 3}}}, "model.config.model_type", "missing")
        self.refused(
            {"headroom_plan": 1, "model": {"config": {"model_type": "llama", "num_hidden_layers": 10**9}}}, "num_hidden_layers", "512"
        )
        self.refused({"headroom_plan": 1, "model": {"config": support.TINY_CONFIG | {"vocab_size": 0}}}, "vocab_size", "at least 1")

    def test_a_preset_with_its_config(self):
        config = self.write("config.json", support.TINY_CONFIG)
        plan = self.read({"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-8B"}}, config)
        self.assertEqual(plan.config["vocab_size"], 256)
        self.assertEqual(plan.document()["model"], {"preset": "Qwen/Qwen3-8B"})
        plan = self.read({"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-8B", "config": support.TINY_CONFIG}})
        self.assertEqual((plan.config["vocab_size"], plan.model), (256, {"preset": "Qwen/Qwen3-8B"}))
        self.assertEqual(self.read({"headroom_plan": 1, "model": {"config_path": "config.json"}}).config["vocab_size"], 256)

    def test_hostile_files(self):
        for content, what in (
            (b"", "malformed"),
            (b"{", "malformed"),
            (b"\xff\xfe{", "UTF-8"),
            (b'{"headroom_plan": 1, "headroom_plan": 1}', "occurs twice"),
            (b'{"headroom_plan": NaN}', "NaN is no JSON"),
            (b'{"headroom_plan": -Infinity}', "no JSON"),
            (b'{"headroom_plan": 1e999}', "too large"),
            (b'{"headroom_plan": 1' + b"0" * 5000 + b"}", "too large"),
            (b"[" * 100_000, "nested deeper"),
            (b'{"a":' * 100_000, "nested deeper"),
            (b"[" + b"0," * 300_000 + b"0]", "more than 200000"),
            (b'"' + b"\\" * 99_999, "malformed"),
            (b'{"headroom_plan": 1}\0', "malformed"),
        ):
            with self.subTest(content[:30]):
                with self.assertRaises(BadInput) as caught:
                    read_plan(self.write("plan.headroom.json", content))
                self.assertIn(what, str(caught.exception))

    def test_what_is_no_file_is_never_opened(self):
        os.mkfifo(self.folder / "pipe")
        for name, what in (("pipe", "no regular file"), (".", "folder"), ("nothing", "no such file")):
            with self.assertRaises(BadInput) as caught:
                read_plan(self.folder / name)
            self.assertIn(what, str(caught.exception))
        large = self.folder / "large"
        with large.open("wb") as file:
            file.truncate(strict_json.MOST_BYTES + 1)
        with self.assertRaises(BadInput):
            read_plan(large)

    def test_brackets_in_strings_are_no_nesting(self):
        self.assertEqual(strict_json.parse(json.dumps({"a": "[" * 1000 + '\\"' + "{" * 1000}).encode())["a"][:1], "[")


class Scope(support.TestCase):
    def plan(self, **changes):
        return read_plan(self.write("plan.json", support.tiny_plan(**changes)))

    def test_what_is_not_run_is_refused_with_the_reason(self):
        for dry_run, changes, where in (
            (True, {"parallel__engine": "ddp", "parallel__data": 2}, "parallel.engine"),
            (True, {"compile": True}, "compile"),
            (True, {"precision__recipe": "bf16-master"}, "precision.recipe"),
            (False, {"parallel__engine": "megatron"}, "parallel.engine"),
            (False, {"stack": "litgpt"}, "stack"),
            (False, {"precision__recipe": "fp8"}, "precision.recipe"),
            (False, {"precision__moments": "float32"}, "precision.moments"),
            (False, {"checkpointing": "selective", "selective": {"operators": ["attention"]}}, "selective"),
            (False, {"checkpointing": "selective", "selective": {"every": 2}, "method__kind": "qlora"}, "method.kbit_preparation"),
            (False, {"method__kind": "qlora", "method__quantization": "gptq-int4"}, "method.quantization"),
            (False, {"loss": "chunked", "batch__sequence_length": 33, "batch__micro_batch": 1}, "loss"),
            (False, {"parallel__engine": "deepspeed", "parallel__data": 2}, "precision.recipe"),
            (False, {"parallel__engine": "fsdp2", "parallel__tensor": 2}, "parallel.tensor"),
        ):
            with self.subTest(changes):
                with self.assertRaises(Unsupported) as caught:
                    scope.check(self.plan(**changes), dry_run)
                self.assertEqual(caught.exception.where, where)
                self.assertTrue(caught.exception.hint)

    def test_selective_says_what_is_kept(self):
        for changes in ({"checkpointing": "selective"}, {"selective": {"every": 2}}):
            with self.assertRaises(BadInput) as caught:
                scope.check(self.plan(**changes), dry_run=True)
            self.assertEqual(caught.exception.where, "selective")
        scope.check(self.plan(checkpointing="selective", selective={"every": 2}), dry_run=True)

    def test_what_pytorch_does_anyway_is_no_override(self):
        plan = self.plan(precision__gradients="bfloat16", precision__master="none")
        scope.check(plan, dry_run=True)
        self.assertEqual(precision.resolve(plan).weights, "bfloat16")
        self.assertIsNone(precision.resolve(self.plan(precision__recipe="bf16-autocast", precision__autocast="none")).autocast)

    def test_ranks_are_those_of_the_plan(self):
        two = self.plan(parallel__engine="ddp", parallel__data=2)
        self.assertEqual(scope.ranks_of_run(two, {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}), (1, 2, 1))
        self.assertEqual(scope.ranks_of_run(self.plan(), {}), (0, 1, 0))
        for plan, environment, what in (
            (two, {}, "torchrun --nproc-per-node 2"),
            (two, {"RANK": "0", "WORLD_SIZE": "3"}, "2 ranks"),
            (two, {"RANK": "2", "WORLD_SIZE": "2"}, "2 ranks"),
            (two, {"RANK": "-1", "WORLD_SIZE": "2"}, "not a number"),
            (two, {"RANK": "٣", "WORLD_SIZE": "2"}, "not a number"),
            (self.plan(), {"WORLD_SIZE": "4"}, "without torchrun"),
        ):
            with self.subTest(environment):
                with self.assertRaises(BadInput) as caught:
                    scope.ranks_of_run(plan, environment)
                self.assertIn(what, str(caught.exception))


class Agreement(support.TestCase):
    """The probe's table of fields and Headroom's are two; they must say the same."""

    def test_headroom_reads_the_complete_plan(self):
        cli = os.environ.get("HEADROOM_CLI")
        if not cli:
            self.skipTest("HEADROOM_CLI names no headroom-cli")
        document = read_plan(self.write("plan.json", support.tiny_plan())).document()
        for field in FIELDS:
            with self.subTest(field.path):
                # A value beyond the field's own range: Headroom must refuse it too, and not for its size the limit itself.
                if field.kind in ("integer", "real"):
                    for bound, beyond, what in (
                        (field.high, field.high + 1, "must be at most"),
                        (field.low, field.low - 1, "must be at least"),
                    ):
                        self.assertIn(what, self.answer(cli, document, field, beyond, "what"))
                        self.assertNotIn(what, self.answer(cli, document, field, bound, "what"))
                elif field.kind == "choice":
                    self.assertEqual(self.answer(cli, document, field, "other"), field.path)
                    for value in field.choices:
                        self.assertNotIn("not one of its values", self.answer(cli, document, field, value, "what"))
        self.assertEqual(self.answer(cli, document, FIELDS[0], "a name"), "")

    def answer(self, cli: str, document: dict, field, value, key: str = "where") -> str:
        changed = json.loads(json.dumps(document))
        group, _, name = field.path.rpartition(".")
        (changed[group] if group else changed)[name] = value
        done = subprocess.run([cli, "estimate", "--jsonl", "-"], input=json.dumps(changed), capture_output=True, text=True, check=False)
        return json.loads(done.stdout).get("error", {}).get(key, "")


if __name__ == "__main__":
    support.main()
