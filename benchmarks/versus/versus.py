#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same gradient by cairn and by others, at the same number of checkpoints: `./run versus` is this.

    versus.py --programs FOLDER [--environment FOLDER] [--torch FOLDER] [--loops PROGRAM] [--rounds 5] [--only WORD...]
              [--smoke] [--out FILE.json] [--write]

The step is one of Fisher's equation on 256 x 256 doubles, 1,000 of them; the gradient is that of sum u^2 by the initial
state. Tools keep every state, or 65, or 30: numbers for which nested checkpoints come out even, 25 x 40 and 10 x 10 x
10. cairn's loops in LibTorch divide them into checkpoints and the steps of a block, 25x40 and 20x10. Every row is a
process of its own, and one runs at a time, pinned to the same processor and set to use one thread; that of cairn on two
threads has all. Its first gradient gives the memory: how far resident memory rises (`rise`), the most that is resident
(`peak`, the tool's own code and libraries included), and what the tool itself counts. Times are taken in turn, one
sample of each process a round; the median counts. A process that has taken a GB or more is started anew for each of its
turns. `x cairn` is the median of each round's ratio, by the clock, to cairn with as many checkpoints, an adjoint by
hand and the last flags of all. `difference` is |g - g0| / |g0|, where g0 is the gradient of cairn with every state
stored.

FOLDERs are what versus.sh makes; what is not there is left out and said. --smoke is one round of 60 steps of 16 x 16;
--only takes tools of whose name or group a WORD is a part, cairn is always there. --write puts the figures into
docs/evidence, the table into docs/versus.md and the picture into docs/pictures. Fails where a difference is above
1e-10, and where cairn's bits are not those of storing every state.
"""
import argparse
import array
import datetime
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
peers = here.parent / "peers"
sys.path.insert(0, str(peers))
import compare  # noqa: E402
import fisher  # noqa: E402
import report  # noqa: E402

least_difference_told = 1e-10
checkpoints_of = {"fisher": (65, 30), "fisher_small": (16, 12)}
packages = {"ADOL-C": "libadolc-dev", "PETSc": "petsc-dev"}
bit_for_bit = ("cairn", "cairn on two threads", "cairn on disk")  # as with every state stored
lacking = ("not installed", "no such program")  # as compare.process says it
absent = [
    ("ADOL-C with every state stored", "the tape of the whole loop would take tens of GB"),
]


class Tool:
    """A line of the picture: its group, its name, and how it is run.

    command(METHOD) runs it; `stored` is its METHOD that keeps every state, kept(NUMBER) one with so many checkpoints.
    `how` is what a reader would look for in its manual, {} a METHOD there, `needs` what it is left out without.
    """
    def __init__(self, group, name, command, kept, stored, how, needs):
        self.group, self.name, self.command, self.kept, self.stored = group, name, command, kept, stored
        self.how, self.needs = how, needs


def built(folder, name):
    """Programs of one name, with other flags each; those of the last are the strongest."""
    return sorted(folder.glob(f"{name}_*"))


def tools(options, case):
    def program(path):
        return lambda method: [path, method, "FILE", case]

    def script(python, file, *more):
        return lambda method: [*python, peers / file, case, method, "FILE", *more]

    group = "adjoint by hand"
    for path in built(options.programs, "peers_fisher_peer"):
        yield Tool(group, "cairn", program(path), "revolve:{}".format, "store_all", "Revolve", "peers_fisher_peer")
    path = (built(options.programs, "peers_fisher_peer") or ["none"])[-1]
    for name, method, how in (("cairn on two threads", "threads:{}", "Revolve, 1/4 ahead"),
                              ("cairn on disk", "disk:{}", "multistage, 1/2 in files")):
        yield Tool(group, name, program(path), method.format, None, how, "peers_fisher_peer")
    python = [(options.environment or pathlib.Path("none")) / "bin" / "python"]
    yield Tool(group, "pyrevolve over numpy", script(python, "pyrevolve_peer.py"), "revolve:{}".format,
               "stored", "SingleLevelRevolver", "PyPI: numpy, pyrevolve")

    group, needs = "PETSc's steps", "Debian: petsc-dev"
    path = (built(options.programs, "peers_petsc_peer") or ["none"])[-1]
    yield Tool(group, "cairn over PETSc", program(path), "cairn:{}".format, None, "Revolve", needs)
    yield Tool(group, "PETSc's TSTrajectory", program(path), "two_levels:{}".format, "store_all",
               "two levels, the outer in files", needs)

    group, needs = "ADOL-C's tapes", "Debian: libadolc-dev"
    path = (built(options.programs, "ad_adolc_peer") or ["none"])[-1]
    yield Tool(group, "cairn over ADOL-C", program(path), "cairn:{}".format, None, "Revolve, one step on tape", needs)
    yield Tool(group, "ADOL-C's checkpointing", program(path), "own:{}".format, None,
               "Revolve, one step on tape", needs)

    group, needs = "LibTorch's operators", "PyPI: torch"
    folder = options.torch or pathlib.Path("none")
    torch = ["env", f"PYTHONPATH={folder / 'packages'}", f"LD_LIBRARY_PATH={folder / 'stand_ins'}",
             folder / "bin" / "python"]
    counter = folder / "torch_bytes.so"
    yield Tool(group, "cairn in LibTorch", lambda method: [options.loops, case, method, "FILE"],
               {65: "25x40", 30: "20x10", 16: "10x6", 12: "7x5"}.__getitem__, "plain", "checkpointed_loop, {}", needs)
    yield Tool(group, "torch checkpoint", script(torch, "torch_peer.py", counter), "checkpoint:{}".format, "plain",
               "nested, use_reentrant=False", needs)
    yield Tool(group, "torch checkpoint, reentrant", script(torch, "torch_peer.py", counter),
               "checkpoint_reentrant:{}".format, None, "nested, use_reentrant=True", needs)

    group = "JAX, compiled"
    for name, kept, stored, how, needs in (
            ("jax.checkpoint, nested", "nested:{}".format, "plain", "scans in scans", "PyPI: jax"),
            ("equinox while_loop", "equinox_while:{}".format, None, 'kind="checkpointed"', "PyPI: equinox"),
            ("diffrax", "diffrax:{}".format, None, "RecursiveCheckpointAdjoint", "PyPI: diffrax")):
        yield Tool(group, name, script(python, "jax_peer.py"), kept, stored, how, needs)


def rows_of(tool, numbers):
    """(checkpoints or None for all states, METHOD), least memory last."""
    if tool.stored:
        yield None, tool.stored
    for number in numbers:
        yield number, tool.kept(number)


def stays(process):
    """Whether it waits for its next turn. One that has lifted its memory by GBs may not give it back before it ends."""
    return process.row["rss_bytes"] < 1e9


def begun(options, case, scratch):
    """A process for each row, in the order of the table."""
    processes = []
    for k, tool in enumerate(tools(options, case)):
        words = [word.lower() for word in options.only or ()]
        if words and tool.name != "cairn" and not any(w in (tool.name + tool.group).lower() for w in words):
            continue
        for checkpoints, method in rows_of(tool, checkpoints_of[case]):
            p = compare.process(f"{k} {tool.name}", method, tool.command(method), scratch)
            p.row |= {"group": tool.group, "tool": tool.name, "checkpoints": checkpoints,
                      "how": tool.how.format(method) if checkpoints else "every state stored", "line": k}
            processes.append(p)
            if p.row.get("failed") in lacking or "No such file" in p.row.get("failed", ""):
                p.row["failed"] = f"not installed ({tool.needs})"
            told = p.row.get("failed") or f"{p.passed:.3g} s"
            print(f"  {tool.name}, {method}: {told}", file=sys.stderr, flush=True)
            if "not installed" in told:
                break  # its other rows lack the same
            if "failed" not in p.row and not stays(p):
                p.stop()
    return processes


def numbers_in(file):
    numbers = array.array("d")
    numbers.frombytes(file.read_bytes())
    return numbers


def difference(made, wanted):
    """|made - wanted| / |wanted|"""
    if len(made) != len(wanted):
        return math.inf
    return math.dist(made, wanted) / math.hypot(*wanted)


def measured(options, case, scratch):
    processes = begun(options, case, scratch)
    timed = [p for p in processes if "failed" not in p.row]
    for number in range(options.rounds):
        print(f"  round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        for p in timed:
            try:
                if not stays(p):
                    p.start()
                p.sample()
                if not stays(p):
                    p.stop()
            except (OSError, ValueError):
                p.row["failed"] = p.why()
        timed = [p for p in timed if "failed" not in p.row]
    ours = [p for p in timed if p.row["tool"] == "cairn"]
    if failed := [p.row["failed"] for p in processes if p.row["tool"] == "cairn" and "failed" in p.row] or not ours:
        sys.exit(f"versus: cairn's own program failed: {failed}")
    strongest = max(p.row["line"] for p in ours)
    base = {p.row["checkpoints"]: p for p in ours if p.row["line"] == strongest}
    wanted = numbers_in(base[None].file)
    stored = {p.row["line"]: p.file.read_bytes() for p in timed if p.row["checkpoints"] is None}
    for p in timed:
        beside = base[p.row["checkpoints"]]
        p.row |= {"seconds": p.clock_samples, "user_seconds": p.samples, "gradients_a_sample": p.times,
                  "to_cairn": statistics.median(a / b for a, b in zip(p.clock_samples, beside.clock_samples)),
                  "difference": difference(numbers_in(p.file), wanted)}
        if p.row["line"] in stored:
            p.row["same_bits"] = p.file.read_bytes() == stored[p.row["line"]]
        elif p.row["tool"] in bit_for_bit:
            p.row["same_bits"] = p.file.read_bytes() == base[None].file.read_bytes()
    for p in processes:
        p.end()
    return [{key: value for key, value in p.row.items() if key != "who"} for p in processes]


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def package_versions():
    """Of Debian's libraries, which do not all say theirs."""
    for name, package in packages.items():
        asked = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
        if asked.returncode == 0 and asked.stdout:
            yield name, f"{package} {asked.stdout}"


def about(options, case):
    compiler = subprocess.run([os.environ.get("CXX", "g++"), "--version"], capture_output=True, text=True).stdout
    return {"case": case, "side": fisher.sides[case], "steps": fisher.steps[case],
            "checkpoints": list(checkpoints_of[case]), "rounds": options.rounds,
            "threads": 1, "processor": processor(), "system": f"{platform.system()} {platform.release()}",
            "compiler": compiler.partition("\n")[0], "libraries": dict(package_versions()),
            "date": datetime.date.today().isoformat()}


def judged(rows):
    """Sentences about what is wrong."""
    for row in rows:
        name = f"{row['tool']}, {row['method']}"
        if row.get("difference", 0) > least_difference_told or math.isnan(row.get("difference", 0)):
            yield f"{name}: the gradient differs by {row['difference']:.2g} from that of storing every state"
        if row["tool"] in bit_for_bit and not row.get("same_bits", "failed" in row):
            yield f"{name}: other bits than with every state stored"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--programs", type=pathlib.Path, required=True)
    options.add_argument("--environment", type=pathlib.Path)
    options.add_argument("--torch", type=pathlib.Path)
    options.add_argument("--loops", type=pathlib.Path, default=pathlib.Path("loops"))
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--only", nargs="*")
    options.add_argument("--smoke", action="store_true")
    options.add_argument("--out", type=pathlib.Path)
    options.add_argument("--write", action="store_true")
    options = options.parse_args()
    if options.write and (options.smoke or options.only):
        sys.exit("versus: --write takes all tools at full size, without --smoke and --only")
    if options.smoke:
        options.rounds = 1
        compare.least_sample = 0.01
    if options.rounds < 1:
        sys.exit("versus: --rounds takes a number from 1 on")
    case = "fisher_small" if options.smoke else "fisher"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as scratch:
        rows = measured(options, case, scratch)
    missing = [{"tool": row["tool"], "why": row["failed"], "method": row["method"]} for row in rows if "failed" in row]
    missing += [{"tool": tool, "why": why} for tool, why in absent]
    data = about(options, case) | {"rows": [row for row in rows if "failed" not in row], "left_out": missing}
    print("\n".join(report.text(data)))
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(report.stored(data))
        print(f"written: {options.out}")
    wrong = list(judged(rows))
    if options.write and not wrong:
        for path in report.publish(data, here.parent.parent):
            print(f"written: {path}")
    print("\n".join(f"versus: {sentence}" for sentence in wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
