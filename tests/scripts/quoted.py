#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the ```diff fences of a page with the program that each names.

    quoted.py FILE

A fence begins with ```diff and the path of a program, from the repository's root. Its lines with + stand in the
program; in the page's table, the row that names the program has the number of these lines, those of #include left out.
"""
import pathlib
import re
import sys


def main():
    page = pathlib.Path(sys.argv[1]).resolve()
    root, text = page.parent.parent, page.read_text()
    faults, seen = [], 0
    for fence in re.finditer(r"^```diff (\S+)\n(.*?)^```$", text, re.M | re.S):
        name, body = fence.groups()
        program = [line.strip() for line in (root / name).read_text().splitlines()]
        added = [line[1:].strip() for line in body.splitlines() if line.startswith("+")]
        seen += len(added)
        faults += [f"{name} has no line `{line}`" for line in added if line not in program]
        row = re.search(rf"^\| \[[^]]*\]\([^)]*{re.escape(name)}\) \| [^|]* \| (\d+) \|", text, re.M)
        counted = sum(not line.startswith("#include") for line in added)
        if row is None:
            faults.append(f"the table has no row for {name}")
        elif int(row[1]) != counted:
            faults.append(f"the table says {row[1]} lines for {name}, the difference has {counted}")
    print("\n".join(faults) or f"{seen} quoted lines stand in their programs")
    return 1 if faults or seen == 0 else 0


sys.exit(main())
