#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One table of the same gradients in torch, JAX, Equinox, diffrax and cairn.

    compare.py --programs FOLDER --environment FOLDER --out FILE.json [--cases diffusion wave ...] [--rounds 5]
               [--subnormals kept]

XLA flushes subnormal numbers, which other programs keep unless they are told: all of them flush here, so that equal
modes are compared. With --subnormals kept torch and cairn do as they do without a word, and JAX flushes still; each row
says what its program does.

Every (case, method) is a process of its own; each is pinned to the same processor and set to use one thread, but for
cairn's `threads`, with a second core. A process first makes one gradient, whose memory is measured, and then waits.
Timings are taken in turn, one sample of each process a round, and are of user CPU, of `threads` and `disk` by the
clock: `us/step` is the median of the rounds, `x nested` the median of each round's ratio to JAX's nested scan in the
same round. Every gradient is compared with one in float64 (reference.py): |g - reference| / |reference| may be ten
times what rounding does to that same reference in float32, which is measured, too; ten, for other orders of sums, fused
multiply-adds and functions good to a few units in the last place. Else the program fails.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
cases = ("diffusion", "wave", "lstm", "scalar")
flags = ("-O2", "-O3 -march=native")
least_sample = 0.2  # seconds
by_the_clock = ("threads", "disk")  # methods of which not all time is of one core's
cores = os.sched_getaffinity(0)  # before this process is pinned to one


def identifier(text):
    return "".join(c if c.isalnum() else "_" for c in text)


def methods(case, programs, python, library):
    """(who, method, command) of every row."""
    if python:
        for method in ("plain", "checkpoint", "checkpoint_reentrant"):
            yield "torch", method, [python, here / "torch_peer.py", case, method, "FILE", library]
        for method in ("plain", "nested"):
            yield "jax", method, [python, here / "jax_peer.py", case, method, "FILE"]
        yield "equinox", "while", [python, here / "jax_peer.py", case, "equinox_while", "FILE"]
        if case == "diffusion":
            yield "diffrax", "recursive", [python, here / "jax_peer.py", case, "diffrax", "FILE"]
    for these in flags:
        beside = () if case == "scalar" else by_the_clock
        for method in ("store_all", "uniform", "revolve", "leaf", *beside):
            yield f"cairn {these}", method, [programs / f"peers_{case}_peer{identifier(these)}", method, "FILE"]


class process:
    def __init__(self, who, method, command, scratch):
        self.on_two = method.startswith("threads")
        self.row = {"who": who, "method": method}
        self.file = pathlib.Path(scratch, identifier(who + method))
        self.command = [str(self.file) if part == "FILE" else str(part) for part in command]
        self.errors = open(str(self.file) + ".err", "w+")
        self.samples, self.clock_samples = [], []
        try:
            self.row |= self.start()
            first = self.ask(1)
            self.times = max(1, round(least_sample / max(first, 1e-4)))
            if self.times > 100:
                self.times = max(1, round(least_sample * self.times / max(self.ask(self.times), 1e-4)))
        except (OSError, ValueError):
            self.row["failed"] = self.why()

    def start(self):
        """Runs the program, up to what it says of its first gradient."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.child = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                      text=True, env=environment,
                                      preexec_fn=(lambda: os.sched_setaffinity(0, cores)) if self.on_two else None)
        return json.loads(self.child.stdout.readline())

    def stop(self):
        if hasattr(self, "child"):
            self.child.stdin.close()
            self.child.wait()

    def why(self):
        self.child.wait() if hasattr(self, "child") else None
        self.errors.seek(0)
        lines = self.errors.read().strip().splitlines() or ["no such program"]
        return "not installed" if "ModuleNotFoundError" in lines[-1] else lines[-1][:100]

    def ask(self, times):
        self.child.stdin.write(f"{times}\n")
        self.child.stdin.flush()
        answer = self.child.stdout.readline()
        used, *passed = (float(word) for word in answer.split() or [answer])
        self.passed = passed[0] if passed else None
        return used  # of the processor, by its user; self.passed is by the clock, where the program says that

    def sample(self):
        self.samples.append(self.ask(self.times) / self.times)
        if self.passed is not None:
            self.clock_samples.append(self.passed / self.times)

    def end(self):
        self.stop()
        self.errors.close()


def distance(made, reference):
    """|made - reference| / |reference|"""
    import numpy as np
    if made.shape != reference.shape:
        return float("inf")
    return float(np.linalg.norm(made.astype(np.float64) - reference) / np.linalg.norm(reference))


def compared(file, reference):
    import numpy as np
    return distance(np.fromfile(file, np.float32), reference)


def run_case(case, options, python, library):
    """The rows of a case."""
    try:
        import peer
        import reference
        wanted, rounded, n = reference.gradient(case, "float64"), reference.gradient(case, "float32"), peer.steps[case]
        tolerance = 10 * distance(rounded, wanted)
    except ModuleNotFoundError:
        wanted, n = None, {"lstm": 1000}.get(case, 10_000)
    with tempfile.TemporaryDirectory() as scratch:
        all_of_them = [process(*row, scratch) for row in methods(case, options.programs, python, library)]
        timed = [p for p in all_of_them if "failed" not in p.row]
        for _ in range(options.rounds):
            for p in timed:
                p.sample()
        nested = next((p for p in timed if (p.row["who"], p.row["method"]) == ("jax", "nested")), None)
        for p in timed:
            if p.row["method"] in by_the_clock:
                p.samples = p.clock_samples
            p.row |= {"case": case, "steps": n, "us_per_step": 1e6 * statistics.median(p.samples) / n,
                      "seconds": p.samples, "gradients_a_sample": p.times}
            if nested:
                p.row["to_jax_nested"] = statistics.median(a / b for a, b in zip(p.samples, nested.samples))
            if wanted is not None:
                p.row |= {"relative_error": compared(p.file, wanted), "tolerance": tolerance}
                p.row["agrees"] = p.row["relative_error"] <= tolerance
        for p in all_of_them:
            p.end()
        return [p.row | {"case": case} for p in all_of_them]


def show(case, rows):
    tolerance = next((f"{row['tolerance']:.1e}" for row in rows if "tolerance" in row),
                     "not checked, for there is no numpy")
    print(f"\n{case}: {next((row['steps'] for row in rows if 'steps' in row), '?')} steps, forward and backward; "
          f"relative error of the gradient allowed: {tolerance}")
    print(f"{'program':<24}{'method':<22}{'us/step':>10}{'x nested':>10}{'RSS rise MB':>13}{'bytes MB':>11}  "
          f"{'bytes are':<19}{'error':>9}  subnormals")
    for row in rows:
        if "failed" in row:
            print(f"{row['who']:<24}{row['method']:<22}{row['failed']}")
            continue
        ratio = f"{row['to_jax_nested']:.2f}" if "to_jax_nested" in row else "-"
        size = f"{row['bytes'] / 1e6:.3f}" if row["bytes"] is not None else "-"
        error = "-"
        if "relative_error" in row:
            error = f"{row['relative_error']:.1e}" + ("" if row["agrees"] else "  WRONG")
        print(f"{row['who']:<24}{row['method']:<22}{row['us_per_step']:>10.3f}{ratio:>10}"
              f"{row['rss_bytes'] / 1e6:>13.2f}{size:>11}  {row['bytes_are']:<19}{error:>9}"
              f"  {row.get('subnormals', '?')}", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--programs", type=pathlib.Path, required=True)
    options.add_argument("--environment", type=pathlib.Path, required=True)
    options.add_argument("--out", type=pathlib.Path, required=True)
    options.add_argument("--cases", nargs="*", default=cases, choices=cases)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--subnormals", choices=("flushed", "kept"), default="flushed")
    options = options.parse_args()
    os.environ["PEERS_SUBNORMALS"] = options.subnormals
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    python = options.environment / "bin" / "python"
    rows = []
    for case in options.cases:
        made = run_case(case, options, python if python.exists() else None, options.environment / "torch_bytes.so")
        show(case, made)
        rows += made
    versions = sorted({row["version"] for row in rows if "version" in row})
    print("\n" + "; ".join(versions)
          + f"; user CPU ({' and '.join(by_the_clock)}: clock), medians of {options.rounds} interleaved rounds, one "
          "thread on one processor (threads: two)")
    options.out.write_text(json.dumps({"rounds": options.rounds, "versions": versions, "rows": rows}, indent=1) + "\n")
    print(f"written: {options.out}")
    return 0 if all(row.get("agrees", True) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
