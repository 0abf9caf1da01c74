# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory snapshots: their timeline, and pickles that are attacks."""

import io
import os
import pathlib
import pickle
import struct

import support
from headroom_probe import cli, plain_pickle, snapshot
from headroom_probe.errors import BadInput

MIB = 1 << 20


def event(action, address, size, time):
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": time, "frames": []}


def example() -> dict:
    """A 2 MiB segment and a 20 MiB one; a large block keeps what its allocation left over, and one tensor outlives the trace."""
    return {
        "segments": [
            {
                "device": 0,
                "address": 0x1000,
                "total_size": 2 * MIB,
                "stream": 0,
                "segment_type": "small",
                "is_expandable": False,
                "blocks": [
                    {"address": 0x1000, "size": 1024, "requested_size": 1000, "state": "active_allocated"},
                    {"address": 0x1400, "size": 2 * MIB - 1024, "state": "inactive"},
                ],
            },
            {
                "device": 0,
                "address": 0x900000,
                "total_size": 20 * MIB,
                "stream": 7,
                "segment_type": "large",
                "blocks": [{"size": 20 * MIB, "requested_size": 20 * MIB - 600_000, "state": "active_allocated"}],
            },
            {"device": 1, "address": 0, "total_size": 512, "blocks": []},
        ],
        "device_traces": [
            [
                event("segment_alloc", 0x1000, 2 * MIB, 100),
                event("alloc", 0x1000, 1000, 110),
                event("alloc", 0x1400, 4000, 120),
                event("segment_alloc", 0x900000, 20 * MIB, 130),
                event("alloc", 0x900000, 20 * MIB - 600_000, 140),
                event("free_requested", 0x1400, 4000, 150),
                event("free_completed", 0x1400, 4000, 150),
                event("snapshot", 0, 0, 160),
            ],
            [],
        ],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "garbage_collection_threshold": 0.5},
    }


class Timelines(support.TestCase):
    def convert(self, document, *more, protocol=4):
        source = self.write("s.pickle", pickle.dumps(document, protocol=protocol))
        return snapshot.timeline_of_file(source, *more)

    def test_allocated_and_reserved_after_each_event(self):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            made = self.convert(example(), protocol=protocol)
            self.assertEqual(made["time_us"], [0, 10, 20, 30, 40, 50, 50])
            self.assertEqual(made["reserved"], [2 * MIB] * 3 + [22 * MIB] * 4)
            # 1000 bytes take a block of 1024; the large block is counted with what was not split off.
            self.assertEqual(
                made["allocated"], [0, 1024, 1024 + 4096, 1024 + 4096, 1024 + 4096 + 20 * MIB, 1024 + 20 * MIB, 1024 + 20 * MIB]
            )
            self.assertEqual(made["peak"], {"allocated": 5120 + 20 * MIB, "reserved": 22 * MIB})
            self.assertEqual((made["at_start"], made["at_end"]["allocated"]), ({"allocated": 0, "reserved": 0}, 1024 + 20 * MIB))
            self.assertEqual([s["pool"] for s in made["segments"]], ["small", "large"])

    def test_what_lived_before_the_trace_is_there_from_its_start(self):
        document = example()
        del document["device_traces"][0][:5]
        made = self.convert(document)
        self.assertEqual((made["at_start"]["reserved"], made["allocated"][0]), (22 * MIB, 1024 + 20 * MIB))
        self.assertEqual(made["at_start"]["allocated"], 1024 + 4096 + 20 * MIB)

    def test_the_busiest_gpu_unless_another_is_asked_for(self):
        document = example()
        document["device_traces"].reverse()
        self.assertEqual(self.convert(document)["device"], 1)
        self.assertEqual(self.convert(document, 0)["events"], 0)
        with self.assertRaises(BadInput):
            self.convert(document, 2)

    def test_long_traces_are_thinned_and_keep_their_peak(self):
        trace = []
        for index in range(snapshot.MOST_POINTS):
            trace += [
                event("alloc", index, 512 * (1000 if index == 777 else 1), index),
                event("free_requested", index, 512 * (1000 if index == 777 else 1), index),
            ]
        made = snapshot.timeline_of({"segments": [], "device_traces": [trace]})
        self.assertLessEqual(len(made["allocated"]), snapshot.MOST_POINTS)
        self.assertEqual((max(made["allocated"]), made["events"]), (512_000, 2 * snapshot.MOST_POINTS))

    def test_other_documents_are_refused_with_the_place(self):
        for change, where in (
            (lambda d: d.pop("segments"), "segments"),
            (lambda d: d.update(device_traces={}), "device_traces"),
            (lambda d: d["segments"][0].update(total_size=-1), "segments[0].total_size"),
            (lambda d: d["segments"][0].update(total_size=2**70), "segments[0].total_size"),
            (lambda d: d["segments"][0]["blocks"][1].update(state="odd"), "segments[0].blocks[1].state"),
            (lambda d: d["segments"].append(3), "segments[3]"),
            (lambda d: d["device_traces"][0][1].update(size="x"), "device_traces[0][1].size"),
            (lambda d: d["device_traces"][0].append([]), "device_traces[0][8]"),
        ):
            document = example()
            change(document)
            with self.assertRaises(BadInput) as caught:
                self.convert(document)
            self.assertEqual(caught.exception.where, where)
            self.assertIn("s.pickle", str(caught.exception))

    def test_the_command(self):
        source = self.write("s.pickle", pickle.dumps(example()))
        self.assertEqual(cli.main(["snapshot", str(source), "--output", str(self.folder / "t.json")]), 0)
        self.assertIn('"headroom_memory_timeline": 1', (self.folder / "t.json").read_text())


class Touch:
    """Unpickled, it would make a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path(self.path),)


class Attacks(support.TestCase):
    def refused(self, data: bytes, what: str = "") -> None:
        with self.assertRaises(BadInput) as caught:
            plain_pickle.load(io.BytesIO(data), "s.pickle")
        self.assertIn(what, str(caught.exception))

    def test_nothing_is_called(self):
        touched = self.folder / "touched"
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            for hidden in (Touch(str(touched)), {"segments": [Touch(str(touched))]}):
                data = pickle.dumps(hidden, protocol=protocol)
                self.refused(data)
                self.assertFalse(touched.exists())
        pickle.loads(pickle.dumps(Touch(str(touched))))
        self.assertTrue(touched.exists(), "the attack is one: an ordinary unpickler runs it")

    def test_names_objects_and_extensions_are_refused(self):
        for data in (
            b"cos\nsystem\n.",
            b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
            b"(ios\nsystem\n.",
            b"\x80\x02}\x81.",
            b"\x80\x02}}b.",
            b"\x80\x02\x82\x01.",
            b"Ppersistent\n.",
            b"\x80\x02}Q.",
            b"\x80\x05\x97.",
            b"\x80\x02)R.",
        ):
            with self.subTest(data):
                self.refused(data, "not executed")

    def test_an_address_of_the_memo_takes_no_memory(self):
        self.refused(b"\x80\x02}r" + struct.pack("<I", 2**32 - 1) + b"j" + struct.pack("<I", 5) + b".", "Memo value not found")
        self.assertEqual(plain_pickle.load(io.BytesIO(b"\x80\x02}r" + struct.pack("<I", 2**32 - 1) + b"."), "s"), {})

    def test_lengths_that_are_not_there(self):
        for data in (
            b"\x80\x04\x8d" + struct.pack("<Q", 2**62),
            b"\x80\x04X" + struct.pack("<I", 2**32 - 1) + b"a",
            b"\x80\x04\x95" + struct.pack("<Q", 2**50),
            b"\x80\x02\x8b" + struct.pack("<i", -1),
            b"\x80\x02\x8b" + struct.pack("<i", 2**31 - 1),
            b"",
            b"\x80",
            b"\x80\x63.",
            b".",
            b"\x80\x02(.",
            b"\x80\x02e.",
            b"\x80\x02}]s.",
            b"\x80\x02K\x01K\x02K\x03s.",
            b"\x80\x02K\x01K\x02a.",
        ):
            with self.subTest(data):
                self.refused(data)

    def test_depth_neither_crashes_nor_is_hashed(self):
        deep = b"\x80\x02" + b"]" * 1_000_000 + b"a" * 999_999 + b"."
        self.assertEqual(len(plain_pickle.load(io.BytesIO(deep), "s")), 1)
        key = b"\x80\x02})" + b"\x85" * 1_000_000 + b"K\x01s."
        self.refused(key, "key")

    def test_a_folder_or_pipe_is_never_opened(self):
        os.mkfifo(self.folder / "pipe")
        for name in ("pipe", ".", "nothing"):
            with self.assertRaises(BadInput):
                snapshot.timeline_of_file(self.folder / name)


if __name__ == "__main__":
    support.main()
