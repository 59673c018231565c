#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The headers that people include refuse C++17 in one sentence: it is the first error, and the compiler stops there.

    older_language.py COMPILER INCLUDE HEADER...          compiles each header of the folder INCLUDE as C++17
    older_language.py --every COMPILER INCLUDE HEADER...  the same, and lets a header pass that needs no more than C++17
"""
import os
import re
import sys

from running import told

SENTENCE = re.compile(r'error: (#error )?"cairn: C\+\+20 is needed; compile with -std=c\+\+20')


def main():
    every = sys.argv[1] == "--every"
    compiler, include, *headers = sys.argv[1 + every:]
    wrong = 0
    for header in headers:
        status, said = told(compiler, "-std=c++17", "-fsyntax-only", f"-I{include}", "-x", "c++", "-",
                            input=f"#include <{header}>\n", env={**os.environ, "LC_ALL": "C"})
        errors = [line for line in said.splitlines() if re.search(r"\berror:", line)]
        if every and status == 0:
            continue
        if not errors or not SENTENCE.search(errors[0]) or len(errors) > 2 or "fatal error" not in errors[-1]:
            wrong += 1  # the sentence, and the include that ends it, are all
            print(f"{header}: other errors than ours:\n{said[:1000]}")
    print(f"{len(headers)} headers, {wrong} wrong")
    return bool(wrong) or not headers


sys.exit(main())
