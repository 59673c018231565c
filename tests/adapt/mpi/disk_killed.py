#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks whose sweep is kept on disk, of which one or each is killed at a random call or write, again and again, until
the job ends: then every rank has the bits of an undisturbed sweep.

    disk_killed.py PROGRAM LAUNCHER...    LAUNCHER: mpirun and its options

4 jobs, or as many as CAIRN_MPI_KILLS says. CAIRN_MPI_SEED: where they are killed.
"""
import os
import random
import re
import subprocess
import sys
import tempfile
import time

MOST_SECONDS, MOST_CALLS, MOST_WRITES = 20, 70, 25
program, *launcher = sys.argv[1:]
random.seed(int(os.environ.get("CAIRN_MPI_SEED", 1)))
faults = []


def lives(process):
    try:
        return open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def ended(ranks, arguments):
    """What a job said, once all of its processes are gone; None if it hangs."""
    started = subprocess.Popen([*launcher, "-n", str(ranks), program, *arguments], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    begun = time.monotonic()
    try:
        said = started.communicate(timeout=MOST_SECONDS)[0]
    except subprocess.TimeoutExpired:
        started.kill()
        return None, ""
    while any(lives(process) for process in re.findall(r"process (\d+)", said)):
        if time.monotonic() - begun > MOST_SECONDS:
            return None, said
        time.sleep(0.01)
    return started.returncode, said


jobs, kills, uses, slowest = int(os.environ.get("CAIRN_MPI_KILLS", 4)), 0, set(), 0
for job in range(jobs):
    ranks = 2 + job % 3
    with tempfile.TemporaryDirectory() as folder:
        for attempt in range(12):
            who = random.choice([-1, *range(ranks)]) if attempt < 4 else ranks  # nobody is killed at the end
            where = random.choice([("call", random.randrange(2, MOST_CALLS)), ("write", random.randrange(1, MOST_WRITES))])
            arguments = [folder + "/run.d", str(who), where[0], str(where[1])]
            begun = time.monotonic()
            status, said = ended(ranks, arguments)
            slowest = max(slowest, time.monotonic() - begun)
            what = f"job {job}, {ranks} ranks, attempt {attempt}, {arguments[1:]}:\n{said}"
            if status is None or "WRONG" in said or "collective_error" in said:
                faults.append(what)
                break
            if len(re.findall(r"rank \d right", said)) == ranks:
                found = set(re.findall(r"right (used \d at -?\d+ steps \d+)", said))
                if len(found) != 1:
                    faults.append(what)
                uses.update(re.findall(r"used (\d)", said))
                break
            if status == 0 or who == ranks:
                faults.append(what)
                break
            kills += 1
        else:
            faults.append(f"job {job} does not end")
if kills < jobs // 2 or "2" not in uses:
    faults.append(f"{kills} kills, used {uses}")
print(f"{jobs} jobs, {kills} kills, at most {slowest:.1f} s; used {sorted(uses)}")
print("\n".join(faults) or "all ended with the right bits on all ranks")
sys.exit(bool(faults))
