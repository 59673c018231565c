#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures as others read them: well-formed XML, inside their page, legible on light and dark screens.

    pictures.py PROGRAM DIRECTORY GALLERY [CHAINS]
    pictures.py --commands CAIRN README DIRECTORY

PROGRAM is examples/draw_schedule, GALLERY is examples/gallery; what they write by default is, byte for byte, what lies
in DIRECTORY. After a wanted change `PROGRAM DIRECTORY` and `GALLERY DIRECTORY` write that anew. CHAINS is
examples/chains; of what `CHAINS --out` writes DIRECTORY keeps two under other names. versus.svg is what
benchmarks/versus/report.py draws of docs/evidence/versus.json, where there is one.

With --commands, the pictures are those of examples/README.md, whose lines `cairn ... docs/pictures/FILE` draw them;
CAIRN is the command. Other pictures of examples, example_*.svg, are what a program measured, and only looked at.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

from running import told

SVG = "{http://www.w3.org/2000/svg}"
CASES = [  # steps, slots, more words; what the title has to say, what is at the ends of the axes
    (["40", "4"], None),
    (["40", "4", "1MB"], None),
    (["0", "1"], None),
    (["1", "1"], None),
    (["2", "1", "8B"], None),
    (["500", "7", "3KiB", "<b>&\"quoted\" ]]> 'title'</b>"], "<b>&\"quoted\" ]]> 'title'</b>"),
    (["40", "4", "1MB", "w" * 500], "w" * 500),
    (["20000", "20", "1GiB"], None),
]
SCHEDULES = ["uniform", "revolve", "leaves", "two_level", "online", "multistage", "hrevolve", "disk_revolve", "mixed",
             "bptt", "runge_kutta"]
GALLERY = [f"gallery_{name}.svg" for name in ("batch", "breakdown", "lines", "measured", "pareto", "sweep")]
OF_CHAINS = {"chain_pareto.svg": "real_gpt12x2.pareto.svg", "chain_memory.svg": "real_gpt12x2.memory.svg"}
OF_FIELDS = "example_seismic.svg"  # cells in colours, by examples/seismic/pictures.hpp
MOST = str(2**63 - 1)
NUMBER = r"-?\d+(?:\.\d+)?"
# Widths of the characters from ' ' to '~' in DejaVu Sans, in thousandths of their height.
WIDTHS = [318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, *[636] * 10, 337, 337, 838,
          838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695,
          635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634,
          278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838]


def path_points(data):
    """The absolute points of a path; what is relative is walked through, a ring by its ends."""
    x = y = 0.0
    for letter, rest in re.findall(r"([MLHVZmhavz])([^MLHVZmhavz]*)", data):
        numbers = [float(n) for n in re.findall(NUMBER, rest)]
        if letter in "ML":
            x, y = numbers
        elif letter == "H":
            x, = numbers
        elif letter == "V":
            y, = numbers
        elif letter == "m":
            x, y = x + numbers[0], y + numbers[1]
        elif letter == "h":
            x += numbers[0]
        elif letter == "a":
            x, y = x + numbers[5], y + numbers[6]
        yield x, y


def text_width(text, is_heading):
    """Pixels; letters of headings are larger and bold."""
    thousandths = sum(WIDTHS[ord(c) - 32] if " " <= c <= "~" else 1000 for c in text)
    return thousandths * (16 * 1.15 if is_heading else 12) / 1000


def luminance(colour):
    colour = colour.lstrip("#")
    colour = "".join(c * 2 for c in colour) if len(colour) == 3 else colour
    parts = [int(colour[k:k + 2], 16) / 255 for k in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """The contrast ratio of WCAG 2."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def colours(rules):
    """What each selector paints with, over the paper."""
    found = {}
    for selector, body in re.findall(r"\.cairn ([^{]+)\{([^}]*)\}", rules):
        for what, colour in re.findall(r"(fill|stroke):(#[0-9a-f]+)", body):
            found[selector, what] = colour
    return found


def style_faults(style):
    dark = re.search(r"@media \(prefers-color-scheme:dark\)\{(.*)\}\s*$", style, re.S)
    if not dark:
        yield "no dark colours"
        return
    light = colours(style[:dark.start()])
    dark = {**light, **colours(dark.group(1))}
    for scheme, found in (("light", light), ("dark", dark)):
        paper = found[".paper", "fill"]
        for (selector, what), colour in found.items():
            if selector in (".paper", ".grid", ".kept") or (selector, what) == (".summit", "fill"):
                continue
            is_text = what == "fill" and not selector.startswith(".part-")
            ratio = contrast(colour, paper)
            if ratio < (4.5 if is_text else 3):
                yield f"{scheme}: {selector} {what} {colour} has a contrast of {ratio:.2f} to the paper"
    if luminance(light[".paper", "fill"]) <= luminance(dark[".paper", "fill"]):
        yield "the dark page is no darker than the light one"


def faults(path, title):
    yield from (f"{path.name}: {fault}" for fault in faults_of(path.read_text(), title))


def faults_of(text, title):
    root = ElementTree.fromstring(text)
    _, _, width, height = (float(n) for n in root.get("viewBox").split())
    if [child.tag for child in root][:2] != [SVG + "title", SVG + "desc"]:
        yield "title and desc are not what comes first"
    if title is not None and root.find(SVG + "title").text != title:
        yield f"the title is {root.find(SVG + 'title').text!r}"
    if re.search(r"href|url\(|@import|@font-face|<script|<image", text):
        yield "asks for something outside of itself"
    style = root.find(SVG + "style").text
    yield from style_faults(style)
    for element in root.iter():
        points = []
        if element.tag == SVG + "path":
            points = list(path_points(element.get("d")))
            if "." + element.get("class") not in style:
                yield f"no colour for {element.get('class')}"
        elif element.tag == SVG + "text" and element.get("x"):
            x, y = float(element.get("x")), float(element.get("y"))
            length = text_width(element.text, element.get("class") == "heading")
            before = {"start": 0, "middle": 0.5, "end": 1}[element.get("text-anchor", "start")] * length
            points = [(x - before, y - 12), (x - before + length, y)]
        outside = [point for point in points if not (0 <= point[0] <= width and 0 <= point[1] <= height)]
        if outside:
            what = f"{element.tag[len(SVG):]} {element.get('class')}"
            yield f"{what} leaves the page at {outside[0]}: {(element.text or '')[:40]}"
        if element.get("class") == "y-axis":  # their name stands at 20 pixels
            for text in element.findall(SVG + "text"):
                if text.get("x") and float(text.get("x")) - text_width(text.text, False) < 24:
                    yield f"{text.text} touches the name of the y axis"
    axes = [[text.text for text in group.findall(SVG + "text")]
            for group in root.iter(SVG + "g") if group.get("class", "").endswith("-axis")]
    if len(axes) not in (2, 4) or any(len(labels) < 2 or not labels[-1] for labels in axes):
        yield f"axes without ticks or names: {axes}"


def unlike(kept, drawn, by):
    """What is wrong with a kept picture that must be, byte for byte, the one that was drawn."""
    if not kept.exists() or kept.read_bytes() != drawn.read_bytes():
        yield f"{kept} is not what `{by}` draws"


def of_commands(tool, page, kept, scratch):
    """Draws what the page's commands draw, and compares it with what is kept."""
    commands = re.findall(r"^cairn (.*) (\S+)$", page.read_text(), re.M)
    for words, name in commands:
        path = scratch / pathlib.Path(name).name
        status, said = told(tool, *words.split(), path)
        yield from [f"cairn {words}: {said}"] if status else unlike(kept / path.name, path, f"cairn {words} {name}")
    for path in sorted(kept.glob("example_*.svg")):
        if path.name == OF_FIELDS:
            ElementTree.parse(path)
        else:
            yield from faults(path, None)
    print(f"{len(commands)} pictures of examples")
    if not commands:
        yield f"{page} has no commands"


def of_programs(scratch, program, kept, gallery, chains=None):
    """Pictures of loops and titles of all kinds, and those that are kept."""
    kept, names = pathlib.Path(kept), ["memory.svg", "space_time.svg"]
    for words, title in CASES:
        subprocess.run([program, scratch, *words], check=True)
        for name in names:
            yield from (f"{' '.join(words)[:60]}: {fault}" for fault in faults(scratch / name, title))
    for command in ([program, scratch], [gallery, scratch], [chains, "--out", scratch / "chains"])[:2 + bool(chains)]:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for name in names + [f"schedule_{kind}.svg" for kind in SCHEDULES] + GALLERY:
        yield from faults(scratch / name, None)
        yield from unlike(kept / name, scratch / name, f"{gallery if name in GALLERY else program} {kept}")
    for path in sorted((scratch / "chains").glob("*")):
        yield from faults(path, None)
    for name, drawn in OF_CHAINS.items() if chains else ():
        yield from unlike(kept / name, scratch / "chains" / drawn, f"{chains} --out FOLDER")
    root = kept.resolve().parents[1]
    sys.path.insert(0, str(root / "benchmarks" / "versus"))
    import report
    if (root / report.evidence).exists():
        drawn = scratch / "versus.svg"
        drawn.write_text(report.picture(json.loads((root / report.evidence).read_text()), root))
        yield from faults(drawn, None)
        yield from unlike(root / report.drawing, drawn, "./run versus --write")
    known = {path.name for path in scratch.glob("*.svg")} | set(OF_CHAINS)
    yield from (f"{path}: nothing draws it" for path in sorted(kept.glob("*.svg"))
                if path.name not in known and not path.name.startswith("example_"))
    status, said = told(program, scratch, MOST, "3", timeout=60)
    if status == 0 or MOST not in said:
        yield f"a loop too long to be drawn: {status} {said}"


def main():
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        if sys.argv[1] == "--commands":
            wrong = list(of_commands(sys.argv[2], *map(pathlib.Path, sys.argv[3:]), scratch))
        else:
            wrong = list(of_programs(scratch, *sys.argv[1:]))
    print("\n".join(wrong) or "no fault")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
