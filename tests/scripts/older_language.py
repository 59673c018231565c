#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The headers that people include refuse C++17 in one sentence: it is the first error, and the compiler stops there.

    older_language.py COMPILER INCLUDE HEADER...          compiles each header of the folder INCLUDE as C++17
    older_language.py --every COMPILER INCLUDE HEADER...  the same, and lets a header pass that needs no more than C++17
"""
import os
import re
import subprocess
import sys

SENTENCE = re.compile(r'error: (#error )?"cairn: C\+\+20 is needed; compile with -std=c\+\+20')


def main():
    every = sys.argv[1] == "--every"
    compiler, include, *headers = sys.argv[1 + every:]
    wrong = 0
    for header in headers:
        done = subprocess.run([compiler, "-std=c++17", "-fsyntax-only", f"-I{include}", "-x", "c++", "-"],
                              text=True, input=f"#include <{header}>\n",
                              env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        errors = [line for line in done.stdout.splitlines() if re.search(r"\berror:", line)]
        if every and done.returncode == 0:
            continue
        if done.returncode == 0 or not errors or not SENTENCE.search(errors[0]):
            wrong += 1
            print(f"{header}: the first error is not ours:\n{done.stdout[:1000]}")
        elif len(errors) > 2 or "fatal error" not in errors[-1]:  # the sentence, and the include that ends it
            wrong += 1
            print(f"{header}: {len(errors)} errors, {len(done.stdout.splitlines())} lines:\n{done.stdout[:1000]}")
    print(f"{len(headers)} headers, {wrong} wrong")
    return bool(wrong) or not headers


sys.exit(main())
