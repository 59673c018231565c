#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the texts name is there: files and folders of this checkout, folders of include/cairn, verbs of ./run, places
within pages. Pages for contributors are linked by no page for users.

    named_paths.py ROOT     prints what is not there, exits 1 if there is something
    named_paths.py --self   plants one fault of each kind and checks that it is found
"""
import pathlib
import re
import sys
import tempfile

TOP = "tests|benchmarks|examples|docs|include/cairn|tools|cmake"
STAND_IN = re.compile(r"[<>*{}]|(^|[/_])x(_\w+)?\.\w+$")  # `tests/<folder>/x_test.cpp`: a pattern, not a file
# Who may link the pages that are for contributors; README shows where its figures stand.
FOR_CONTRIBUTORS = {"docs/decisions.md": {"CONTRIBUTING.md", "CHANGELOG.md", "architecture.md", "status.md"},
                    "docs/status.md": {"CONTRIBUTING.md", "CHANGELOG.md", "README.md", "architecture.md",
                                       "decisions.md"}}
FENCE = re.compile(r"^```.*?^```[ \t]*$", re.M | re.S)


def place(heading):
    """The anchor that readers of Markdown give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").strip().lower()).replace(" ", "-")


def places(file):
    return {place(heading) for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", file.read_text()), re.M)}


def faults(root):
    verbs = set(re.findall(r"^  ([a-z]+) ", (root / "run").read_text(), re.M))
    pages = sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "examples").rglob("*.md")])
    for page in pages:
        text, name = page.read_text(), page.relative_to(root)
        for path in set(re.findall(rf"`((?:{TOP})/[\w./*<>{{}}-]*)`", text)):
            if not STAND_IN.search(path) and not (root / path).exists():
                yield f"{name}: there is no {path}"
        for verb in set(re.findall(r"`\./run ([a-z]+)|^    \./run ([a-z]+)", text, re.M)):
            if not verbs & set(verb):
                yield f"{name}: ./run has no verb {''.join(verb)}"
        for path, at in set(re.findall(r"\]\(([^):# ]*)(?:#([^) ]+))?\)", FENCE.sub("", text))):
            target = (page.parent / path) if path else page
            if re.fullmatch(r"[\w./-]+", path or ".") and ("/" in path or "." in path or at) and not target.exists():
                yield f"{name}: there is no {path}"
            elif at and target.exists() and at not in places(target):
                yield f"{name}: {path} has no place {at}"
            for inner, readers in FOR_CONTRIBUTORS.items():
                if target.resolve() == (root / inner).resolve() and path and page.name not in readers:
                    yield f"{name}: {inner} is for contributors, and this page is not"
    for folder in re.findall(r"^\| `([a-z]+/)` \|", (root / "CONTRIBUTING.md").read_text(), re.M):
        if not (root / "include" / "cairn" / folder).is_dir():
            yield f"CONTRIBUTING.md: include/cairn has no {folder}"


def self_test():
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        for folder in ("docs", "examples", "tests", "include/cairn/core"):
            (root / folder).mkdir(parents=True)
        (root / "run").write_text("  demo   [ARGS]  build\n  seismic [ARGS] build\n")
        (root / "CONTRIBUTING.md").write_text("| `core/` | holds |\n")
        sound = ("# A place\n`tests/`, `tests/<folder>/x_test.cpp`, `./run demo`, [page](../CONTRIBUTING.md), "
                 "[here](#a-place)\n```cpp\n[](none.md)\n```\n")
        planted = {"": "", "`tests/gone.py`": "tests/gone.py", "`./run nowhere`": "nowhere", "[x](gone.md)": "gone.md",
                   "[x](#gone)": "place gone", "[x](status.md#a)": "is for contributors"}
        (root / "docs" / "status.md").write_text("# A\n")
        (root / "docs" / "architecture.md").write_text("# B\n[x](status.md)\n")
        for more, word in planted.items():
            (root / "docs" / "page.md").write_text(sound + more)
            found = "\n".join(faults(root))
            if bool(found) != bool(word) or word not in found:
                wrong += 1
                print(f"planted {more}, found {found}")
        (root / "CONTRIBUTING.md").write_text("| `gone/` | holds |\n")
        wrong += not any("no gone/" in fault for fault in faults(root))
    return bool(wrong)


if sys.argv[1] == "--self":
    sys.exit(self_test())
told = sorted(faults(pathlib.Path(sys.argv[1])))
print("\n".join(told) or "nothing missing")
sys.exit(bool(told))
