#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures as others read them: well-formed XML by itself, marks inside the page, dark colours.

    pictures.py CAIRN ROOT GALLERY

CAIRN is the command, GALLERY is examples/gallery, whose tables are drawn. Lines `cairn ... docs/pictures/FILE` of
examples/gallery.txt and examples/README.md draw, byte for byte, what lies in docs/pictures; after a wanted change they
write that anew. versus.svg is what benchmarks/versus/report.py draws of docs/evidence/versus.json. Other pictures of
examples, example_*.svg, are what a program measured, and only looked at.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

from running import told

SVG = "{http://www.w3.org/2000/svg}"
CASES = [  # steps, slots, more words; what the title has to say
    (["0", "1"], None),
    (["2", "1", "--state", "8B"], None),
    (["500", "7", "--state", "3KiB"], "<b>&\"quoted\" ]]> 'title'</b>"),
    (["40", "4", "--state", "1MB"], "w" * 500),
    (["20000", "20", "--state", "1GiB"], None),
]
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


def of_plans(tool, scratch):
    """Pictures of loops and titles of all kinds."""
    for (steps, slots, *more), title in CASES:
        command = [tool, "plan", "--steps", steps, "--slots", slots, *more, "--svg", "a.svg", "--memory-svg", "b.svg"]
        subprocess.run(command + (["--title", title] if title else []), check=True, cwd=scratch, stdout=subprocess.DEVNULL)
        for name in ("a.svg", "b.svg"):
            yield from (f"{steps} steps: {fault}" for fault in faults(scratch / name, title))
    status, said = told(tool, "plan", "--steps", MOST, "--slots", "3", "--svg", scratch / "a.svg", timeout=60)
    if status == 0 or "too many actions" not in said:
        yield f"a loop too long to be drawn: {status} {said}"


def of_pages(tool, root, gallery, scratch):
    """Draws what commands of pages draw, and compares it with what is kept, which is drawn by nothing else."""
    subprocess.run([gallery, scratch], check=True, stdout=subprocess.DEVNULL)
    (scratch / "tests").symlink_to(root / "tests")
    kept, known = root / "docs" / "pictures", set()
    for page in ("examples/gallery.txt", "examples/README.md"):
        for words, name in re.findall(r"^cairn (.*) docs/pictures/(\S+)$", (root / page).read_text(), re.M):
            status, said = told(tool, *shlex.split(words), scratch / name, cwd=scratch)
            yield from [f"cairn {words}: {said}"] if status else unlike(kept / name, scratch / name, f"cairn {words}")
            known.add(name)
    print(f"{len(known)} pictures of pages")
    sys.path.insert(0, str(root / "benchmarks" / "versus"))
    import report
    drawn = scratch / "versus.svg"
    drawn.write_text(report.picture(json.loads((root / report.evidence).read_text()), root))
    yield from unlike(root / report.drawing, drawn, "./run versus --write")
    for path in sorted(kept.glob("*.svg")):
        if path.name == OF_FIELDS:
            ElementTree.parse(path)
        else:
            yield from faults(path, None)
        if path.name not in known | {drawn.name} and not path.name.startswith("example_"):
            yield f"{path}: nothing draws it"


def main():
    tool, root, gallery = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        wrong = [*of_plans(tool, scratch), *of_pages(tool, root, gallery, scratch)]
    print("\n".join(wrong) or "no fault")
    return bool(wrong)


sys.exit(main())
