#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The index of examples, examples/README.md, has every example, and every entry of it is there.

    examples_index.py ROOT     prints what is missing or wrong, exits 1 if there is something
    examples_index.py --self   plants one fault of each kind and checks that it is found

An example is a file examples/*.cpp or *.cu, a program of examples/mpi or examples/adoption, or another folder of
examples/. A row names it by a link, and has its picture and what its source says of the plan: `revolve{n, 10}`. Blanks,
breaks of lines and `cairn::` do not count in that. A row may have another link in the place of its picture.
"""
import pathlib
import re
import sys
import tempfile

OF_SEVERAL_PROGRAMS = ("mpi", "adoption")


def examples(folder):
    """What must be in the index, as paths from its folder."""
    for path in sorted(folder.iterdir()):
        if path.name in OF_SEVERAL_PROGRAMS:
            yield from (f"{path.name}/{program.name}" for program in sorted(path.glob("*.cpp")))
        elif path.is_dir() or path.suffix in (".cpp", ".cu"):
            yield path.name


def links(text):
    return [path for path in re.findall(r"\]\(([^)#\s]+)\)", text) if not path.startswith("http")]


def plain(code):
    return re.sub(r"\s+|cairn::", "", code)


def rows(text):
    """Cells of each row that names an example, below a heading of columns that begins with `picture`."""
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if not cells:
            inside = False
        elif cells[0] == "picture":
            inside = True
        elif inside and not set(line) <= set("|-: "):
            yield cells


def faults(root):
    folder = root / "examples"
    text = (folder / "README.md").read_text()
    linked = links(text)
    for path in linked:
        if not (folder / path).exists():
            yield f"there is no {path}"
    named = set(linked) | {path.split("/")[0] for path in linked}
    for example in examples(folder):
        if example not in named:
            yield f"{example} is not in the index"
    shown = set()
    for cells in rows(text):
        if len(cells) != 4:
            yield f"a row of {len(cells)} cells: {' '.join(cells)[:60]}"
            continue
        picture, example, says, plan = cells
        where = links(example)
        name = where[0] if where else example
        if not where or len(says) < 20:
            yield f"{name}: no link, or too little said"
            continue
        pictures = re.findall(r'<img src="([^"]+)"', picture)
        if not pictures and not links(picture):
            yield f"{name} has no picture"
        for one in pictures:
            shown.add((folder / one).resolve())
            if not (folder / one).is_file():
                yield f"{name}: there is no picture {one}"
            if not re.search(r'alt="[^"]{10,}"', picture):
                yield f"{name}: its picture has no words for those who do not see it"
        source = plain("".join((folder / path).read_text() for path in where if (folder / path).is_file()))
        for quoted in re.findall(r"`([^`]+)`", plan):
            if plain(quoted) not in source:
                yield f"{name} does not say {quoted}"
    for drawn in sorted((root / "docs" / "pictures").glob("example_*.svg")):
        if drawn.resolve() not in shown:
            yield f"no row shows {drawn.name}"
        elif drawn.name not in text.split("## The commands that draw the pictures")[-1] + "".join(OTHERWISE):
            yield f"no command draws {drawn.name}"


OTHERWISE = ("example_seismic.svg", "example_demo.svg", "example_torch_profile.svg")  # by names of their own


def self_test():
    wrong = 0
    row = '| <img src="../docs/pictures/example_one.svg" alt="Memory of one"> | [one](one.cpp) | It shows a loop of one step. | `revolve{n, 3}` |\n'
    end = "\n## The commands that draw the pictures\nexample_one.svg\n"
    head = "# Examples\n| picture | example | what it shows | plan |\n|---|---|---|---|\n"
    planted = {head + row + end: "", head + end: "one.cpp is not in the index",
               head + row.replace("{n, 3}", "{n, 4}") + end: "does not say",
               head + row.replace("example_one", "gone") + end: "no picture ../docs/pictures/gone.svg",
               head + row.replace("one.cpp", "gone.cpp") + end: "there is no gone.cpp",
               head + row.replace(' alt="Memory of one"', "") + end: "no words",
               head + re.sub("<img[^>]*>", "", row) + end: "has no picture",
               head + row.replace("It shows a loop of one step.", "A loop.") + end: "too little",
               head + row + end.replace("one.svg", "two.svg"): "no command draws example_one.svg"}
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        for made in ("examples", "docs/pictures"):
            (root / made).mkdir(parents=True)
        (root / "examples" / "one.cpp").write_text("  cairn::revolve const plan\n  cairn::revolve{n,\n 3}\n")
        (root / "docs" / "pictures" / "example_one.svg").write_text("<svg/>")
        for text, word in planted.items():
            (root / "examples" / "README.md").write_text(text)
            found = "\n".join(faults(root))
            if bool(found) != bool(word) or word not in found:
                wrong += 1
                print(f"planted {word or 'nothing'}, found {found or 'nothing'}")
        (root / "examples" / "README.md").write_text(head + row + end)
        for new, word in (("examples/new/", "new is not in the index"), ("examples/mpi/rank.cpp", "mpi/rank.cpp is not"),
                          ("docs/pictures/example_new.svg", "no row shows example_new.svg")):
            path = root / new
            path.mkdir() if new.endswith("/") else (path.parent.mkdir(exist_ok=True), path.write_text(""))
            if word not in "\n".join(faults(root)):
                wrong += 1
                print(f"{new} is not missed")
    return bool(wrong)


if __name__ == "__main__":
    if sys.argv[1] == "--self":
        sys.exit(self_test())
    told = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(told) or "every example is in the index")
    sys.exit(bool(told))
