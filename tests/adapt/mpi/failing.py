#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How all ranks end when one of them fails: in time, and with the reason.

    failing.py WAY PROGRAM LAUNCHER...    WAY: throws, stops, differs, late, over or killed; LAUNCHER: mpirun and its options

`killed` ends a process at random moments: 5, or as many as CAIRN_MPI_KILLS says.
"""
import os
import random
import re
import signal
import subprocess
import sys
import time

RANKS, MOST_SECONDS = 3, 30
way, program, *launcher = sys.argv[1:]
launcher += ["-n", str(RANKS), program]
faults = []


def ended(arguments):
    """Status, output and seconds of a run that ends by itself."""
    begun = time.monotonic()
    try:
        done = subprocess.run(launcher + arguments, text=True, timeout=MOST_SECONDS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout, time.monotonic() - begun
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(), MOST_SECONDS


def expect(holds, what, said):
    if not holds:
        faults.append(what)
        print(f"{what}:\n{said}")


def same_error(said, rank):
    """Whether all ranks say the same error, of that rank."""
    texts = re.findall(r"rank \d+: (collective_error rank=(\d+): .*)", said)
    return len(texts) == RANKS and len(set(texts)) == 1 and texts[0][1] == str(rank)


def lives(process):
    try:
        return open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def count_of_calls():
    said = ended(["throws", "-1", "0"])[1]
    return int(re.search(r"calls (\d+)", said)[1])


if way == "throws":
    calls, slowest, by_error = count_of_calls(), 0, 0
    for call in range(calls):
        rank = call % RANKS
        status, said, seconds = ended(["throws", str(call), str(rank)])
        slowest = max(slowest, seconds)
        by_error += same_error(said, rank)
        aborted = f"rank {rank} of {RANKS} failed" in said and "a planned failure" in said
        expect(status is not None, f"call {call} on rank {rank}: hangs", said)
        expect(same_error(said, rank) or aborted, f"call {call} on rank {rank}: no reason", said)
    print(f"{calls} calls, {by_error} errors on all ranks, the others ended; at most {slowest:.1f} s")
elif way == "late":
    for rank in range(RANKS):
        status, said, seconds = ended(["late", str(rank)])
        waited = re.findall(rf"cairn::gradient: rank (\d) of {RANKS} has waited 0.5 s for the others before the first step, ", said)
        expect(status == 0 and sorted(waited) == [str(k) for k in range(RANKS) if k != rank], f"rank {rank} is late", said)
        expect(len(set(re.findall(r"calls (\d+)", said))) == 1 and said.count("calls") == RANKS, "all go on", said)
elif way == "over":
    status, said, seconds = ended(["over"])
    for verb, times in (("gradient", 2), ("reverse", 1)):
        expect(said.count(f"cairn::{verb}: MPI_Finalize has been called, or the communicator was freed") == times * RANKS,
               verb, said)
    expect(status == 0, "the status", said)
elif way in ("stops", "differs"):
    cases = [(rank, [str(rank)]) for rank in range(1, RANKS)]
    if way == "stops":
        cases = [(call % RANKS, [str(call), str(call % RANKS)]) for call in range(count_of_calls() - 3)]
    for rank, arguments in cases:
        status, said, seconds = ended([way, *arguments])
        reason = "asked to stop" if way == "stops" else "has a different plan"
        expect(status == 0 and same_error(said, rank) and reason in said, f"{way} {arguments}", said)
else:
    kills, slowest = int(os.environ.get("CAIRN_MPI_KILLS", 5)), 0
    random.seed(int(os.environ.get("CAIRN_MPI_SEED", 1)))
    for kill in range(kills):
        started = subprocess.Popen(launcher + ["long"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said, processes = "", {}
        while len(processes) < RANKS and (line := started.stdout.readline()):
            said += line
            processes.update(re.findall(r"rank (\d+) process (\d+)", line))
        if len(processes) < RANKS:
            expect(False, f"kill {kill}: the ranks did not start", said)
            break
        time.sleep(random.uniform(0, 0.5))
        os.kill(int(processes[str(random.randrange(RANKS))]), signal.SIGKILL)
        begun = time.monotonic()
        try:
            said += started.communicate(timeout=MOST_SECONDS)[0]
        except subprocess.TimeoutExpired:
            started.kill()
            expect(False, f"kill {kill}: the others did not end", said)
            continue
        alive = set(processes.values())
        while alive and time.monotonic() - begun < MOST_SECONDS:
            alive = {process for process in alive if lives(process)}
            time.sleep(0.01)
        slowest = max(slowest, time.monotonic() - begun)
        expect(not alive, f"kill {kill}: processes {alive} are still there", said)
        expect(started.returncode != 0 and re.search(r"signal 9|KILLED BY SIGNAL: 9|Killed", said), f"kill {kill}: no reason", said)
    print(f"{kills} kills, all ranks ended within {slowest:.1f} s")
print("\n".join(faults) or "every run ended with its reason")
sys.exit(bool(faults))
