#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The way from the top of README.md to the first gradient of one's own is read in five minutes.

    reading_time.py ROOT     counts its words, and exits 1 if they are more than 1,000
    reading_time.py --self   plants a way that is too long and one whose end is not there

The way is README.md down to the paragraph that links the tutorial, and docs/tutorial.md down to the sentence MARK. Two
hundred words a minute is a slow reader of technical text. A word is what has a letter or a digit and stands between
spaces, in programs as in sentences; targets of links and what stands for a picture are not read.
"""
import pathlib
import re
import sys

MOST = 1000
LINK = "](docs/tutorial.md)"
MARK = "You now have your first gradient."


def words(text):
    text = re.sub(r"!\[[^]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return sum(bool(re.search(r"[^\W_]", word)) for word in text.split())


def way(readme, tutorial):
    """The words of both parts, or None where one has no end."""
    link, mark = readme.find(LINK), tutorial.find(MARK)
    if link < 0 or mark < 0:
        return None
    end = readme.find("\n\n", link)
    return words(readme[:end]), words(tutorial[:mark] + MARK)


def verdict(readme, tutorial):
    found = way(readme, tutorial)
    if found is None:
        return f"README.md has no {LINK}, or docs/tutorial.md has no sentence '{MARK}'", True
    total = sum(found)
    return (f"{found[0]} words in README.md and {found[1]} in docs/tutorial.md: {total} of at most {MOST}",
            total > MOST)


def self_test():
    readme = "One two, ![not read](x.svg) [three](docs/tutorial.md) four.\n\nFive.\n"
    tutorial = f"Six = 7 + x;\n{MARK} Not this.\n"
    long = "word " * (MOST - 13) + tutorial
    cases = [way(readme, tutorial) == (4, 9), not verdict(readme, long)[1], verdict(readme, "word " + long)[1],
             verdict("No link.", tutorial)[1], verdict(readme, "No end.")[1]]
    print(f"{len(cases)} cases, {cases.count(False)} wrong")
    return not all(cases)


def main():
    if sys.argv[1:] == ["--self"]:
        return self_test()
    root = pathlib.Path(sys.argv[1])
    said, wrong = verdict((root / "README.md").read_text(), (root / "docs" / "tutorial.md").read_text())
    print(said)
    return wrong


sys.exit(main())
