#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run versus` on a small loop: its figures are those of the runs, and wrong gradients are told. And what
benchmarks/versus/report.py writes for people has these figures, docs/versus.md those of docs/evidence/versus.json.

    versus.py ROOT PROGRAMS    a small loop; PROGRAMS holds those of cairn, ADOL-C and PETSc that could be built
    versus.py ROOT             what is written for people
    versus.py ROOT --self      plants faults in that and checks that they are found
"""
import copy
import json
import math
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

root = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(root / "benchmarks" / "versus"))
import report  # noqa: E402

# Stands in for a program: its gradient is that of storing every state, by REAL, or one that is spoilt; its figures are
# known.
STAND_IN = '''#!{python}
import array, json, math, subprocess, sys
method, file, case = sys.argv[1:]
real = "store_all" if {foreign} else method
told = subprocess.run([{real!r}, real, file, case], input="", capture_output=True, text=True, check=True).stdout
numbers = array.array("d")
numbers.frombytes(open(file, "rb").read())
if method != "store_all":
    numbers[7] = {spoilt}
open(file, "wb").write(numbers.tobytes())
print(json.dumps({{"rss_bytes": 1234567890, "peak_rss_bytes": 2345678901, "bytes": 45678901, "bytes_are": "stand-in",
                  "version": "stand-in 1.2"}}), flush=True)
for line in sys.stdin:
    print(0.5 * int(line), 0.75 * int(line), flush=True)
'''


def run(programs, scratch, expected, *words):
    out = scratch / "versus.json"
    out.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, root / "benchmarks/versus/versus.py", "--programs", programs, "--smoke",
                           "--out", out, *words], capture_output=True, text=True)
    printed = done.stdout + done.stderr
    assert done.returncode == expected, f"ended with {done.returncode}, not {expected}:\n{printed}"
    return json.loads(out.read_text()) if out.exists() else None, printed


def check_figures(data, printed):
    """The table has the figures of the rows, and these those of their samples."""
    table = [line.split() for line in printed.splitlines()]
    cairn = {row["checkpoints"]: row for row in data["rows"] if row["tool"] == "cairn"}
    assert set(cairn) == {None, 16, 12}, cairn.keys()
    for row in data["rows"]:
        assert row["difference"] <= 1e-10 and len(row["seconds"]) == len(row["user_seconds"]) == data["rounds"], row
        assert min(row["seconds"]) > 0 and row["peak_rss_bytes"] >= row["rss_bytes"] >= 0, row
        ratios = [a / b for a, b in zip(row["seconds"], cairn[row["checkpoints"]]["seconds"])]
        assert row["to_cairn"] == statistics.median(ratios), row
        begin = [*row["tool"].split(), "all" if row["checkpoints"] is None else str(row["checkpoints"])]
        wanted = [statistics.median(row["seconds"]), statistics.median(row["user_seconds"]), row["to_cairn"]]
        shown = [words[len(begin):len(begin) + 3] for words in table if words[:len(begin)] == begin]
        assert any(all(math.isclose(float(a), b, rel_tol=0.006, abs_tol=0.006 * (k == 2))
                       for k, (a, b) in enumerate(zip(line, wanted))) for line in shown), f"{shown}, not {wanted}"
    for checkpoints in (16, 12):
        assert cairn[checkpoints]["same_bits"] and cairn[checkpoints]["bytes"] < cairn[None]["bytes"] / 2, cairn


def smoke(programs):
    real = next(iter(sorted(programs.glob("peers_fisher_peer_*"))))
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        tools = ["hand", "PETSc", "ADOL-C"]
        data, printed = run(programs, scratch, 0, "--only", *tools)
        check_figures(data, printed)
        for name, file in (("cairn over PETSc", "peers_petsc_peer_*"), ("ADOL-C's checkpointing", "ad_adolc_peer_*")):
            found = any(row["tool"] == name for row in data["rows"])
            assert found == bool(list(programs.glob(file))), f"{name}: {found}"
            assert found or f"left out: {name}: not installed (Debian: " in printed, printed
        assert "left out: pyrevolve over numpy: not installed (PyPI: numpy, pyrevolve)" in printed, printed

        folder = scratch / "stand_ins"
        folder.mkdir()
        (folder / real.name).symlink_to(real)

        def stand_in(name, spoilt, foreign=True):
            text = STAND_IN.format(python=sys.executable, real=str(real), spoilt=spoilt, foreign=foreign)
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        stand_in("ad_adolc_peer_x", "numbers[7]")
        data, printed = run(folder, scratch, 0, "--only", "ADOL-C's checkpointing")
        check_figures(data, printed)
        row = next(row for row in data["rows"] if row["version"] == "stand-in 1.2")
        assert (row["seconds"], row["user_seconds"], row["difference"]) == ([0.75], [0.5], 0), row
        line = next(line for line in printed.splitlines() if "stand-in 1.2" in line).split()
        assert line[2:5] == ["16", "0.750", "0.500"] and line[6:10] == ["1234.6", "2345.7", "45.7", "stand-in"], line
        for spoilt in ("numbers[7] * (1 + 1e-6)", "math.nan"):
            stand_in("ad_adolc_peer_x", spoilt)
            _, printed = run(folder, scratch, 1, "--only", "ADOL-C's checkpointing")
            assert "ADOL-C's checkpointing, own:16: the gradient differs by" in printed, printed
        stand_in("peers_fisher_peer_z", "math.nextafter(numbers[7], math.inf)", foreign=False)
        _, printed = run(folder, scratch, 1, "--only", "cairn")
        assert "cairn, revolve:12: other bits than with every state stored" in printed, printed
        _, printed = run(folder, scratch, 1, "--write")
        assert "--write takes all tools at full size" in printed, printed
    print(f"{len(data['rows'])} rows")


def invented(seed):
    """Figures of runs that never were: the kept ones with very different times, a name of signs, rows without a count."""
    rolled, data = random.Random(seed), json.loads((root / report.evidence).read_text())
    for row in data["rows"]:
        slower = 10 ** rolled.uniform(-3, 3)
        row |= {key: [slower * sample for sample in row[key]] for key in ("seconds", "user_seconds")}
        row |= {"to_cairn": rolled.uniform(0.1, 90), "rss_bytes": round(10 ** rolled.uniform(4, 9))}
        if row["line"] == 2:
            row |= {"tool": "a|pipe <&> \"quotes\"", "bytes": None}
    data["left_out"].append({"tool": "y", "why": "crashed", "method": "own:30"})
    return data


def table_faults(data, text):
    """The page has a line for each tool: time, ratio and memory of each row, and the worst difference."""
    lines = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.splitlines()
             if line.startswith("|")]
    if len({len(cells) for cells in lines}) != 1:
        yield "rows of different lengths"
    body = [cells for cells in lines[2:] if not cells[0].startswith("**")]
    tools = {}
    for row in data["rows"]:
        tools.setdefault(row["line"], []).append(row)
    if len(body) != len(tools):
        yield f"{len(body)} lines, not {len(tools)}"
    for rows, cells in zip(tools.values(), body):
        figures = dict(zip(lines[0], cells))
        if figures["tool"].replace("\\|", "|") != rows[0]["tool"] or figures["version, flags"] != rows[-1]["version"]:
            yield f"{figures['tool']}: not {rows[0]['tool']}, {rows[-1]['version']}"
        if sum(cell != "-" for cell in cells[1:2 + len(data["checkpoints"])]) != len(rows):
            yield f"{figures['tool']}: not {len(rows)} rows"
        worst = max(row["difference"] for row in rows)
        if abs(float(figures["difference"].replace("same bits", "0")) - worst) > 0.06 * worst:
            yield f"{figures['tool']}: difference {figures['difference']}, not {worst}"
        for row in rows:
            cell = figures["all" if row["checkpoints"] is None else str(row["checkpoints"])]
            said = [float(number) for number in re.findall(r"[\d.]+(?:e-?\d+)?", cell)]
            wanted = [statistics.median(row["seconds"]), row["to_cairn"], row["rss_bytes"] / 1e6]
            if len(said) != 3 or any(abs(a - b) > 0.006 * b + (0.006, 0.006, 0.051)[k]
                                     for k, (a, b) in enumerate(zip(said, wanted))):
                yield f"{row['tool']}: {cell}, not {wanted}"
    text = " ".join(text.split())  # sentences are wrapped
    said = [word for missing in data["left_out"] for word in (missing["tool"], missing["why"])]
    said += [data["processor"], data["date"], data["compiler"], f"{data['threads']} thread",
             *data["libraries"].values()]
    yield from (f"does not say {word}" for word in said if word not in text)


def report_faults():
    """docs/pictures/versus.svg is compared by pictures.py."""
    for seed in range(20):
        data = invented(seed)
        ElementTree.fromstring(report.picture(data, root))
        yield from table_faults(data, report.markdown(data))
        printed = "\n".join(report.text(data))
        yield from (f"the terminal's table lacks {row}" for row in data["rows"]
                    if report.shown(report.seconds(row)) not in printed)
    figures, page = (root / report.evidence).read_text(), (root / report.page).read_text()
    if report.with_table(page, json.loads(figures)) != page:
        yield f"{report.page} is not what report.py makes of {report.evidence}"
    if report.stored(json.loads(figures)) != figures:
        yield f"{report.evidence} is not as report.py writes it"


def planted_faults():
    data = invented(1)
    for key, value in (("seconds", [17.0]), ("rss_bytes", 77_000_000), ("rows", data["rows"][1:]), ("to_cairn", 99.0),
                       ("version", "z 9"), ("date", "1999"), ("left_out", [{"tool": "x", "why": "forgotten"}])):
        other = copy.deepcopy(data)
        (other["rows"][5] if key in other["rows"][5] else other)[key] = value
        if not list(table_faults(other, report.markdown(data))):
            yield f"not found in the table: {key}"


def main():
    if len(sys.argv) == 3 and sys.argv[2] != "--self":
        return smoke(pathlib.Path(sys.argv[2]).resolve())
    wrong = list(planted_faults() if sys.argv[2:] else report_faults())
    print("\n".join(wrong) or "no faults")
    return bool(wrong)


sys.exit(main())
