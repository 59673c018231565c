#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpointed loops and regions in LibTorch against plain ones, and against torch.utils.checkpoint of the same wheel
in Python.

    loops.py --program loops --environment FOLDER [--cases lstm wave tiny gpt] [--rounds 9] [--out FILE.json]

lstm and wave are loops; tiny and gpt have a region around each step, and of tiny, matrices of 8x8, only the forward run
is timed. Cases, questions and answers are those of benchmarks/peers: every row is a process of its own, pinned to the
same processor and set to use one thread. Its first gradient's rise of resident memory is measured, and the most
bytes of tensors at once. Timings are taken in turn, one sample of each process a round, and are of user CPU: `us/step`
is the median of the rounds, `x plain` the median of each round's ratio to the plain loop in C++ in the same round.
`forward_first` is the plain loop after a forward run without a graph: where each step runs forward twice, no program
takes less on the processor at hand, and what is above it is cairn's. torch.utils.checkpoint runs in about sqrt(n)
segments. FOLDER is what tests/adapt/torch/wheel.sh and environment.sh here have made; without it there is no Python
side. Fails where a gradient is not the plain loop's, bit for bit, where it is far from one in float64, and where a
figure that is promised is not met.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
peers = here.parent / "peers"
sys.path.insert(0, str(peers))
import compare  # noqa: E402

# CHECKPOINTSxBLOCK: sqrt(n) twice, and what less memory costs.
settings = {"lstm": ("32x32", "10x16"), "wave": ("100x100", "20x20"), "tiny": ("region",),
            "gpt": ("region", "region_returned", "within_100")}
steps = {"lstm": 1000, "wave": 10_000, "tiny": 1000, "gpt": 12}
twice = ("lstm",)  # each step runs forward twice and back once
regions = ("tiny", "gpt")  # no reference in float64: the plain program is theirs


def methods(case, options):
    """(who, method, command) of every row."""
    if options.environment:
        folder = options.environment.resolve()
        python = ["env", f"PYTHONPATH={folder / 'packages'}", f"LD_LIBRARY_PATH={folder / 'stand_ins'}",
                  folder / "bin" / "python"]
        program, ways = (here / "regions.py", ("plain", "checkpoint")) if case in regions else (
            peers / "torch_peer.py", ("plain", "checkpoint", "checkpoint_reentrant"))
        for method in ways:
            yield "torch", method, [*python, program, case, method, "FILE", folder / "torch_bytes.so"]
    for method in ("plain", *(("forward_first",) if case in twice else ()), *settings[case]):
        yield "cairn", method, [options.program, case, method, "FILE"]


def promises(case, rows):
    """(sentence, whether it holds): the figures that have to be met."""
    plain, chosen = rows["cairn", "plain"], rows["cairn", settings[case][0]]
    theirs = rows.get(("torch", "checkpoint"), {"failed": "left out"})
    if case == "tiny":
        yield "adds at most 10 us a call to the plain forward run", chosen["us_per_step"] - plain["us_per_step"] <= 10
    elif case == "gpt":
        yield "at most 30 % of the plain program's bytes of tensors", chosen["bytes"] <= 0.3 * plain["bytes"]
        returned = rows["cairn", "region_returned"]
        if "failed" not in returned:
            holds = returned["rss_bytes"] <= 1.25 * returned["bytes"]
            yield "with large blocks returned resident memory rises by at most 1.25 times these", holds
        ratio = rows["cairn", "within_100"]["us_per_step"] / chosen["us_per_step"]
        yield f"a Sequential within 100 MB takes at most as long as regions: {ratio:.3f}", ratio <= 1
    elif case == "lstm":
        ratio = chosen["us_per_step"] / rows["cairn", "forward_first"]["us_per_step"]
        yield f"at most 1.05 times the plain loop after a forward run: {ratio:.3f}", ratio <= 1.05
        yield "at most 8 % of its bytes of tensors", chosen["bytes"] <= 0.08 * plain["bytes"]
    else:
        yield "at most 1.05 times the plain loop's time", chosen["to_plain"] <= 1.05
        yield "resident memory rises by at most 40 MB", chosen["rss_bytes"] <= 40e6
    if "failed" not in theirs:
        yield "faster than torch.utils.checkpoint", chosen["us_per_step"] < theirs["us_per_step"]
        if case not in regions:
            yield "less resident memory than torch.utils.checkpoint", chosen["rss_bytes"] < theirs["rss_bytes"]


def run_case(case, options):
    wanted, n = None, steps[case]
    if case not in regions:
        try:
            import reference
            wanted, rounded = reference.gradient(case, "float64"), reference.gradient(case, "float32")
            tolerance = 10 * compare.distance(rounded, wanted)
        except ModuleNotFoundError:
            pass
    with tempfile.TemporaryDirectory() as scratch:
        processes = [compare.process(*row, scratch) for row in methods(case, options)]
        timed = [p for p in processes if "failed" not in p.row]
        for _ in range(options.rounds):
            for p in timed:
                p.sample()
        plain = next((p for p in timed if (p.row["who"], p.row["method"]) == ("cairn", "plain")), None)
        if plain is None:
            sys.exit("loops.py: the plain loop failed: "
                     + next(p.row["failed"] for p in processes if p.row["who"] == "cairn"))
        if case in regions:
            try:
                import numpy
                wanted, tolerance = numpy.fromfile(plain.file, numpy.float32), 1e-4
            except ModuleNotFoundError:
                pass
        for p in timed:
            p.row |= {"steps": n, "us_per_step": 1e6 * statistics.median(p.samples) / n, "seconds": p.samples,
                      "to_plain": statistics.median(a / b for a, b in zip(p.samples, plain.samples))}
            if p.row["who"] == "cairn":
                p.row["same_bits"] = p.file.read_bytes() == plain.file.read_bytes()
            if wanted is not None:
                p.row |= {"relative_error": compare.compared(p.file, wanted), "tolerance": tolerance}
        for p in processes:
            p.end()
        return [p.row | {"case": case} for p in processes]


def show(case, rows):
    plain = next(row for row in rows if (row["who"], row["method"]) == ("cairn", "plain"))
    print(f"\n{case}: {plain['steps']} steps, {'forward' if case == 'tiny' else 'forward and backward'}")
    print(f"{'program':<9}{'method':<22}{'us/step':>10}{'x plain':>9}{'RSS rise MB':>13}{'tensors MB':>12}"
          f"{'of plain':>10}{'error':>10}  gradient")
    for row in rows:
        if "failed" in row:
            print(f"{row['who']:<9}{row['method']:<22}{row['failed']}")
            continue
        size = part = "-"
        if row["bytes"] is not None:
            size, part = f"{row['bytes'] / 1e6:.3f}", f"{100 * row['bytes'] / plain['bytes']:.1f} %"
        error = f"{row['relative_error']:.1e}" if "relative_error" in row else "-"
        bits = {True: "the plain loop's bits", False: "OTHER BITS"}[row["same_bits"]] if "same_bits" in row else ""
        if "tolerance" in row and row["relative_error"] > row["tolerance"]:
            bits += " WRONG"
        print(f"{row['who']:<9}{row['method']:<22}{row['us_per_step']:>10.2f}{row['to_plain']:>9.3f}"
              f"{row['rss_bytes'] / 1e6:>13.2f}{size:>12}{part:>10}"
              f"{error:>10}  {bits}", flush=True)


def kept(row):
    return ("failed" not in row and row.get("same_bits", True)
            and ("tolerance" not in row or row["relative_error"] <= row["tolerance"]))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--program", type=pathlib.Path, required=True)
    options.add_argument("--environment", type=pathlib.Path)
    options.add_argument("--out", type=pathlib.Path)
    options.add_argument("--cases", nargs="*", default=tuple(settings), choices=tuple(settings))
    options.add_argument("--rounds", type=int, default=9)
    options = options.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    all_rows, good = [], True
    for case in options.cases:
        rows = run_case(case, options)
        show(case, rows)
        good &= all(kept(row) for row in rows)
        for sentence, holds in promises(case, {(row["who"], row["method"]): row for row in rows}):
            print(f"  {'ok' if holds else 'MISSED':<7}{settings[case][0]}: {sentence}")
            good &= holds
        all_rows += rows
    versions = sorted({row["version"] for row in all_rows if "version" in row})
    print("\n" + "; ".join(versions)
          + f"; user CPU, medians of {options.rounds} interleaved rounds, one thread on one processor")
    if options.out:
        options.out.write_text(json.dumps({"rounds": options.rounds, "versions": versions, "rows": all_rows}, indent=1)
                               + "\n")
        print(f"written: {options.out}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
