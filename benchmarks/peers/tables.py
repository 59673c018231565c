#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long plans over tiers take to make: cairn's beside those of checkpoint_schedules, from PyPI, in one run.

    tables.py --programs FOLDER

Slots in memory are free, a state on disk costs 2 to write and 3 to read, an advance 1. Times are user CPU; cairn's the
least of seven means, those of checkpoint_schedules of one run, as they are long. `cost` is without turns;
checkpoint_schedules reports it only for H-Revolve.
"""
import argparse
import pathlib
import resource
import subprocess

flags = ("-O2", "-O3 -march=native")
steps, slots, write, read = 1000, 5, 2, 3


def user_seconds():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def timed(make):
    start = user_seconds()
    made = make()
    return made, user_seconds() - start


def peers():
    """(kind, steps, slots of each tier, seconds, cost or nothing) of each plan of checkpoint_schedules."""
    import checkpoint_schedules as peer
    from checkpoint_schedules.hrevolve_sequences.hrevolve import get_hopt_table
    (_, best), spent = timed(lambda: get_hopt_table(steps - 1, (slots, slots), (0, write), (0, read), 1, 1))
    yield "hrevolve, table alone", steps, slots, spent, best[1][steps - 1][slots] - steps
    yield "hrevolve", steps, slots, timed(lambda: peer.HRevolve(steps, slots, slots, wd=write, rd=read))[1], None
    one_read = timed(lambda: peer.DiskRevolve(steps, slots, wd=write, rd=read))[1]
    yield "disk_revolve, one read", steps, slots, one_read, None
    yield "multistage", steps, slots, timed(lambda: peer.MultistageCheckpointSchedule(steps, slots, slots))[1], None


def ours(program):
    for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines():
        kind, n, s, spent, cost = line.split()
        yield kind, int(n), int(s), float(spent), float(cost) or None


def show(who, rows):
    for kind, n, s, spent, cost in rows:
        disk = "any" if kind.startswith("disk_revolve") else s
        print(f"{who:<24}{kind:<24}{n:>7}{s:>4} + {disk:<4}{1000 * spent:>12.3f}"
              f"{'' if cost is None else format(cost, 'g'):>10}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    options = parser.parse_args()
    print(f"\nplans over tiers\n{'program':<24}{'plan':<24}{'steps':>7}{'slots':>8}{'ms':>15}{'cost':>10}")
    try:
        show("checkpoint_schedules", peers())
    except ModuleNotFoundError:
        print("checkpoint_schedules is not installed")
    for these in flags:
        name = "peers_tables_peer" + "".join(c if c.isalnum() else "_" for c in these)
        show(f"cairn {these}", ours(options.programs / name))


if __name__ == "__main__":
    main()
