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
# Of benches: how many rows there are in a dry run, and whether each is a whole sweep.
sweeps = {"E1 store-all": 2, "E2": 6, "E3": 8, "E4": 2, "E5": 6, "E6": 2, "E7": 2}
others = {"device": 1, "launch, host": 1, "launch, device": 1, "record and wait, host": 1,
          "launch in a graph, device": 1, "copy within": 1, "copy down": 1,
          "copy up": 1, "copy both ways": 1, "copy down, not pinned": 1, "pin": 1, "check": 24, "check graph": 1,
          "E1": 12, "E3 stall": 4, "E8": 6, "E8 crossover": 1}
without_answer = {"device", "launch, host", "launch, device", "record and wait, host", "launch in a graph, device",
                  "copy down, not pinned", "pin"}


def faults_of_row(row):
    """What is wrong with one line."""
    name = f"{row.get('bench')} {row.get('params')}"
    if list(row) != keys:
        return [f"{name}: the keys are {list(row)}"]
    faults = []
    numbers = [row[key] for key in ("median", "min", "max")]
    if (row["n"] == 0) != (numbers == [None] * 3):
        faults.append(f"{name}: {row['n']} samples, but median, min and max are {numbers}")
    elif row["n"] and not row["min"] <= row["median"] <= row["max"]:
        faults.append(f"{name}: median, min and max are {numbers}")
    if row["device"] != "dry run" or row["commit"] != "0123abc":
        faults.append(f"{name}: device {row['device']}, commit {row['commit']}")
    unanswered = row["bench"] in without_answer or row["params"].get("what") == "pin"
    if row["note"]:
        faults.append(f"{name}: {row['note']}")
    if row["right"] is False or row["ok"] is False or (row["ok"] is None) != unanswered:
        faults.append(f"{name}: right {row['right']}, ok {row['ok']}")
    off = row["median"] / row["predicted"] - 1 if row["n"] and row["predicted"] else 0
    if abs(off) > (row["tolerance"] or 0):
        faults.append(f"{name}: {1 + off} times what was predicted")
    found = row["found"]
    if row["bench"] in sweeps:
        if any(row[key] is None for key in ("floor", "predicted", "assumed_ratio", "ratio_to_floor")) or row["n"] == 0:
            faults.append(f"{name}: not measured, or without a prediction")
        if row["bench"] in ("E3", "E7") and (found["host_bytes"], found["host_bytes_by"]) != (6 << 20, "--host-bytes"):
            faults.append(f"{name}: {found} on the host")
        if found["bitwise"] != (row["params"].get("copies") != "left out"):
            faults.append(f"{name}: bitwise {found['bitwise']}")
        if found["allocations"] != 0 or (found["host_waits"] != 0) != (row["params"].get("copies") == "waited for"):
            faults.append(f"{name}: {found['allocations']} allocations, {found['host_waits']} waits of the host")
        if (found["bytes_within"] != 0) != (row["bench"] == "E4"):
            faults.append(f"{name}: {found['bytes_within']} bytes within the device")
        if (found["copies"] != 0) != (row["bench"] not in ("E1 store-all", "E2")):
            faults.append(f"{name}: {found['copies']} copies")
    if row["bench"] == "check":
        if found["sweeps"] != 36 or found["wrong"] or found["allocations"] or found["host_waits"]:
            faults.append(f"{name}: {found}")
        if row["params"]["form"] == "out of place" and found["bytes_within"]:
            faults.append(f"{name}: {found['bytes_within']} bytes within the device")
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
    def changed(bench, **values):
        broken = copy.deepcopy(rows)
        row = next(row for row in broken if row["bench"] == bench)
        for key, value in values.items():
            target = row["found"] if key in row["found"] else row
            target[key] = value
        return broken
    yield "a row less", [row for row in rows if row["bench"] != "E7"]
    yield "a row too many", rows + [{**rows[0], "bench": "E9"}]
    yield "a key too many", [{**row, "x": 1} for row in rows]
    yield "wrong bits", changed("E2", bitwise=False)
    yield "an allocation", changed("E3", allocations=1)
    yield "a copy within the device", changed("E2", bytes_within=4)
    yield "slower than foretold", changed("E7", median=2.0, max=3.0)
    yield "no prediction", changed("E3", predicted=None)
    yield "not measured", changed("E6", n=0, median=None, min=None, max=None)
    yield "a wrong sweep", changed("check", wrong=1)
    yield "a note", changed("E4", note="skipped")


def lines_in(folder):
    path, = folder.glob("gpu-dry-run-2*.json")
    assert path.with_suffix(".log").exists() and len(list(folder.iterdir())) <= 8, list(folder.iterdir())
    return [json.loads(line) for line in path.read_text().splitlines()]


class Machine:
    """A tree with the script alone, on a machine whose tools are stand-ins."""

    def __init__(self, scratch, program, script):
        self.scratch, self.tree, self.tools = scratch, scratch / "tree", scratch / "tools"
        for folder in ("benchmarks/gpu", "include", "examples/support", "build/gpu/Testing/Temporary"):
            (self.tree / folder).mkdir(parents=True)
        self.script = shutil.copy(script, self.tree / "benchmarks/gpu/gpu.sh")
        self.tools.mkdir()
        for tool in ("sh", "env", "dirname", "cat", "cut", "date", "sed", "tr", "mkdir", "tee", "rm", "ls", "find", "head",
                     "tail", "grep", "sort", "cp", "du", "timeout", "getconf", "sha256sum", "xargs"):
            (self.tools / tool).symlink_to(shutil.which(tool))
        # What nvcc makes is the dry program, with short loops for the sake of time, which knows its sources.
        self.short = f"""if [ "$1" = sources ]; then exec cat {scratch}/sum; fi
if [ "$1" = check ]; then set -- "$@" --longest 1; fi\nexec {program} "$@\""""
        self.tool("short", self.short)
        self.tool("nvcc", f"""echo "$@" >{scratch}/nvcc.args
for out; do case $out in -DGPU_SOURCES=*) echo "$out" | tr -dc 0-9a-f >{scratch}/sum ;; esac; done
cp {self.tools}/short $out""")
        self.tool("nvidia-smi", "exit 0")

    def tool(self, name, text, folder=None):
        path = (folder or self.tools) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def says(self, expected, *arguments, **environment):
        done = subprocess.run([self.script, *arguments], capture_output=True, text=True,
                              env={"PATH": str(self.tools), "CUDA_HOME": "/nonexistent", **environment})
        assert done.returncode == expected, f"{done.returncode}, not {expected}:\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def rows(self, expected, *arguments, **environment):
        """Whether each bench is ok, and its note."""
        out = self.scratch / "stand_ins"
        shutil.rmtree(out, ignore_errors=True)
        self.printed = self.says(expected, *arguments, "--out", out, **environment)
        self.lines = lines_in(out)
        return {row["bench"]: (row["ok"], row["note"]) for row in self.lines}


def with_stand_ins(m):
    """The parts `tests` and `sanitizer`, and which program they use."""
    passed = "echo '100% tests passed, 0 tests failed out of 5'"
    log = "build/gpu/Testing/Temporary/LastTest.log"
    both = "tests", "sanitizer"
    rows = m.rows(0, *both)
    assert "-arch=native" in (m.scratch / "nvcc.args").read_text().split()
    assert rows["check"][0] and rows["sanitizer"] == (None, "skipped: there is no compute-sanitizer"), rows
    assert rows["tests"] == (None, "skipped: there is no CMake"), rows
    # What counts of the sources is what is in them, not when they were written.
    (m.tree / "include/x.hpp").touch()
    assert "building" not in m.says(0, "graphs", "--out", m.scratch / "again")
    (m.tree / "include/x.hpp").write_text("//")
    assert "was made from other sources" in m.says(0, "graphs", "--out", m.scratch / "again")
    m.tool("cmake", f'echo "$@" >>{m.scratch}/cmake.args\necho cmake version 3.25.1')
    m.tool("ctest", f'echo "$@" >{m.scratch}/ctest.args\n: >{log}\n{passed}')
    m.tool("compute-sanitizer", "echo '========= ERROR SUMMARY: 0 errors'")
    rows = m.rows(0, *both)
    assert rows["sanitizer memcheck"] == rows["sanitizer racecheck"] == (True, "ERROR SUMMARY: 0 errors"), rows
    assert rows["tests"] == (True, "100% tests passed, 0 tests failed out of 5"), rows
    assert not [name for name in rows if name.startswith("test ")], rows
    assert (m.scratch / "ctest.args").read_text() == "--preset gpu\n"
    assert "PREFIX" not in (m.scratch / "cmake.args").read_text()
    # Catch2 that is carried along is found where it was carried to; without any, what is left out is said by name.
    (m.scratch / "carried/include/catch2").mkdir(parents=True)
    m.rows(0, "tests", "--catch", m.scratch / "carried")
    assert f"--preset gpu -DCMAKE_PREFIX_PATH={m.scratch}/carried\n" in (m.scratch / "cmake.args").read_text()
    m.tool("cmake", 'echo cmake version 3.25.1\necho "-- cairn: no Catch2, adapt_x_test_cu is left out"\n'
                    'echo "-- cairn: no OpenMP, y is left out"')
    rows = m.rows(0, "tests")
    assert rows["test adapt_x_test_cu"] == (None, "skipped: there is no Catch2"), rows
    assert "test y" not in rows and rows["tests"][0], rows
    for text, status, said in (("echo not permitted\nexit 1", 0, (None, "skipped: it ended with 1: not permitted")),
                               ("echo '= ERROR SUMMARY: 2 errors'\nexit 9", 1,
                                (False, "ended with 9: ERROR SUMMARY: 2 errors"))):
        m.tool("compute-sanitizer", text)
        assert m.rows(status, "sanitizer")["sanitizer memcheck"] == said
    for said in ("cairn: skipped: no GPU", "no GPU, nothing is run"):
        m.tool("ctest", f"echo '{said}' >{log}\n{passed}")
        assert m.rows(1, "tests")["tests"][0] is False, "tests that were skipped for want of a device passed"
    m.tool("ctest", f": >{log}\nexit 8")
    assert m.rows(1, "tests")["tests"][0] is False
    m.tool("cmake", "if [ \"$1\" = --build ]; then exit 1; fi\necho cmake version 3.25.1")
    assert m.rows(1, "tests")["tests"] == (False, "the build ended with 1")
    m.tool("cmake", "echo cmake version 3.22.1")
    assert m.rows(0, "tests")["tests"][0] is None
    m.tool("cmake", "echo cmake version 3.25.1")
    assert m.rows(0, "tests", "--seconds", "20")["tests"] == (None, "skipped: no time left to build them")


def all_in_time(m):
    """`all` where everything takes ten times as long as predicted, tests and sanitizer all the time that they have."""
    clock = m.scratch / "clock"

    def spends(seconds, said):
        return f'read -r now <{clock}\necho "$((${{now%.*}} + {seconds})).0" >{clock}\necho "{said}"'
    m.tool("cmake", "echo cmake version 3.25.1")
    m.tool("ctest", spends(149, "100% tests passed") + "\n: >build/gpu/Testing/Temporary/LastTest.log")
    m.tool("compute-sanitizer", spends(40, "ERROR SUMMARY: 0 errors"))
    clock.write_text("1000.0\n")
    rows = m.rows(0, "all", "--seconds", "560", DRY_LATE="10", DRY_CLOCK=str(clock))
    taken = float(clock.read_text()) - 1000
    assert taken <= 560, f"{taken} s\n{m.printed}"
    first = [row for row in m.lines if row["bench"] in sweeps][0]
    assert first["bench"] == "E7" and first["n"] == 1 and 9.5 < first["median"] / first["predicted"] < 10.5, first
    skipped = [row for row in m.lines if row["note"].startswith("skipped")]
    assert skipped and all(row["n"] == 0 and row["params"] for row in skipped if row["bench"] in sweeps), skipped
    for part in ("tests", "facts", "tables", "graphs"):
        assert f"== {part}: about " in m.printed, m.printed
    assert {"torch", "peers", "sanitizer", "E8 crossover"} <= set(rows), rows
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
    for folder in ("tests", "examples"):
        m.tool("adapt_x" if folder == "tests" else "y", "echo All good", m.tree / "build/gpu-carry" / folder)
    told = m.says(0, "prepare", "--commit", "0123abc")
    command = told.splitlines()[-1]
    assert command == "./run gpu all --seconds 560 --out results --commit 0123abc" and len(command) < 2000, told
    assert "user time to build them: " in told and "MiB build/carry/gpu_plan" in told and "with the working" in told, told
    arguments = (m.scratch / "nvcc.args").read_text()
    assert "code=[sm_90,compute_90]" in arguments and "-static-libstdc++" in arguments, arguments
    for tool in ("nvcc", "cmake", "ctest"):
        (m.tools / tool).unlink()
    (m.tree / "include/x.hpp").write_text("// newer than what is carried")
    tests = m.tree / "build/carry/tests"
    rows = m.rows(0, "tests")
    assert rows["test adapt_x"] == rows["test y"] == (True, "All good"), rows
    assert rows["sources"][1].startswith("made from sources with the sum"), rows
    for text, said in (("echo no GPU, nothing is run", "it found no device"), ("echo 2 failed; exit 2", "ended with 2: 2 failed")):
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

    def ends(expected, *arguments, **environment):
        done = subprocess.run([script, *arguments], capture_output=True, text=True, env={**os.environ, **environment})
        printed = done.stdout + done.stderr
        ended = f"gpu.sh {arguments} ended with {done.returncode}, not {expected}:\n{printed}"
        assert done.returncode == expected, ended
        return printed

    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        dry = ["--dry", program, "--commit", "0123abc", "--out"]
        printed = ends(0, "facts", "tests", "tables", "graphs", "--host-bytes", str(6 << 20), *dry, scratch / "all")
        rows = lines_in(scratch / "all")
        if faults := faults_of(rows):
            print(printed, *faults, sep="\n")
            return 1
        for what, broken in plant(rows):
            assert faults_of(broken), f"not found: {what}"

        # Lines are added to what is there; where there is no time each says so.
        ends(0, "tables", "--seconds", "0", *dry, scratch / "all")
        late = lines_in(scratch / "all")[len(rows):]
        assert late and all(row["n"] == 0 and row["note"].startswith("skipped") and row["ok"] is None
                            for row in late), late

        # Peers that are not installed are said, and so is a Python that is missing.
        ends(0, "peers", *dry, scratch / "peers")
        peers = [row for row in lines_in(scratch / "peers") if row["bench"] != "peer cairn"]
        assert len(peers) == 6 and all(list(row) == keys and (row["right"] or row["note"]) for row in peers), peers
        bare = scratch / "bare"
        bare.mkdir()
        for tool in ("sh", "env", "dirname", "cat", "date", "sed", "tr", "mkdir", "tee", "rm", "ls", "git", "timeout"):
            if found := shutil.which(tool):
                (bare / tool).symlink_to(found)
        ends(0, "peers", *dry, scratch / "no_python", PATH=str(bare))
        assert [row["note"] for row in lines_in(scratch / "no_python")] == ["skipped: there is no python3"]

        stand_ins = Machine(scratch, program, script)
        with_stand_ins(stand_ins)
        taken = all_in_time(stand_ins)
        killed(stand_ins)
        carried(stand_ins)
        for wrong in (["everything"], ["--seconds"], ["--host-bytes", "much"], ["--catch", scratch / "bare"], ["--seconds", "soon"],
                      ["facts", "--dry", program]):
            ends(2, *wrong)
        ends(0, "--help")
        for wrong in ([], ["everything"], ["facts", "out"], ["facts", "--out"], ["equal"]):
            assert subprocess.run([program, *wrong], capture_output=True).returncode == 2, wrong
        assert subprocess.run([program, "facts", "--out", "/nonexistent/x"], capture_output=True).returncode == 1
    assert before == sorted((pathlib.Path(root) / "docs/evidence").glob("*")), "a dry run wrote to docs/evidence"
    print(f"{len(rows)} rows, all as foretold; ten times as slow, all of it ends after {taken:.0f} s of 560")
    return 0


if __name__ == "__main__":
    sys.exit(main())
