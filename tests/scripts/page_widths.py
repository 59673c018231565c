#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of pages have at most 120 columns: sentences and programs, and not tables, pictures, or what a program prints.

    page_widths.py ROOT     prints the lines that are longer, exits 1 if there is one
    page_widths.py --self   plants a long line of each kind and checks which are found
"""
import pathlib
import sys

MOST = 120


def faults(name, text):
    language = None  # of the fence around
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            language = None if language is not None else line[3:].strip()
        elif len(line) > MOST and not line.startswith(("|", "![")) and language in (None, "cpp", "cmake", "sh"):
            yield f"{name}:{number}: {len(line)} columns"


def self_test():
    long = "word " * 25
    cases = {f"{long}\n": 1, f"- {long}\n": 1, f"```cpp\n// {long}\n```\n": 1, f"```text output\n{long}\n```\n": 0,
             f"| {long} |\n": 0, f"![{long}](x.svg)\n": 0, f"```json\n{long}\n```\n{long}\n": 1, "short\n": 0}
    wrong = [text for text, expected in cases.items() if len(list(faults("page.md", text))) != expected]
    print("\n".join(wrong) or f"{len(cases)} cases, none wrong")
    return bool(wrong)


def main():
    if sys.argv[1:] == ["--self"]:
        return self_test()
    root = pathlib.Path(sys.argv[1])
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "examples").rglob("*.md")]
    found = [fault for page in sorted(pages) for fault in faults(page.relative_to(root), page.read_text())]
    print("\n".join(found) or "no line is too long")
    return bool(found)


sys.exit(main())
