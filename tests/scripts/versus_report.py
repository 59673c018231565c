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
        for checkpoints in (None, 65, 30):
            if checkpoints is None and line == 4:
                continue
            scale = 10 ** rolled.uniform(-2, 2)
            samples = [scale * rolled.uniform(1, 1.2) for _ in range(3)]
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
    """(panel, kind, value, place) of every mark, by the numbers along the axes."""
    tree = ElementTree.fromstring(text)
    groups = {group.get("class"): group for group in tree.iter(SVG + "g")}
    ticks = [[]]
    for number in groups["x-axis"].findall(SVG + "text"):
        if re.fullmatch(r"[\d.,e+-]+", number.text):
            ticks[-1].append((float(number.text.replace(",", "")), float(number.get("x"))))
        else:  # the name of the axis, behind its numbers
            ticks.append([])
    for path in groups["marks"].findall(SVG + "path"):
        points = list(path_points(path.get("d")))
        x = (min(x for x, _ in points) + max(x for x, _ in points)) / 2
        panel = int(x > max(at for _, at in ticks[0]) + 10)
        (low, first), (high, last) = ticks[panel][0], ticks[panel][-1]
        value = low * (high / low) ** ((x - first) / (last - first))
        yield panel, report.marks.index(path.get("class")), value, points[0][1]


def picture_faults(data, text):
    wanted = []
    for _, _, rows in report.lines_of(data):
        for panel, of in ((0, report.seconds), (1, report.rise)):
            wanted += [(panel, report.kind_of(row, data), of(row)) for row in rows]
    made = list(drawn_marks(text))
    if len(made) != len(wanted):
        yield f"{len(made)} marks, not {len(wanted)}"
        return
    for number, panel in enumerate((0, 1)):
        for kind in range(3):
            some = sorted(value for p, k, value, _ in made if (p, k) == (panel, kind))
            others = sorted(value for p, k, value in wanted if (p, k) == (panel, kind))
            if len(some) != len(others) or any(abs(math.log(a / b)) > 0.02 for a, b in zip(some, others)):
                yield f"plot {number + 1}, marks {report.marks[kind]}: {some}, not {others}"
    # On the line of its tool: the places from the top are those of the tools.
    tree = ElementTree.fromstring(text)
    labels = next(group for group in tree.iter(SVG + "g") if group.get("class") == "y-axis").findall(SVG + "text")
    heights = {round(float(label.get("y")) - 4): k for k, label in enumerate(labels)}
    lines = [[report.seconds(row) for row in rows] for _, _, rows in report.lines_of(data)]
    for panel, _, value, y in made:
        line = heights.get(round(y))
        if line is None or panel == 0 and not any(abs(math.log(value / other)) < 0.02 for other in lines[line]):
            yield f"a mark at {value:.3g} stands on a line of other figures"


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
    for missing in data["left_out"]:
        if missing["tool"] not in text or missing["why"] not in text:
            yield f"does not say that {missing['tool']} was left out: {missing['why']}"
    conditions = (data["processor"], data["date"], data["compiler"], f"{data['threads']} thread")
    for word in (*conditions, *data["libraries"].values()):
        if word not in text:
            yield f"does not say {word}"


def invented_faults(data):
    text = report.picture(data, root)
    yield from picture_faults(data, text)
    yield from table_faults(data, report.markdown(data))
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch, "versus.svg")
        file.write_text(text)
        yield from faults(file, None)
    shown = "\n".join(report.text(data))
    for row in data["rows"]:
        if report.shown(report.seconds(row)) not in shown:
            yield f"the terminal's table has no {report.seconds(row)}"


def kept_faults():
    figures, page = root / report.evidence, (root / report.page).read_text()
    data = json.loads(figures.read_text()) if figures.exists() else None
    if report.with_table(page, data) != page:
        yield f"{report.page} is not what report.py makes of {report.evidence}"
    if data is None:
        return
    yield from table_faults(data, page.split(report.begin)[1].split(report.end)[0])
    yield from picture_faults(data, (root / report.drawing).read_text())
    if report.stored(data) != figures.read_text():
        yield f"{report.evidence} is not as report.py writes it"


def self_test():
    data = invented(1)
    text, table = report.picture(data, root), report.markdown(data)

    def changed(path, value):
        other = copy.deepcopy(data)
        place = other
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        return other
    planted = {"a time": changed(("rows", 3, "seconds"), [17.0]),
               "memory": changed(("rows", 4, "rss_bytes"), 77_000_000),
               "checkpoints": changed(("rows", 4, "checkpoints"), 30), "a row less": {**data, "rows": data["rows"][1:]}}
    wrong = [f"not found in the picture: {what}" for what, other in planted.items()
             if not list(picture_faults(other, text))]
    swapped = changed(("rows", 0, "line"), 3)
    swapped["rows"][9]["line"] = 0
    wrong += [] if list(picture_faults(swapped, text)) else ["not found in the picture: two lines swapped"]
    planted = {"a time": planted["a time"], "memory": planted["memory"], "a row less": planted["a row less"],
               "a ratio": changed(("rows", 5, "to_cairn"), 99.0), "a version": changed(("rows", 5, "version"), "z 9"),
               "what is left out": changed(("left_out", 0, "why"), "forgotten"), "a date": {**data, "date": "1999"}}
    wrong += [f"not found in the table: {what}" for what, other in planted.items()
              if not list(table_faults(other, table))]
    return wrong


def main():
    if "--self" in sys.argv:
        wrong = self_test()
    else:
        wrong = [fault for seed in range(20) for fault in invented_faults(invented(seed))] + list(kept_faults())
    print("\n".join(wrong) or "no faults")
    return bool(wrong)


sys.exit(main())
