#!/usr/bin/env python3
"""How many preprocessed lines an include costs (g++ -E -P), and how many of them are cairn's.

    include_cost.py COMPILER INCLUDE_DIR [--most LINES] [--most-own LINES] HEADER...

Lines depend on the standard library: --most counts with g++ 12 only, elsewhere the figure is just printed.
"""
import argparse
import os
import re
import subprocess
import sys


def preprocess(compiler, include, headers, *flags):
    source = "".join(f"#include <{header}>\n" for header in headers)
    return subprocess.run([compiler, "-std=c++20", "-E", *flags, "-I", include, "-x", "c++", "-"], input=source,
                          text=True, check=True, stdout=subprocess.PIPE).stdout.splitlines()


def own_lines(lines, include):
    own, count = False, 0
    for line in lines:
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            own = marker[1].startswith(include + "/cairn/")
        elif own and line.strip():
            count += 1
    return count


def main():
    options = argparse.ArgumentParser()
    options.add_argument("compiler")
    options.add_argument("include")
    options.add_argument("--most", type=int, default=sys.maxsize)
    options.add_argument("--most-own", type=int, default=sys.maxsize)
    options.add_argument("headers", nargs="+")
    given = options.parse_args()
    include = os.path.abspath(given.include)

    total = len(preprocess(given.compiler, include, given.headers, "-P"))
    own = own_lines(preprocess(given.compiler, include, given.headers), include)
    major = subprocess.run([given.compiler, "-dumpversion"], text=True, check=True, stdout=subprocess.PIPE).stdout
    print(f"{' '.join(given.headers)}: {total} lines, {own} of them cairn's")
    over = []
    if total > given.most:
        over.append(f"more than {given.most} lines")
    if own > given.most_own:
        over.append(f"more than {given.most_own} lines of cairn's")
    if major.split(".")[0] != "12" and total > given.most:
        print(f"more than {given.most} lines, which counts with g++ 12 only")
        over = over[1:]
    print("\n".join(over))
    return bool(over)


sys.exit(main())
