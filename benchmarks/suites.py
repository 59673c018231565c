#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every suite, prints one table, and fails where a count is not what was predicted.

    suites.py FOLDER_OF_PROGRAMS FOLDER_FOR_JSON [ARGS of Google Benchmark...]

A program writes its JSON with --benchmark_out. A counter `x` must be equal to a counter `predicted_x` beside it.
"""
import json
import pathlib
import subprocess
import sys

units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
standard = {"name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions",
            "repetition_index", "threads", "iterations",
            "real_time", "cpu_time", "time_unit", "aggregate_name", "aggregate_unit"}


def short(seconds):
    for unit in ("s", "ms", "us", "ns"):
        if seconds >= units[unit]:
            break
    return f"{seconds / units[unit]:.4g} {unit}"


def counters(entry):
    for name, value in entry.items():
        if name == "label":
            yield value
        elif name not in standard and not name.startswith("predicted_"):
            yield f"{name} {short(value) if name.startswith('time/') else f'{value:g}' if value % 1 else int(value)}"


def mismatches(entries):
    for entry in entries:
        for name, value in entry.items():
            what = name.removeprefix("predicted_")
            if what != name and entry.get(what) != value:
                yield f"{entry['name']}: {what} {entry.get(what)}, predicted {value}"


def main():
    programs, out, arguments = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    out.mkdir(parents=True, exist_ok=True)
    entries = []
    for program in sorted(programs.glob("*_bench_*")):
        file = out / f"{program.name}.json"
        subprocess.run([program, f"--benchmark_out={file}", "--benchmark_out_format=json", "--benchmark_min_time=0.05",
                        *arguments],
                       check=True, stdout=subprocess.DEVNULL)
        if file.stat().st_size:  # a filter may leave nothing
            entries += json.loads(file.read_text())["benchmarks"]
    width = max((len(entry["name"]) for entry in entries), default=0)
    print(f"{'benchmark':<{width}} {'CPU time':>10}  counts")
    for entry in entries:
        print(f"{entry['name']:<{width}} {short(entry['cpu_time'] * units[entry['time_unit']]):>10}  "
              f"{', '.join(counters(entry))}")
    wrong = list(mismatches(entries))
    checked = sum(name.startswith("predicted_") for entry in entries for name in entry)
    print(f"{checked} counts compared with estimate's, {len(wrong)} differ; JSON in {out}")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
