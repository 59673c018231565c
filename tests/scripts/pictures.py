#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures as others read them: well-formed XML by itself, marks inside the page, dark colours.

    pictures.py PROGRAM DIRECTORY GALLERY [CHAINS]
    pictures.py --commands CAIRN README DIRECTORY

PROGRAM is examples/draw_schedule, GALLERY is examples/gallery; what they write by default is, byte for byte, what lies
in DIRECTORY. After a wanted change `PROGRAM DIRECTORY` and `GALLERY DIRECTORY` write that anew. CHAINS is
examples/chains; of what `CHAINS --out` writes DIRECTORY keeps two under other names. versus.svg is what
benchmarks/versus/report.py draws of docs/evidence/versus.json.

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
CASES = [  # steps, slots, more words; what the title has to say
    (["0", "1"], None),
    (["2", "1", "8B"], None),
    (["500", "7", "3KiB", "<b>&\"quoted\" ]]> 'title'</b>"], "<b>&\"quoted\" ]]> 'title'</b>"),
    (["40", "4", "1MB", "w" * 500], "w" * 500),
    (["20000", "20", "1GiB"], None),
]
OF_CHAINS = {"chain_pareto.svg": "real_gpt12x2.pareto.svg", "chain_memory.svg": "real_gpt12x2.memory.svg"}
OF_FIELDS = "example_seismic.svg"  # cells in colours, by examples/seismic/pictures.hpp
MOST = str(2**63 - 1)
NUMBER = r"-?\d+(?:\.\d+)?"


# Which numbers behind a letter of a path are its end, across and down; small letters are relative.
ENDS = {"m": (0, 1), "l": (0, 1), "h": (0, None), "v": (None, 0), "a": (5, 6), "z": (None, None)}


def path_points(data):
    """The absolute points of a path; what is relative is walked through, a ring by its ends."""
    at = [0.0, 0.0]
    for letter, rest in re.findall(r"([MLHVZmhavz])([^MLHVZmhavz]*)", data):
        numbers = re.findall(NUMBER, rest)
        for axis, number in enumerate(ENDS[letter.lower()]):
            if number is not None:
                at[axis] = float(numbers[number]) + at[axis] * letter.islower()
        yield tuple(at)


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
    if "@media (prefers-color-scheme:dark){" not in style:
        yield "no dark colours"
    for path in root.iter(SVG + "path"):
        if "." + path.get("class") not in style:
            yield f"no colour for {path.get('class')}"
        outside = [(x, y) for x, y in path_points(path.get("d")) if not (0 <= x <= width and 0 <= y <= height)]
        if outside:
            yield f"path {path.get('class')} leaves the page at {outside[0]}"
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
    kept, default = pathlib.Path(kept), scratch / "default"
    for words, title in CASES:
        subprocess.run([program, scratch, *words], check=True)
        for name in ("memory.svg", "space_time.svg"):
            yield from (f"{' '.join(words)[:60]}: {fault}" for fault in faults(scratch / name, title))
    default.mkdir()
    for command in ([program, default], [gallery, default], [chains, "--out", scratch / "chains"])[:2 + bool(chains)]:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for path in sorted([*default.glob("*.svg"), *(scratch / "chains").glob("*")]):
        yield from faults(path, None)
    for path in sorted(default.glob("*.svg")):
        yield from unlike(kept / path.name, path, f"{gallery if 'gallery' in path.name else program} {kept}")
    for name, drawn in OF_CHAINS.items() if chains else ():
        yield from unlike(kept / name, scratch / "chains" / drawn, f"{chains} --out FOLDER")
    root = kept.resolve().parents[1]
    sys.path.insert(0, str(root / "benchmarks" / "versus"))
    import report
    drawn = scratch / "versus.svg"
    drawn.write_text(report.picture(json.loads((root / report.evidence).read_text()), root))
    yield from faults(drawn, None)
    yield from unlike(root / report.drawing, drawn, "./run versus --write")
    known = {path.name for path in default.glob("*.svg")} | {pathlib.Path(report.drawing).name, *OF_CHAINS}
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


sys.exit(main())
