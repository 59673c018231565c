#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the pages say holds, and they can be read.

    pages.py ROOT     prints each fault, exits 1 if there is one
    pages.py --self   plants one fault of each kind and checks that it is found

- Files and folders of this checkout, headers, verbs of ./run, places within pages and pictures that a page names are
  there.
- Sentences have lines of at most 120 columns, programs of 88; not tables, pictures, or what a program prints.
- The way from the top of README.md to the first gradient of one's own is read in three minutes: README.md down to the
  paragraph that links the tutorial, and docs/tutorial.md down to the sentence MARK, programs counted.
- The lines with + of a fence ```diff PROGRAM stand in that program, and the table of its page has their number, those
  of #include left out.
- The index examples/README.md has every example, and says of its plan what its source says.
"""
import re
import sys

import planted

TOP = "tests|benchmarks|examples|docs|include/cairn|tools|cmake"
STAND_IN = re.compile(r"[<>*{}]|(^|[/_])x(_\w+)?\.\w+$")  # `tests/<folder>/x_test.cpp`: a pattern, not a file
MOST_COLUMNS = {None: 120, "cpp": 88, "cmake": 88, "sh": 88}  # code that is as wide as the site does not scroll
MOST_WORDS = 600  # three minutes: two hundred a minute is a slow reader of technical text
LINK, MARK = "](docs/tutorial.md)", "You now have your first gradient."
OF_SEVERAL_PROGRAMS = ("mpi", "adoption")  # folders of examples


def lines_of(text):
    """Number, text and language of each line but fences themselves; no language outside of fences."""
    language = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            language = None if language is not None else line[3:].strip()
        else:
            yield number, line, language


def prose(text):
    return "\n".join(line for _, line, language in lines_of(text) if language is None)


def wide_lines(text):
    for number, line, language in lines_of(text):
        is_written = language in MOST_COLUMNS and not line.startswith(("|", "!["))
        if is_written and len(line) > MOST_COLUMNS[language]:
            yield f"line {number} has {len(line)} columns, more than {MOST_COLUMNS[language]}"


def places(file):
    """The anchors that readers of Markdown give the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", prose(file.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").strip().lower()).replace(" ", "-") for heading in headings}


def missing(root, page, text, verbs):
    """What a page names and is not there."""
    text = prose(text)
    for path in set(re.findall(rf"`((?:{TOP})/[\w./*<>{{}}-]*)`", text)):
        if not STAND_IN.search(path) and not (root / path).exists():
            yield f"there is no {path}"
    for header in set(re.findall(r"<(cairn/[\w/.]+\.hpp)>", text)):
        if not (root / "include" / header).is_file():
            yield f"there is no <{header}>"
    for verb in set(re.findall(r"(?:`|^    )\./run ([a-z]+)", text, re.M)) - verbs:
        yield f"./run has no verb {verb}"
    for picture in re.findall(r'<img src="([^"]+)"', text):
        if not (page.parent / picture).is_file():
            yield f"there is no picture {picture}"
    for path, at in set(re.findall(r"\]\(([^):# ]*)(?:#([^) ]+))?\)", text)):
        target = page.parent / path if path else page
        if re.fullmatch(r"[\w./-]+", path or ".") and ("/" in path or "." in path or at) and not target.exists():
            yield f"there is no {path}"
        elif at and target.exists() and at not in places(target):
            yield f"{path} has no place {at}"


def words(text):
    """Words have a letter or a digit; targets of links and what stands for a picture are not read."""
    text = re.sub(r"!\[[^]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return sum(bool(re.search(r"[^\W_]", word)) for word in text.split())


def way_faults(readme, tutorial):
    if LINK not in readme or MARK not in tutorial:
        return [f"README.md has no {LINK}, or docs/tutorial.md has no sentence '{MARK}'"]
    first = words(readme[:readme.find("\n\n", readme.find(LINK))])
    second = words(tutorial[:tutorial.find(MARK)] + MARK)
    return [f"the way to the first gradient has {first} words in README.md and {second} in docs/tutorial.md, more than "
            f"{MOST_WORDS}"] if first + second > MOST_WORDS else []


def quoted_faults(root, text):
    for name, body in re.findall(r"^```diff (\S+)\n(.*?)^```$", text, re.M | re.S):
        program = [line.strip() for line in (root / name).read_text().splitlines()]
        added = [line[1:].strip() for line in body.splitlines() if line.startswith("+")]
        yield from (f"{name} has no line `{line}`" for line in added if line not in program)
        row = re.search(rf"^\| \[[^]]*\]\([^)]*{re.escape(name)}\) \| [^|]* \| (\d+) \|", text, re.M)
        counted = sum(not line.startswith("#include") for line in added)
        if row is None or int(row[1]) != counted:
            yield f"the table has no row for {name} that says {counted} lines"


def examples(folder):
    """What must be in the index, as paths from its folder."""
    for path in folder.iterdir():
        if path.name in OF_SEVERAL_PROGRAMS:
            yield from (f"{path.name}/{program.name}" for program in path.glob("*.cpp"))
        elif path.is_dir() or path.suffix in (".cpp", ".cu"):
            yield path.name


def links(text):
    return [path for path in re.findall(r"\]\(([^)#\s]+)\)", text) if not path.startswith("http")]


def plain(code):
    return re.sub(r"\s+|cairn::", "", code)


def index_faults(root):
    folder = root / "examples"
    text = (folder / "README.md").read_text()
    named = set(links(text)) | {path.split("/")[0] for path in links(text)}
    yield from (f"{example} is not in the index" for example in sorted(set(examples(folder)) - named))
    tables = re.findall(r"^\| picture .*\n\|[-|]*\n((?:\|.*\n)*)", text, re.M)
    for row in "".join(tables).splitlines():
        cells = re.split(r"(?<!\\)\|", row)
        if len(cells) != 6:
            yield f"a row of {len(cells) - 2} cells: {row[:60]}"
            continue
        example, plan = cells[2], cells[4]
        source = plain("".join((folder / path).read_text() for path in links(example) if (folder / path).is_file()))
        yield from (f"{example} does not say {code}" for code in re.findall(r"`([^`]+)`", plan)
                    if plain(code) not in source)


def faults(root):
    verbs = set(re.findall(r"^  ([a-z]+) ", (root / "run").read_text(), re.M))
    for page in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "examples").rglob("*.md")]):
        text, name = page.read_text(), str(page.relative_to(root))
        found = [*wide_lines(text), *missing(root, page, text, verbs), *quoted_faults(root, text)]
        yield from (f"{name}: {fault}" for fault in found)
    for folder in re.findall(r"^\| `([a-z]+/)` \|", (root / "CONTRIBUTING.md").read_text(), re.M):
        if not (root / "include" / "cairn" / folder).is_dir():
            yield f"CONTRIBUTING.md: include/cairn has no {folder}"
    yield from way_faults((root / "README.md").read_text(), (root / "docs" / "tutorial.md").read_text())
    yield from (f"examples/README.md: {fault}" for fault in index_faults(root))


LONG = "word " * 25 + "\n"
TOP_OF_PAGE = "# A page\nInclude `<cairn/core/a.hpp>`.\n"
SOUND = {
    "run": "  demo   [ARGS]  build\n", "include/cairn/core/a.hpp": "", "tests/a.py": "",
    "CONTRIBUTING.md": "| `core/` | holds |\n[x](docs/status.md)\n",
    "README.md": "One two, ![not read](docs/pictures/example_one.svg) [three](docs/tutorial.md) four.\n\nFive.\n",
    "docs/tutorial.md": TOP_OF_PAGE + f"Six = 7 + x;\n{MARK} Not this.\n",
    "docs/status.md": "# Status\n",
    "docs/page.md": TOP_OF_PAGE + "`tests/`, `tests/<folder>/x_test.cpp`, `./run demo`, [page](../CONTRIBUTING.md), "
                    "[here](#a-page)\n" f"```cpp\n[](none.md)\n```\n```text output\n{LONG}```\n| {LONG}![{LONG}"
                    "```diff examples/one.cpp\n+#include <a>\n+cairn::revolve{n,\n a line\n```\n"
                    "| [it](../examples/one.cpp) | x | 1 |\n",
    "docs/pictures/example_one.svg": "<svg/>",
    "examples/one.cpp": "#include <a>\n  cairn::revolve{n,\n 3}\n",
    "examples/README.md": "# Examples\n| picture | example | what it shows | plan |\n|---|---|---|---|\n"
                          '| <img src="../docs/pictures/example_one.svg" alt="Memory of one"> | [one](one.cpp) | A '
                          "loop. | `revolve{n, 3}` |\n",
}
PAGE, INDEX, TUTORIAL = "docs/page.md", "examples/README.md", "docs/tutorial.md"
PLANTED = [  # file, what becomes of what, what is to be said
    (PAGE, "", "`tests/gone.py`", "there is no tests/gone.py"),
    (PAGE, "", "`./run nowhere`", "no verb nowhere"),
    (PAGE, "", "[x](gone.md)", "there is no gone.md"),
    (PAGE, "", "[x](#gone)", "no place gone"),
    (PAGE, "", LONG, "columns"),
    (PAGE, "", f"```cpp\n{LONG}```\n", "columns"),
    (PAGE, "core/a", "gone", "there is no <cairn/gone.hpp>"),
    (PAGE, " x | 1", " x | 2", "says 1 lines"),
    (PAGE, "+cairn", "+carn", "has no line"),
    (TUTORIAL, "Six", "word " * (MOST_WORDS - 15), "more than"),
    (TUTORIAL, MARK, "", MARK),
    ("CONTRIBUTING.md", "core/", "gone/", "no gone/"),
    (INDEX, "{n, 3}", "{n, 4}", "does not say"),
    (INDEX, "example_one", "gone", "no picture ../docs/pictures/gone.svg"),
    (INDEX, "[one](one.cpp)", "one", "one.cpp is not in the index"),
    ("examples/new/a", "", "", "new is not in the index"),
    ("examples/mpi/rank.cpp", "", "", "mpi/rank.cpp is not"),
]

sys.exit(planted.main(faults, SOUND, PLANTED, "the pages hold"))
