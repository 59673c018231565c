#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What benchmarks/versus/report.py writes for people has the figures of the runs, and docs/versus.md those of
docs/evidence/versus.json.

    versus_report.py ROOT          prints what is wrong
    versus_report.py ROOT --self   plants faults and checks that they are found
"""
import copy
import json
import math
import pathlib
import random
import re
import statistics
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

from pictures import SVG, faults, path_points

root = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(root / "benchmarks" / "versus"))
import report  # noqa: E402


def invented(seed):
    """Figures of runs that never were: every tool, very different times, some rows without a count."""
    rolled = random.Random(seed)
    tools = [("adjoint by hand", "cairn", "cairn 0.1.0, -O2"),
             ("adjoint by hand", "cairn", "cairn 0.1.0, -O3 -march=native"),
             ("adjoint by hand", "a|pipe <&> \"quotes\"", "x 1"), ("JAX, compiled", "diffrax", "jax 0.10"),
             ("ADOL-C's tapes", "ADOL-C's checkpointing", "y 2")]
    rows = []
    for line, (group, tool, version) in enumerate(tools):
        for checkpoints in (None, 65, 30)[line == 4:]:
            samples = [10 ** rolled.uniform(-2, 2) * k for k in (1, 1.1, 1.2)]
            rows.append({"line": line, "group": group, "tool": tool, "version": version, "checkpoints": checkpoints,
                         "method": f"m:{checkpoints}", "how": "Revolve" if checkpoints else "every state stored",
                         "seconds": samples, "user_seconds": [0.9 * sample for sample in samples],
                         "to_cairn": rolled.uniform(0.1, 90), "rss_bytes": round(10 ** rolled.uniform(4, 9)),
                         "peak_rss_bytes": 10 ** 9, "bytes": None if line == 3 else 10 ** 7,
                         "bytes_are": "counted heap", "difference": 0.0 if line < 2 else 3e-15, "same_bits": line < 2})
    return {"case": "fisher", "side": 256, "steps": 1000, "checkpoints": [65, 30], "rounds": 3, "threads": 1,
            "processor": "some processor", "system": "Linux", "compiler": "g++ 12",
            "libraries": {"PETSc": "petsc-dev 1"}, "date": "2026-01-02", "rows": rows,
            "left_out": [{"tool": "x", "why": "not installed (PyPI: x)"},
                         {"tool": "y", "why": "crashed", "method": "own:30"}]}


def drawn_marks(text):
    """(panel, kind, line, value) of every mark, by the numbers along the axes; lines are counted from the top."""
    groups = {group.get("class"): group for group in ElementTree.fromstring(text).iter(SVG + "g")}
    ticks = [[]]
    for number in groups["x-axis"].findall(SVG + "text"):
        if re.fullmatch(r"[\d.,e+-]+", number.text):
            ticks[-1].append((float(number.text.replace(",", "")), float(number.get("x"))))
        else:  # the name of the axis, behind its numbers
            ticks.append([])
    lines = {round(float(label.get("y")) - 4): k for k, label in enumerate(groups["y-axis"].findall(SVG + "text"))}
    for path in groups["marks"].findall(SVG + "path"):
        points = list(path_points(path.get("d")))
        x = (min(x for x, _ in points) + max(x for x, _ in points)) / 2
        panel = int(x > max(at for _, at in ticks[0]) + 10)
        (low, first), (high, last) = ticks[panel][0], ticks[panel][-1]
        value = low * (high / low) ** ((x - first) / (last - first))
        yield panel, report.marks.index(path.get("class")), lines.get(round(points[0][1]), -1), value


def picture_faults(data, text):
    wanted = sorted((panel, report.kind_of(row, data), line, of(row))
                    for line, (_, _, rows) in enumerate(report.lines_of(data)) for row in rows
                    for panel, of in enumerate((report.seconds, report.rise)))
    made = sorted(drawn_marks(text))
    if len(made) != len(wanted):
        yield f"{len(made)} marks, not {len(wanted)}"
    for mark, other in zip(made, wanted):
        if mark[:3] != other[:3] or abs(math.log(mark[3] / other[3])) > 0.02:
            yield f"a mark of {mark}, not of {other}"


def table_faults(data, text):
    lines = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.splitlines()
             if line.startswith("|")]
    if any(len(cells) != len(report.columns) for cells in lines):
        yield "rows of different lengths"
    body = [cells for cells in lines[2:] if not cells[0].startswith("**")]
    if len(body) != len(data["rows"]):
        yield f"{len(body)} rows, not {len(data['rows'])}"
    for row, cells in zip(data["rows"], body):
        figures = dict(zip((heading for heading, *_ in report.columns), cells))
        if figures["tool"].replace("\\|", "|") != row["tool"] or figures["version, flags"] != row["version"]:
            yield f"{figures['tool']}: not {row['tool']}, {row['version']}"
        for heading, value in (("time s", statistics.median(row["seconds"])),
                               ("user s", statistics.median(row["user_seconds"])), ("x cairn", row["to_cairn"]),
                               ("rise MB", row["rss_bytes"] / 1e6), ("peak MB", row["peak_rss_bytes"] / 1e6)):
            if abs(float(figures[heading]) - value) > 0.006 * value + (0.051 if "MB" in heading else 0.006):
                yield f"{row['tool']}: {heading} {figures[heading]}, not {value}"
    text = " ".join(text.split())  # sentences are wrapped
    said = [word for missing in data["left_out"] for word in (missing["tool"], missing["why"])]
    said += [data["processor"], data["date"], data["compiler"], f"{data['threads']} thread",
             *data["libraries"].values()]
    yield from (f"does not say {word}" for word in said if word not in text)


def invented_faults(data):
    text, shown = report.picture(data, root), "\n".join(report.text(data))
    yield from picture_faults(data, text)
    yield from table_faults(data, report.markdown(data))
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch, "versus.svg")
        file.write_text(text)
        yield from faults(file, None)
    yield from (f"the terminal's table lacks {row}" for row in data["rows"]
                if report.shown(report.seconds(row)) not in shown)


def kept_faults():
    """docs/pictures/versus.svg is compared by pictures.py."""
    figures, page = root / report.evidence, (root / report.page).read_text()
    data = json.loads(figures.read_text()) if figures.exists() else None
    if report.with_table(page, data) != page:
        yield f"{report.page} is not what report.py makes of {report.evidence}"
    if data is not None and report.stored(data) != figures.read_text():
        yield f"{report.evidence} is not as report.py writes it"


def self_test():
    data = invented(1)
    forgotten = [{"tool": "x", "why": "forgotten"}]
    for key, value, found_by in (("seconds", [17.0], "both"), ("rss_bytes", 77_000_000, "both"), ("rows", None, "both"),
                                 ("checkpoints", 30, "picture"), ("line", 3, "picture"), ("to_cairn", 99.0, "table"),
                                 ("version", "z 9", "table"), ("date", "1999", "table"),
                                 ("left_out", forgotten, "table")):
        other = copy.deepcopy(data)
        if key == "rows":
            del other["rows"][0]
        else:
            (other["rows"][4] if key in other["rows"][4] else other)[key] = value
        if found_by != "table" and not list(picture_faults(other, report.picture(data, root))):
            yield f"not found in the picture: {key}"
        if found_by != "picture" and not list(table_faults(other, report.markdown(data))):
            yield f"not found in the table: {key}"


def main():
    if "--self" in sys.argv:
        wrong = list(self_test())
    else:
        wrong = [fault for seed in range(20) for fault in invented_faults(invented(seed))] + list(kept_faults())
    print("\n".join(wrong) or "no faults")
    return bool(wrong)


sys.exit(main())
