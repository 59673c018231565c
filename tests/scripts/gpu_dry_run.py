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
import subprocess
import sys
import tempfile

keys = ["device", "driver", "cuda", "date", "commit", "bench", "params", "unit", "n", "median", "min", "max", "floor",
        "ratio_to_floor", "predicted",
        "assumed_ratio", "found", "right", "ok", "note"]
# Of benches: how many rows there are in a dry run, and whether each is a whole sweep.
sweeps = {"E1 store-all": 2, "E2": 6, "E3": 8, "E4": 2, "E5": 6, "E6": 2, "E7": 2}
others = {"device": 1, "launch, host": 1, "launch, device": 1, "record and wait, host": 1,
          "launch in a graph, device": 1, "copy within": 1, "copy down": 1,
          "copy up": 1, "copy both ways": 1, "copy down, not pinned": 1, "pin": 2, "check": 24, "check graph": 1,
          "E1": 10, "E3 stall": 4, "E8": 6}
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
    if row["note"]:
        faults.append(f"{name}: {row['note']}")
    if row["right"] is False or row["ok"] is False or (row["ok"] is None) != (row["bench"] in without_answer):
        faults.append(f"{name}: right {row['right']}, ok {row['ok']}")
    if row["n"] and row["predicted"] and not 0.97 <= row["median"] / row["predicted"] <= 1.03:
        faults.append(f"{name}: {row['median'] / row['predicted']} times what was predicted")
    found = row["found"]
    if row["bench"] in sweeps:
        if any(row[key] is None for key in ("floor", "predicted", "assumed_ratio", "ratio_to_floor")) or row["n"] == 0:
            faults.append(f"{name}: not measured, or without a prediction")
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
    files = sorted(path.name for path in folder.iterdir())
    assert len(files) == 2 and files[0].startswith("gpu-dry-run-2"), files
    assert files[1] == files[0].removesuffix("json") + "log", files
    return [json.loads(line) for line in (folder / files[0]).read_text().splitlines()]


def with_stand_ins(scratch, program, script):
    """The part `tests` on a machine whose tools are stand-ins."""
    tree, tools = scratch / "tree", scratch / "tools"
    for folder in (tools, tree / "benchmarks/gpu", tree / "include", tree / "examples/support",
                   tree / "build/gpu/Testing/Temporary"):
        folder.mkdir(parents=True)
    shutil.copy(script, tree / "benchmarks/gpu/gpu.sh")
    for tool in ("sh", "env", "dirname", "cat", "date", "sed", "tr", "mkdir", "tee", "rm", "ls", "find", "head", "tail",
                 "grep", "sort", "cp", "timeout", "getconf"):
        (tools / tool).symlink_to(shutil.which(tool))

    def stand_in(name, text):
        (tools / name).unlink(missing_ok=True)
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)

    def rows_of(expected, *arguments):
        out = scratch / "stand_ins"
        shutil.rmtree(out, ignore_errors=True)
        done = subprocess.run([tree / "benchmarks/gpu/gpu.sh", "tests", "--out", out, *arguments], capture_output=True,
                              text=True,
                              env={"PATH": str(tools), "CUDA_HOME": "/nonexistent"})
        assert done.returncode == expected, f"{done.returncode}, not {expected}:\n{done.stdout}{done.stderr}"
        return {row["bench"]: (row["ok"], row["note"]) for row in lines_in(out)}

    passed = "echo '100% tests passed, 0 tests failed out of 5'"
    log = "build/gpu/Testing/Temporary/LastTest.log"
    stand_in("nvidia-smi", "exit 0")
    # What it makes is the dry program, with short loops for the sake of time.
    stand_in("short", f'if [ "$1" = check ]; then set -- "$@" --longest 1; fi\nexec {program} "$@"')
    stand_in("nvcc", f'echo "$@" >{scratch}/nvcc.args\nfor out; do :; done\ncp {tools / "short"} $out')
    rows = rows_of(0)
    assert "-arch=native" in (scratch / "nvcc.args").read_text().split()
    assert rows["check"][0] and rows["sanitizer"] == (None, "skipped: there is no compute-sanitizer"), rows
    assert rows["tests"] == (None, "skipped: there is no CMake"), rows
    stand_in("cmake", f'echo "$@" >>{scratch}/cmake.args\necho cmake version 3.25.1')
    stand_in("ctest", f'echo "$@" >{scratch}/ctest.args\n: >{log}\n{passed}')
    stand_in("compute-sanitizer", "echo '========= ERROR SUMMARY: 0 errors'")
    rows = rows_of(0)
    assert rows["sanitizer memcheck"] == rows["sanitizer racecheck"] == (True, "ERROR SUMMARY: 0 errors"), rows
    assert rows["tests"] == (True, "100% tests passed, 0 tests failed out of 5"), rows
    assert not [name for name in rows if name.startswith("test ")], rows
    assert (scratch / "ctest.args").read_text() == "--preset gpu\n"
    assert "PREFIX" not in (scratch / "cmake.args").read_text()
    # Catch2 that is carried along is found where it was carried to; without any, what is left out is said by name.
    (scratch / "carried/include/catch2").mkdir(parents=True)
    rows_of(0, "--catch", scratch / "carried")
    assert f"--preset gpu -DCMAKE_PREFIX_PATH={scratch}/carried\n" in (scratch / "cmake.args").read_text()
    stand_in("cmake", 'echo cmake version 3.25.1\necho "-- cairn: no Catch2, adapt_x_test_cu is left out"\n'
                      'echo "-- cairn: no OpenMP, y is left out"')
    rows = rows_of(0)
    assert rows["test adapt_x_test_cu"] == (None, "skipped: there is no Catch2"), rows
    assert "test y" not in rows and rows["tests"][0], rows
    stand_in("compute-sanitizer", "echo not permitted\nexit 1")
    assert rows_of(0)["sanitizer memcheck"] == (None, "skipped: it ended with 1: not permitted")
    stand_in("compute-sanitizer", "echo '========= ERROR SUMMARY: 2 errors'\nexit 9")
    assert rows_of(1)["sanitizer memcheck"][0] is False
    stand_in("compute-sanitizer", "echo '========= ERROR SUMMARY: 0 errors'")
    for said in ("cairn: skipped: no GPU", "no GPU, nothing is run"):
        stand_in("ctest", f"echo '{said}' >{log}\n{passed}")
        assert rows_of(1)["tests"][0] is False, "tests that were skipped for want of a device passed"
    stand_in("ctest", f": >{log}\nexit 8")
    assert rows_of(1)["tests"][0] is False
    stand_in("cmake", "if [ \"$1\" = --build ]; then exit 1; fi\necho cmake version 3.25.1")
    assert rows_of(1)["tests"] == (False, "the build ended with 1")
    stand_in("cmake", "echo cmake version 3.22.1")
    assert rows_of(0)["tests"][0] is None
    stand_in("cmake", "echo cmake version 3.25.1")
    assert rows_of(0, "--seconds", "20")["tests"] == (None, "skipped: no time left to build them")


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
        printed = ends(0, "facts", "tests", "tables", *dry, scratch / "all")
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
        for tool in ("sh", "env", "dirname", "cat", "date", "sed", "tr", "mkdir", "tee", "rm", "ls", "git"):
            if found := shutil.which(tool):
                (bare / tool).symlink_to(found)
        ends(0, "peers", *dry, scratch / "no_python", PATH=str(bare))
        assert [row["note"] for row in lines_in(scratch / "no_python")] == ["skipped: there is no python3"]

        with_stand_ins(scratch, program, script)

        told = ends(77, "facts", PATH=str(bare), CUDA_HOME="/nonexistent")
        assert "no nvcc" in told and "this would do: facts" in told, told
        for wrong in (["everything"], ["--seconds"], ["--catch", scratch / "bare"], ["--seconds", "soon"],
                      ["facts", "--dry", program]):
            ends(2, *wrong)
        ends(0, "--help")
        for wrong in ([], ["everything"], ["facts", "out"], ["facts", "--out"], ["equal"]):
            assert subprocess.run([program, *wrong], capture_output=True).returncode == 2, wrong
        assert subprocess.run([program, "facts", "--out", "/nonexistent/x"], capture_output=True).returncode == 1
    assert before == sorted((pathlib.Path(root) / "docs/evidence").glob("*")), "a dry run wrote to docs/evidence"
    print(f"{len(rows)} rows, all as foretold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
