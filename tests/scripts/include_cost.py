#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much preprocessed text an include costs (g++ -E): lines of the standard library's headers, and characters of
cairn's without blanks.

    include_cost.py COMPILER INCLUDE_DIR MOST_LINES MOST_CHARACTERS HEADER...

Characters, because lines of one's own depend on how they are broken. Lines depend on the standard library: they count
with g++ 12 only, elsewhere the figure is just printed.
"""
import os
import re
import sys

from running import told

compiler, include, most_lines, most_own, *headers = sys.argv[1:]
include = os.path.abspath(include)
status, text = told(compiler, "-std=c++20", "-E", "-I", include, "-x", "c++", "-",
                    input="".join(f"#include <{header}>\n" for header in headers))
of_cairn, lines, own = False, 0, 0
for line in text.splitlines():
    if marker := re.match(r'# \d+ "([^"]*)"', line):
        of_cairn = marker[1].startswith(include + "/cairn/")
    elif of_cairn:
        own += len("".join(line.split()))
    else:
        lines += bool(line.strip())
print(f"{' '.join(headers)}: {lines} lines of others, at most {most_lines}; {own} characters of cairn's, {most_own}")
counts = told(compiler, "-dumpversion")[1].split(".")[0].strip() == "12"
sys.exit(status != 0 or own > int(most_own) or (counts and lines > int(most_lines)))
