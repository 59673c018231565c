# SPDX-License-Identifier: Apache-2.0
"""What versus.py has measured, for people: a table for terminals, the table of docs/versus.md, and a picture of both.

    report.py FILE.json ROOT   puts a file of versus.py into docs/evidence, docs/versus.md and docs/pictures of ROOT
"""
import json
import math
import pathlib
import re
import statistics
import sys
import textwrap
from xml.sax.saxutils import escape as quoted

begin, end = "<!-- begin: ./run versus --write -->", "<!-- end: ./run versus --write -->"
not_measured = "No figures yet: `./run versus --write` puts them here."
evidence, page, drawing = "docs/evidence/versus.json", "docs/versus.md", "docs/pictures/versus.svg"


def stored(data):
    return json.dumps(data, indent=1) + "\n"


def seconds(row, of="seconds"):
    return statistics.median(row[of])


def keeps(row):
    return "all" if row["checkpoints"] is None else str(row["checkpoints"])


def megabytes(count):
    return "-" if count is None else f"{count / 1e6:.1f}"


def ratio(row):
    return f"{row['to_cairn']:.2f}"


def shown(value):
    return f"{value:.3f}" if value >= 0.1 else f"{value:.3g}"


def apart(row):
    return f"{row['difference']:.1e}" if row["difference"] else "same bits"


columns = (  # heading, text of a row, whether it is a number
    ("tool", lambda row: row["tool"], False),
    ("keeps", keeps, True),
    ("time s", lambda row: shown(seconds(row)), True),
    ("user s", lambda row: shown(seconds(row, "user_seconds")), True),
    ("x cairn", ratio, True),
    ("rise MB", lambda row: megabytes(row["rss_bytes"]), True),
    ("peak MB", lambda row: megabytes(row["peak_rss_bytes"]), True),
    ("own count MB", lambda row: f"{megabytes(row['bytes'])} {row['bytes_are']}", True),
    ("difference", apart, True),
    ("how", lambda row: row["how"], False),
    ("version, flags", lambda row: row["version"], False),
)


def conditions(data):
    libraries = "".join(f"; {version}" for version in data["libraries"].values())
    return (f"{data['side']} x {data['side']} doubles, {data['steps']:,} steps; {data['processor']}, "
            f"{data['threads']} thread on one processor; medians of {data['rounds']} interleaved rounds; "
            f"{data['compiler']}{libraries}; {data['date']}")


def left_out(data):
    for row in data["left_out"]:
        method = f" ({row['method']})" if "method" in row and "not installed" not in row["why"] else ""
        yield f"{row['tool']}{method}: {row['why']}"


def text(data):
    """Lines for a terminal."""
    cells = [[heading for heading, *_ in columns]] + [[of(row) for _, of, _ in columns] for row in data["rows"]]
    widths = [max(len(line[k]) for line in cells) for k in range(len(columns))]

    def line(words):
        return "  ".join(f"{word:>{w}}" if number else f"{word:<{w}}"
                         for word, w, (_, _, number) in zip(words, widths, columns)).rstrip()
    yield line(cells[0])
    group = None
    for row, words in zip(data["rows"], cells[1:]):
        if row["group"] != group:
            group = row["group"]
            yield f"-- {group}"
        yield line(words)
    yield ""
    yield conditions(data)
    for sentence in left_out(data):
        yield f"left out: {sentence}"


def escaped(words):
    return words.replace("|", "\\|")


def wrapped(sentence, indent=""):
    """Lines as wide as those of other pages."""
    return textwrap.fill(sentence, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def page_heading(data):
    return ["tool", *("all" if kept is None else str(kept) for kept in (None, *data["checkpoints"])), "difference",
            "how", "version, flags"]


def page_rows(data):
    """(group, cells) of each line of the page: a tool with what it keeps side by side."""
    for group, _, rows in lines_of(data):
        of = {row["checkpoints"]: row for row in rows}
        figures = [f"{shown(seconds(of[kept]))} s, {ratio(of[kept])}, {megabytes(of[kept]['rss_bytes'])} MB"
                   if kept in of else "-" for kept in (None, *data["checkpoints"])]
        worst = max(rows, key=lambda row: row["difference"])
        yield group, [rows[0]["tool"], *figures, apart(worst), rows[-1]["how"], rows[-1]["version"]]


def markdown(data):
    """The text between the markers of docs/versus.md."""
    if data is None:
        return not_measured
    heading = page_heading(data)
    lines = [f"![{told(data)}](pictures/{pathlib.Path(drawing).name})", "",
             wrapped(f"{conditions(data)}. `{evidence}` has every sample, processor time, peak and count."), ""]
    lines += ["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
    group = None
    for of, cells in page_rows(data):
        if of != group:
            group = of
            lines.append(f"| **{escaped(group)}** |" + " |" * (len(heading) - 1))
        lines.append("| " + " | ".join(map(escaped, cells)) + " |")
    lines += ["", "Left out:", ""] + [wrapped(f"- {sentence}", "  ") for sentence in left_out(data)]
    return "\n".join(lines)


def told(data):
    """The picture in a sentence, without what Markdown would take for its own."""
    return (f"Time and memory of one gradient of {data['steps']:,} steps by cairn and by others, with every state "
            f"stored and with {' and '.join(map(str, data['checkpoints']))} checkpoints")


def with_table(words, data):
    """The page, its table anew."""
    before, rest = words.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n{markdown(data)}\n{end}{after}"


# The picture

width, left, gap, right, row_height, group_gap = 800, 224, 44, 764, 19, 10
marks = ("drop", "advance", "reverse")  # classes: every state, more checkpoints, fewer


def style(root):
    """That of the other pictures, which `tests/scripts/pictures.py` holds to."""
    return re.search(r"<style>.*?</style>", (root / "docs/pictures/gallery_pareto.svg").read_text(), re.S)[0]


class Axis:
    """A logarithmic axis between the powers of ten round all values, in pixels."""
    def __init__(self, values, first, last):
        self.low, self.high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        self.high = max(self.high, self.low + 1)
        self.first, self.last = first, last

    def at(self, value):
        return self.first + (self.last - self.first) * (math.log10(value) - self.low) / (self.high - self.low)

    def ticks(self):
        return [10.0 ** k for k in range(self.low, self.high + 1)]


def mark(kind, x, y):
    if kind == 0:
        return f'<path class="{marks[0]}" d="M{x - 4:.2f} {y:.2f}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"/>'
    if kind == 1:
        return f'<path class="{marks[1]}" style="stroke-width:9;stroke-linecap:round" d="M{x:.2f} {y:.2f}h0"/>'
    return f'<path class="{marks[2]}" style="stroke-width:8" d="M{x - 4:.2f} {y:.2f}h8"/>'


def amount(value):
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def lines_of(data):
    """(group, name, rows) of each line: a tool; of one with several programs the fastest flags, named."""
    lines = {}
    for row in data["rows"]:
        lines.setdefault(row["line"], (row["group"], row["tool"], []))[2].append(row)
    names = [name for _, name, _ in lines.values()]
    for group, name, rows in lines.values():
        if names.count(name) > 1:
            name += ", " + rows[0]["version"].split(", ")[-1]
        yield group, name, rows


def rise(row):
    """Of resident memory in MB; below 0.1 it is drawn as that."""
    return max(row["rss_bytes"] / 1e6, 0.1)


def kind_of(row, data):
    return 0 if row["checkpoints"] is None else 1 + data["checkpoints"].index(row["checkpoints"])


def picture(data, root):
    lines = list(lines_of(data))
    middle = (left + right) / 2
    panels = []
    for of, name, first, last in ((seconds, "time of one gradient, s", left, middle - gap / 2),
                                  (rise, "rise of resident memory, MB", middle + gap / 2, right)):
        panels.append((Axis([of(row) for row in data["rows"]], first, last), of, name))
    top = 100
    y, places, group = top, [], None
    for line in lines:
        y += row_height + (group_gap if group is not None and line[0] != group else 0)
        group = line[0]
        places.append(y - row_height / 2)
    bottom = y + 4
    grid, frame, numbers, drawn = "", "", [], []
    for axis, value, name in panels:
        for tick in axis.ticks():
            grid += f"M{axis.at(tick):.2f} {top}V{bottom:.2f}"
            frame += f"M{axis.at(tick):.2f} {bottom:.2f}V{bottom + 5:.2f}"
            numbers.append(f'<text x="{axis.at(tick):.2f}" y="{bottom + 19:.2f}" text-anchor="middle">'
                           f"{amount(tick)}</text>")
        numbers.append(f'<text x="{(axis.first + axis.last) / 2:.2f}" y="{bottom + 39:.2f}" text-anchor="middle">'
                       f"{name}</text>")
        frame += f"M{axis.first:.2f} {top}V{bottom:.2f}H{axis.last:.2f}"
        for (_, _, rows), place in zip(lines, places):
            drawn += [mark(kind_of(row, data), axis.at(value(row)), place) for row in rows]
    labels = []
    for (_, name, _), place in zip(lines, places):
        ours = ' class="warm"' if name.startswith("cairn") else ""
        labels.append(f'<text{ours} x="{left - 9}" y="{place + 4:.2f}" text-anchor="end">{quoted(name)}</text>')
    height = bottom + 52
    names = ["every state stored"] + [f"{count} checkpoints" for count in data["checkpoints"]]
    legend, x = [], float(left)
    for kind, name in enumerate(names):
        legend += [mark(kind, x + 5, 81), f'<text x="{x + 16:.2f}" y="85">{name}</text>']
        x += 32 + 6.6 * len(name)
    notes = (f"Fisher's equation, {data['side']} x {data['side']} doubles, {data['steps']:,} steps, 1 thread, "
             f"{data['date']}; further left is better",
             "groups with the same steps, from the top: "
             + "; ".join(dict.fromkeys(group for group, _, _ in lines)))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cairn" role="img" viewBox="0 0 {width} {height:.0f}" '
        f'width="{width}" height="{height:.0f}">',
        "<title>The same gradient by cairn and by others</title>",
        f"<desc>{quoted(told(data))}. {quoted(' '.join(notes))}.</desc>",
        style(root), f'<rect class="paper" width="{width}" height="{height:.0f}"/>',
        '<text class="heading" x="24" y="28">The same gradient by cairn and by others</text>',
        *(f'<text class="note" x="24" y="{47 + 17 * k}">{quoted(note)}</text>'
          for k, note in enumerate(notes)),
        '<g class="legend">', *legend, "</g>", f'<path class="grid" d="{grid}"/>',
        '<g class="x-axis">', *numbers, "</g>", '<g class="y-axis">', *labels, "</g>",
        f'<path class="frame" d="{frame}"/>', '<g class="marks">', *drawn, "</g>", "</svg>"]) + "\n"


def made(data, root):
    """(path, text) of every file that shows the figures."""
    yield root / evidence, stored(data)
    yield root / drawing, picture(data, root)
    yield root / page, with_table((root / page).read_text(), data)


def publish(data, root):
    for path, words in list(made(data, root)):
        path.write_text(words)
        yield path


if __name__ == "__main__":
    for written in publish(json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2])):
        print(f"written: {written}")
