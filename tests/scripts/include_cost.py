#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much preprocessed text an include costs (g++ -E): lines of the standard library's headers, and characters of
cairn's without blanks.

    include_cost.py COMPILER INCLUDE_DIR [--most-lines LINES] [--most-own CHARACTERS] HEADER...

Characters, because lines of one's own depend on how they are broken. Lines depend on the standard library: --most-lines
counts with g++ 12 only, elsewhere the figure is just printed.
"""
import argparse
import os
import re
import subprocess
import sys


def costs(compiler, include, headers):
    """Lines that are not empty of others, and characters without blanks of cairn's."""
    source = "".join(f"#include <{header}>\n" for header in headers)
    done = subprocess.run([compiler, "-std=c++20", "-E", "-I", include, "-x", "c++", "-"], input=source, text=True,
                          check=True, stdout=subprocess.PIPE)
    own, lines, characters = False, 0, 0
    for line in done.stdout.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            own = marker[1].startswith(include + "/cairn/")
        elif own:
            characters += len("".join(line.split()))
        else:
            lines += bool(line.strip())
    return lines, characters


def main():
    options = argparse.ArgumentParser()
    options.add_argument("compiler")
    options.add_argument("include")
    options.add_argument("--most-lines", type=int, default=sys.maxsize)
    options.add_argument("--most-own", type=int, default=sys.maxsize)
    options.add_argument("headers", nargs="+")
    given = options.parse_args()

    lines, own = costs(given.compiler, os.path.abspath(given.include), given.headers)
    major = subprocess.run([given.compiler, "-dumpversion"], text=True, check=True,
                           stdout=subprocess.PIPE).stdout.strip().split(".")[0]
    print(f"{' '.join(given.headers)}: {lines} lines of others, {own} characters of cairn's")
    over = []
    if own > given.most_own:
        over.append(f"more than {given.most_own} characters of cairn's")
    if lines > given.most_lines:
        print(f"more than {given.most_lines} lines of others, which counts with g++ 12 only")
        if major == "12":
            over.append(f"more than {given.most_lines} lines of others")
    print("\n".join(over))
    return bool(over)


sys.exit(main())
