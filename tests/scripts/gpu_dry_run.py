#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run gpu` on a machine without a device: every row of the measurements is there, right, and what was foretold.

    gpu_dry_run.py PROGRAM ROOT    PROGRAM is made from benchmarks/gpu/dry_plan.cpp, on whose clock every prediction
                                   must come true
"""
import collections
import copy
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

keys = ["device", "driver", "cuda", "date", "commit", "sources", "bench", "params", "unit", "n", "median", "min", "max",
        "floor", "ratio_to_floor", "predicted", "tolerance", "assumed_ratio", "found", "right", "ok", "note"]
# How many rows of a bench there are in a dry run: whole sweeps, those of which nothing is predicted, and others.
sweeps = {"E1 store-all": 2, "E2": 6, "E3": 8, "E4": 2, "E5": 6, "E6": 2, "E7": 2}
unanswered = dict.fromkeys(["device", "launch, host", "launch, device", "record and wait, host",
                            "launch in a graph, device", "copy down, not pinned", "pin"], 1)
others = {**unanswered, **dict.fromkeys(["copy within", "copy down", "copy up", "copy both ways", "check graph",
                                         "E8 crossover"], 1), "check": 24, "E1": 12, "E3 stall": 4, "E8": 6}


def faults_of_row(row):
    """What is wrong with one line."""
    if list(row) != keys:
        return [f"the keys are {list(row)}"]
    bench, found, faults = row["bench"], row["found"], []

    def need(true, what):
        if not true:
            faults.append(f"{what}: {row}")
    numbers = [row[key] for key in ("min", "median", "max")]
    need(numbers == [None] * 3 if row["n"] == 0 else numbers == sorted(numbers), "median, min and max")
    need((row["device"], row["commit"], row["note"]) == ("dry run", "0123abc", ""), "device, commit and note")
    is_asked = bench not in unanswered and row["params"].get("what") != "pin"
    need(row["right"] is not False and row["ok"] is (True if is_asked else None), "right and ok")
    if row["n"] and row["predicted"]:
        need(abs(row["median"] / row["predicted"] - 1) <= row["tolerance"], "not what was predicted")
    if bench in sweeps:
        copies = row["params"].get("copies")
        need(row["n"] and None not in [row[key] for key in ("floor", "predicted", "assumed_ratio", "ratio_to_floor")],
             "not measured, or without a prediction")
        need([bool(found[key]) for key in ("allocations", "bitwise", "host_waits", "bytes_within", "copies")] ==
             [False, copies != "left out", copies == "waited for", bench == "E4", bench not in ("E1 store-all", "E2")],
             "allocations, bits, waits of the host, bytes within the device, copies")
        need(bench not in ("E3", "E7") or found["host_bytes_by"] == "--host-bytes", "memory of the host")
    if bench == "check":
        need(found["sweeps"] == 36 and not (found["wrong"] or found["allocations"] or found["host_waits"]), "sweeps")
        need(row["params"]["form"] != "out of place" or not found["bytes_within"], "bytes within the device")
    return faults


def faults_of(rows):
    """What is wrong with the lines of facts, tests and tables."""
    counts = collections.Counter(row.get("bench") for row in rows)
    faults = [f"{counts[bench]} rows of {bench}, not {count}" for bench, count in {**sweeps, **others}.items()
              if counts[bench] != count]
    faults += [f"rows of {bench}" for bench in counts if bench not in sweeps and bench not in others]
    for row in rows:
        faults += faults_of_row(row)
    some = [row for row in rows if row.get("bench") in sweeps]
    if not any(row["found"].get("compared_with", "").startswith("some rods") for row in some):
        faults.append("every loop had all of its states stored: the comparison of some rods was not tried")
    return faults


def plant(rows):
    """Faults, one by one, that must be found."""
    yield "a row less", [row for row in rows if row["bench"] != "E7"]
    yield "a row too many", rows + [{**rows[0], "bench": "E9"}]
    yield "a key too many", [{**row, "x": 1} for row in rows]
    for bench, key, value in (("E2", "bitwise", False), ("E3", "allocations", 1), ("E2", "bytes_within", 4),
                              ("E7", "median", 99.0), ("E3", "predicted", None), ("E6", "n", 0), ("check", "wrong", 1),
                              ("E4", "note", "skipped"), ("E7", "host_bytes_by", "")):
        broken = copy.deepcopy(rows)
        row = next(row for row in broken if row["bench"] == bench)
        (row["found"] if key in row["found"] else row)[key] = value
        yield f"{key} {value} of {bench}", broken


def lines_in(folder):
    path, = folder.glob("gpu-dry-run-2*.json")
    assert path.with_suffix(".log").exists() and len(list(folder.iterdir())) <= 8, list(folder.iterdir())
    return [json.loads(line) for line in path.read_text().splitlines()]


def ends(script, expected, *arguments, **how):
    done = subprocess.run([script, *arguments], capture_output=True, text=True, **how)
    printed = done.stdout + done.stderr
    assert done.returncode == expected, f"{arguments} ended with {done.returncode}, not {expected}:\n{printed}"
    return printed


class Machine:
    """A tree with the script alone, on a machine whose tools are stand-ins."""

    def __init__(self, scratch, program, script):
        self.scratch, self.tree, self.tools = scratch, scratch / "tree", scratch / "tools"
        for folder in ("benchmarks/gpu", "include", "examples/support", "build/gpu/Testing/Temporary"):
            (self.tree / folder).mkdir(parents=True)
        self.script = shutil.copy(script, self.tree / "benchmarks/gpu/gpu.sh")
        self.tools.mkdir()
        for tool in ("sh env dirname cat cut date sed tr mkdir tee rm ls find head tail grep sort cp du timeout "
                     "getconf sha256sum xargs").split():
            (self.tools / tool).symlink_to(shutil.which(tool))
        # What nvcc makes is the dry program, with short loops for the sake of time, which knows its sources.
        self.tool("short", f"""if [ "$1" = sources ]; then exec cat {scratch}/sum; fi
if [ "$1" = check ]; then set -- "$@" --longest 1; fi\nexec {program} "$@\"""")
        self.tool("nvcc", f"""echo "$@" >{scratch}/nvcc.args
for out; do case $out in -DGPU_SOURCES=*) echo "$out" | tr -dc 0-9a-f >{scratch}/sum ;; esac; done
cp {self.tools}/short $out""")
        self.tool("nvidia-smi", "")

    def tool(self, name, text, folder=None):
        path = (folder or self.tools) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def says(self, expected, *arguments, **environment):
        return ends(self.script, expected, *arguments,
                    env={"PATH": str(self.tools), "CUDA_HOME": "/nonexistent", **environment})

    def rows(self, expected, *arguments, **environment):
        """Whether each bench is ok, and its note."""
        out = self.scratch / "stand_ins"
        shutil.rmtree(out, ignore_errors=True)
        self.printed = self.says(expected, *arguments, "--out", out, **environment)
        self.lines = lines_in(out)
        return {row["bench"]: (row["ok"], row["note"]) for row in self.lines}


def with_stand_ins(m):
    """The parts `tests` and `sanitizer`, and which program they use."""
    passed, log = "100% tests passed, 0 tests failed out of 5", "build/gpu/Testing/Temporary/LastTest.log"
    rows = m.rows(0, "tests", "sanitizer", "peers")
    assert rows["peers"] == (None, "skipped: there is no python3")
    assert "-arch=native" in (m.scratch / "nvcc.args").read_text().split()
    assert rows["check"][0] and rows["sanitizer"] == (None, "skipped: there is no compute-sanitizer"), rows
    assert rows["tests"] == (None, "skipped: there is no CMake"), rows
    # What counts of the sources is what is in them, not when they were written.
    (m.tree / "include/x.hpp").touch()
    assert "building" not in m.says(0, "graphs", "--out", m.scratch / "again")
    (m.tree / "include/x.hpp").write_text("//")
    assert "was made from other sources" in m.says(0, "graphs", "--out", m.scratch / "again")

    def cmake(says="", status=0):
        m.tool("cmake", f'echo "$@" >>{m.scratch}/cmake.args\necho cmake version 3.25.1\necho "{says}"\n'
                        f'if [ "$1" = --build ]; then exit {status}; fi')

    def ctest(logged="", status=0, said=passed):
        m.tool("ctest", f'echo "$@" >{m.scratch}/ctest.args\necho "{logged}" >{log}\necho "{said}"\nexit {status}')
    cmake()
    ctest()
    rows = m.rows(0, "tests")
    assert rows["tests"] == (True, passed) and not [name for name in rows if name.startswith("test ")], rows
    assert (m.scratch / "ctest.args").read_text() == "--preset gpu\n"
    assert "PREFIX" not in (m.scratch / "cmake.args").read_text()
    # Catch2 that is carried along is found where it was carried to; without any, what is left out is said by name.
    (m.scratch / "carried/include/catch2").mkdir(parents=True)
    m.rows(0, "tests", "--catch", m.scratch / "carried")
    assert f"--preset gpu -DCMAKE_PREFIX_PATH={m.scratch}/carried\n" in (m.scratch / "cmake.args").read_text()
    cmake("-- cairn: no Catch2, adapt_x_test_cu is left out\n-- cairn: no OpenMP, y is left out")
    rows = m.rows(0, "tests")
    assert rows["test adapt_x_test_cu"] == (None, "skipped: there is no Catch2") and "test y" not in rows, rows
    for printed, code, ok, said in (("= ERROR SUMMARY: 0 errors", 0, True, "ERROR SUMMARY: 0 errors"),
                                    ("not permitted", 1, None, "skipped: it ended with 1: not permitted"),
                                    ("= ERROR SUMMARY: 2 errors", 9, False, "ended with 9: ERROR SUMMARY: 2 errors")):
        m.tool("compute-sanitizer", f"echo '{printed}'; exit {code}")
        assert m.rows(ok is False, "sanitizer")["sanitizer racecheck"] == (ok, said)
    for arguments in (("cairn: skipped: no GPU",), ("no GPU, nothing is run",), ("", 8)):
        ctest(*arguments)
        assert m.rows(1, "tests")["tests"][0] is False, f"tests passed: {arguments}"
    cmake(status=1)
    assert m.rows(1, "tests")["tests"] == (False, "the build ended with 1")
    m.tool("cmake", "echo cmake version 3.22.1")
    assert m.rows(0, "tests")["tests"][0] is None


def all_in_time(m):
    """`all` where everything takes ten times as long as predicted, tests and sanitizer all the time that they have."""
    clock = m.scratch / "clock"

    def spends(seconds, said):
        return f'read -r now <{clock}\necho "$((${{now%.*}} + {seconds})).0" >{clock}\necho "{said}"'
    m.tool("cmake", "echo cmake version 3.25.1")
    m.tool("ctest", spends(149, "100% tests passed") + "\n: >build/gpu/Testing/Temporary/LastTest.log")
    m.tool("compute-sanitizer", spends(40, "ERROR SUMMARY: 0 errors"))
    for seconds in (300, 560):  # less than E7 takes then, and more
        clock.write_text("1000.0\n")
        rows = m.rows(0, "all", "--seconds", str(seconds), DRY_LATE="10", DRY_CLOCK=str(clock))
        taken = float(clock.read_text()) - 1000
        assert taken <= seconds, f"{taken} s\n{m.printed}"
        first, *rest = [row for row in m.lines if row["bench"] in sweeps]
        assert first["bench"] == "E7" and first["n"] == (seconds > 300), first
        assert first["median"] / first["predicted"] > 9.5 if first["n"] else first["note"].startswith("stopped"), first
        assert rest and all(row["n"] or row["note"].startswith("skipped") for row in rest), rest
        assert all(f"== {part}: about " in m.printed for part in ("tests", "facts", "tables")), m.printed
        assert {"graphs", "E8"} & set(rows) and {"torch", "peers", "sanitizer"} <= set(rows), rows
    return taken


def killed(m):
    """All rows that were printed until then are in the file."""
    out = m.scratch / "killed"
    with subprocess.Popen([m.script, "tables", "--out", out], stdout=subprocess.PIPE, text=True, start_new_session=True,
                          env={"PATH": str(m.tools), "CUDA_HOME": "/nonexistent"}) as running:
        printed = []
        while "E3" not in printed:
            printed += running.stdout.readline().split()[:1]
        os.killpg(running.pid, signal.SIGKILL)
    counts = collections.Counter(row["bench"] for row in lines_in(out))
    assert counts["E7"] == 1 and counts["E1"] == 6 and counts["E3"] >= 1 and not counts["E2"], counts


def carried(m):
    """What `prepare` makes is used elsewhere, without nvcc and CMake."""
    for name in ("tests/adapt_x", "examples/y"):
        m.tool(name, "echo All good", m.tree / "build/gpu-carry")
    told = m.says(0, "prepare", "--commit", "0123abc")
    command = told.splitlines()[-1]
    assert command == "./run gpu all --seconds 560 --out results --commit 0123abc" and len(command) < 2000, told
    for said in ("user time to build them: ", "MiB build/carry/gpu_plan", "MiB with the working tree"):
        assert said in told, told
    arguments = (m.scratch / "nvcc.args").read_text()
    assert "code=[sm_90,compute_90]" in arguments and "-static-libstdc++" in arguments, arguments
    for name in ("nvcc", "cmake", "ctest"):
        (m.tools / name).unlink()
    (m.tree / "include/x.hpp").write_text("// newer than what is carried")
    tests = m.tree / "build/carry/tests"
    rows = m.rows(0, "tests")
    assert rows["test adapt_x"] == rows["test y"] == (True, "All good"), rows
    assert rows["sources"][1].startswith("made from sources with the sum"), rows
    for text, said in (("echo no GPU, nothing is run", "it found no device"),
                       ("echo 2 failed; exit 2", "ended with 2: 2 failed")):
        m.tool("y", text, tests)
        assert m.rows(1, "tests")["test y"] == (False, said)
    m.tool("y", "echo error while loading shared libraries: libc; exit 1", tests)
    assert m.rows(0, "tests")["tests"] == (None, "skipped: there is no CMake")
    m.tool("gpu_plan", 'if [ "$1" = sources ]; then echo 1; exit; fi; exit 77', tests.parent)
    told = m.says(77, "facts")
    assert "no device" in told and "nvcc" not in told, told
    shutil.rmtree(tests.parent)
    m.tool("nvidia-smi", "exit 1")
    shutil.rmtree(m.tree / "build/gpu")
    if not os.path.exists("/dev/nvidia0"):
        told = m.says(77, "facts")
        assert "no device" in told and "nvcc" not in told and "this would do: facts" in told, told


def main():
    program, root = sys.argv[1:]
    script = pathlib.Path(root) / "benchmarks/gpu/gpu.sh"
    before = sorted((pathlib.Path(root) / "docs/evidence").glob("*"))

    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        dry = ["--dry", program, "--commit", "0123abc", "--out"]
        parts = "facts", "tests", "tables", "graphs", "--host-bytes", "6000000"
        printed = ends(script, 0, *parts, *dry, scratch / "all")
        rows = lines_in(scratch / "all")
        assert not faults_of(rows), "\n".join([printed, *faults_of(rows)])
        for what, broken in plant(rows):
            assert faults_of(broken), f"not found: {what}"

        # Lines are added to what is there; where there is no time each says so.
        ends(script, 0, "tables", "--seconds", "0", *dry, scratch / "all")
        late = lines_in(scratch / "all")[len(rows):]
        assert late and all(row["n"] == 0 and row["note"].startswith("skipped") for row in late), late

        # A wrong bit, here of what comes back from the host, ends the part.
        told = ends(script, 1, "tables", *dry, scratch / "wrong", env={**os.environ, "DRY_SPOILS": "1"})
        last = lines_in(scratch / "wrong")[-1]
        assert "tables ends: wrong is E7 {" in told and last["bench"] == "E7" and last["right"] is False, told

        # Memory that cannot be pinned, though it is said to be there: fewer slots, for what follows too.
        ends(script, 1, "tables", *dry, scratch / "short", env={**os.environ, "DRY_PINS": "500000"})
        short = [row for row in lines_in(scratch / "short") if row["bench"] in ("E7", "E3")]
        assert [row["n"] for row in short[:4]] == [0, 1, 3, 3] and short[0]["note"].startswith("failed"), short
        assert [row["found"]["host_slots"] for row in short[1:4]] == [6, 6, 6], short

        # Peers that are not installed are said.
        ends(script, 0, "peers", *dry, scratch / "peers")
        peers = [row for row in lines_in(scratch / "peers") if row["bench"] != "peer cairn"]
        assert len(peers) == 6 and all(list(row) == keys and (row["right"] or row["note"]) for row in peers), peers
        stand_ins = Machine(scratch, program, script)
        with_stand_ins(stand_ins)
        taken = all_in_time(stand_ins)
        killed(stand_ins)
        carried(stand_ins)
        for wrong in (["everything"], ["--seconds"], ["--host-bytes", "much"], ["--catch", scratch],
                      ["facts", "--dry", program]):
            ends(script, 2, *wrong)
        ends(script, 0, "--help")
        for wrong in ([], ["everything"], ["facts", "out"], ["facts", "--out"], ["equal"]):
            ends(program, 2, *wrong)
        ends(program, 1, "facts", "--out", "/nonexistent/x")
    assert before == sorted((pathlib.Path(root) / "docs/evidence").glob("*")), "a dry run wrote to docs/evidence"
    print(f"{len(rows)} rows, all as foretold; ten times as slow, all of it ends after {taken:.0f} s of 560")


sys.exit(main())
