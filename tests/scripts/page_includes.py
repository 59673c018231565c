#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every page for users says near its top which header to include, and the header is there.

    page_includes.py ROOT     prints the pages that do not, exits 1 if there is one
    page_includes.py --self   plants one fault of each kind and checks that it is found

Near its top means in the first 25 lines, outside of programs. Pages for those who work on cairn need no header.
"""
import pathlib
import re
import sys
import tempfile

FOR_CONTRIBUTORS = {"architecture.md", "decisions.md", "status.md"}
LINES = 25


def beginning(text):
    """The first lines, without what stands in fences."""
    inside, kept = False, []
    for line in text.splitlines()[:LINES]:
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


def faults(root):
    for page in sorted((root / "docs").glob("*.md")) + sorted((root / "docs" / "schedules").glob("*.md")):
        if page.name in FOR_CONTRIBUTORS:
            continue
        headers = re.findall(r"<(cairn/[\w/.]+\.hpp)>", beginning(page.read_text()))
        if not headers:
            yield f"{page.relative_to(root)} names no header in its first {LINES} lines"
        yield from (f"{page.relative_to(root)}: there is no <{header}>" for header in headers
                    if not (root / "include" / header).is_file())


def self_test():
    wrong = 0
    planted = {"# A\nInclude `<cairn/a.hpp>`.\n": "", "# A\nText.\n": "names no header",
               "# A\nInclude `<cairn/gone.hpp>`.\n": "there is no <cairn/gone.hpp>",
               "# A\n```cpp\n#include <cairn/a.hpp>\n```\n": "names no header",
               "# A\n" + "\n" * LINES + "Include `<cairn/a.hpp>`.\n": "names no header"}
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        for made in ("docs/schedules", "include/cairn"):
            (root / made).mkdir(parents=True)
        (root / "include" / "cairn" / "a.hpp").write_text("")
        (root / "docs" / "status.md").write_text("# Status\n")
        for text, word in planted.items():
            (root / "docs" / "page.md").write_text(text)
            found = "\n".join(faults(root))
            if bool(found) != bool(word) or word not in found:
                wrong += 1
                print(f"planted {text!r}, found {found!r}")
    return bool(wrong)


if __name__ == "__main__":
    if sys.argv[1] == "--self":
        sys.exit(self_test())
    told = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(told) or "every page names its header")
    sys.exit(bool(told))
