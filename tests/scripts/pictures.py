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
    text = path.read_text()
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


def drawn_by_commands(tool, page, kept):
    """Draws what the page's commands draw, and compares it with what is kept."""
    wrong, drawn = [], set()
    with tempfile.TemporaryDirectory() as scratch:
        for line in re.findall(r"^cairn (.*)$", page.read_text(), re.M):
            *words, name = line.split()
            path = pathlib.Path(scratch, pathlib.Path(name).name)
            done = subprocess.run([tool, *words, path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            drawn.add(path.name)
            if done.returncode:
                wrong.append(f"cairn {line}: {done.stderr}")
            elif not (kept / path.name).exists() or (kept / path.name).read_bytes() != path.read_bytes():
                wrong.append(f"{kept / path.name} is not what `cairn {line}` draws")
    for path in sorted(kept.glob("example_*.svg")):
        if path.name == OF_FIELDS:
            ElementTree.parse(path)
        else:
            wrong += [f"{path.name}: {fault}" for fault in faults(path, None)]
    print("\n".join(wrong) or f"{len(drawn)} pictures of examples")
    return bool(wrong) or not drawn


def main():
    if sys.argv[1] == "--commands":
        return drawn_by_commands(sys.argv[2], *map(pathlib.Path, sys.argv[3:]))
    program, kept = sys.argv[1], pathlib.Path(sys.argv[2])
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        names = ["memory.svg", "space_time.svg"]
        of_schedules = [f"schedule_{kind}.svg" for kind in SCHEDULES]
        for words, title in CASES:
            subprocess.run([program, scratch, *words], check=True)
            for name in names:
                found = faults(pathlib.Path(scratch, name), title)
                wrong += [f"{name} of {' '.join(words)[:60]}: {fault}" for fault in found]
        subprocess.run([program, scratch], check=True)
        subprocess.run([sys.argv[3], scratch], check=True, stdout=subprocess.DEVNULL)
        for name in of_schedules + GALLERY:
            wrong += [f"{name}: {fault}" for fault in faults(pathlib.Path(scratch, name), None)]
        names += of_schedules + GALLERY
        figures = kept.parent / "evidence" / "versus.json"
        if figures.exists():
            sys.path.insert(0, str(kept.parent.parent / "benchmarks" / "versus"))
            import report
            drawn = pathlib.Path(scratch, "versus.svg")
            drawn.write_text(report.picture(json.loads(figures.read_text()), kept.parent.parent))
            wrong += [f"versus.svg: {fault}" for fault in faults(drawn, None)]
            names.append("versus.svg")
        if len(sys.argv) > 4:
            chains = pathlib.Path(scratch, "chains")
            subprocess.run([sys.argv[4], "--out", chains], check=True, stdout=subprocess.DEVNULL)
            for path in sorted(chains.iterdir()):
                wrong += [f"{path.name}: {fault}" for fault in faults(path, None)]
            for name, drawn in OF_CHAINS.items():
                (chains / drawn).rename(pathlib.Path(scratch, name))
            names += OF_CHAINS
        for name in names:
            if not (kept / name).exists() or (kept / name).read_bytes() != pathlib.Path(scratch, name).read_bytes():
                draws = sys.argv[3] if name in GALLERY else program
                wrong.append(f"{kept / name} is not what {draws} draws; `{draws} {kept}` draws it anew")
        wrong += [f"{path}: nothing draws it" for path in sorted(kept.glob("*.svg"))
                  if path.name not in names and path.name not in OF_CHAINS and not path.name.startswith("example_")]
    refused = subprocess.run([program, tempfile.gettempdir(), "9223372036854775807", "3"], capture_output=True,
                             text=True, timeout=60)
    if refused.returncode == 0 or "9223372036854775807" not in refused.stderr:
        wrong.append(f"a loop too long to be drawn: {refused.returncode} {refused.stderr}")
    print("\n".join(wrong) or f"{len(CASES)} loops, {len(names)} pictures")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
