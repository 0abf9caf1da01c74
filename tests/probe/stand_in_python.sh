#!/bin/sh
# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Stands in for a Python that runs the probe: PROBE run PLAN --output FILE ..., PROBE check PLAN, PROBE snapshot ..., and for
# torchrun, which starts PROBE once for each rank. What it does is in STAND_IN_PYTHON.
echo "$@" >>"${STAND_IN_ARGUMENTS:-/dev/null}"
if [ "$1" = -m ]; then
  [ "$2 $3 $4" = "torch.distributed.run --standalone --nproc-per-node" ] || { echo "not started as torchrun is" >&2; exit 2; }
  ranks=$5 status=0
  shift 5
  trap 'trap - TERM; kill $pids 2>/dev/null; wait; status=1' TERM INT USR1
  pids=
  rank=0
  while [ $rank -lt "$ranks" ]; do
    RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$ranks "$0" "$@" &
    pids="$pids $!"
    rank=$((rank + 1))
  done
  for pid in $pids; do
    wait "$pid" || { status=1; kill $pids 2>/dev/null; }
  done
  if [ $status = 1 ]; then # what torchrun says of itself
    echo 'E1130 14:42:02.550000 20281 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 1' >&2
    printf 'Traceback (most recent call last):\n  File "torch/distributed/run.py", line 1032, in <module>\n' >&2
    printf 'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n=====\nPROBE FAILED\n' >&2
  fi
  exit $status
fi
case $2 in
check)
  case $STAND_IN_PYTHON in
  few) echo "headroom_probe: the plan needs 2 GPUs, one a rank, and this machine shows 1" >&2; exit 3 ;;
  esac
  exit 0 ;;
snapshot)
  while [ $# -gt 0 ] && [ "$1" != --output ]; do shift; done
  case $STAND_IN_PYTHON in
  refuses) echo "headroom_probe: $4: holds an instruction that plain data has no need of" >&2; exit 2 ;;
  nothing) exit 0 ;;
  broken) echo '{"headroom_memory_timeline": 1' >"$2" ;;
  hang) trap 'exit 130' TERM INT; echo converting >&2; sleep 60 & wait ;;
  *) cp "$STAND_IN_TIMELINE" "$2" ;;
  esac
  exit 0 ;;
run) ;;
*) echo "not asked to run" >&2; exit 2 ;;
esac
plan=$3
while [ $# -gt 0 ] && [ "$1" != --output ]; do shift; done
output=$2
while [ $# -gt 0 ] && [ "$1" != --snapshot ]; do shift; done
snapshot=$2
if [ "${RANK:-0}" != 0 ]; then
  output=${output%.headroom-probe.json}.rank$RANK.headroom-probe.json
  snapshot=${snapshot:+${snapshot%.pickle}.rank$RANK.pickle}
fi
[ -z "$STAND_IN_PLAN" ] || cp "$plan" "$STAND_IN_PLAN"
[ -z "$STAND_IN_PIDS" ] || echo $$ >>"$STAND_IN_PIDS"
[ "${RANK:-0}" != 0 ] || echo '{"step": null, "phase": null, "text": "importing libraries"}' >&2
write() {
  sed "s/\"rank\": 0/\"rank\": ${RANK:-0}/; s/\"ranks\": 1/\"ranks\": ${WORLD_SIZE:-1}/" "$1" >"$output"
  [ -z "$snapshot" ] || echo "snapshot of rank ${RANK:-0}" >"$snapshot"
}
case $STAND_IN_PYTHON in
hang) trap 'kill $!; exit 130' TERM INT; sleep 60 & wait ;;
deaf) trap '' TERM INT HUP; sleep 60 ;;
garbage) head -c 300000 /dev/urandom >&2; echo >&2; echo '{"step": [[[[', >&2; write "$STAND_IN_RESULT" ;;
terminal) printf 'a line as terminals end it\r\n' >&2; write "$STAND_IN_RESULT" ;;
killed) kill -KILL $$ ;;
nothing) exit 0 ;;
broken) echo '{"headroom_probe": 1' >"$output" ;;
missing) echo "headroom_probe: torch >= 2.4 (for everything) is missing" >&2; exit 3 ;;
refuses) echo "headroom_probe: $plan:12: attention: this GPU has no kernel for it" >&2; exit 2 ;;
failed) write "$STAND_IN_RESULT"; printf 'Traceback (most recent call last):\n  File "model.py", line 7\nKeyError: 7\n' >&2; exit 1 ;;
unrecorded) # by every rank but the first
  [ "${RANK:-0}" = 0 ] || snapshot=
  write "$STAND_IN_RESULT" ;;
vast) # a byte more than 1 GiB, none of it on the disk
  write "$STAND_IN_RESULT"
  dd if=/dev/null of="$snapshot" bs=1 seek=1073741825 2>/dev/null ;;
displaced) # where the result is to go is gone when it is there
  rmdir "$STAND_IN_PLACE"
  write "$STAND_IN_RESULT" ;;
short) # rank 1 runs out of memory, and rank 0 waits for it
  if [ "${RANK:-0}" = 1 ]; then
    sleep 0.5 # until the other one runs
    write "$STAND_IN_SHORT"
    kill -USR1 $PPID
    exit 1
  fi
  i=0
  while [ $i -lt 300 ]; do sleep 0.2; i=$((i + 1)); done ;;
*) echo '{"step": 0, "phase": "forward", "text": "step 1 of 3: forward"}' >&2; write "$STAND_IN_RESULT" ;;
esac
