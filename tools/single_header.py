#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes cairn_single.hpp: the library as one file, for programs that take a header along.

    single_header.py [-o FILE] [HEADER...]

It holds the umbrellas cairn.hpp, planning.hpp and chains.hpp with all that they include, bodies too, and the other
public headers of ROOMS. HEADERs come beside them, e.g. cairn/plan/text/plan_text.hpp. Adapters stay outside: each
needs a third party, and the folder of headers.

Texts are in the order in which a compiler reads them, each once, as with #pragma once. Standard headers
are included at the top.
"""
import argparse
import pathlib
import re
import sys

INCLUDE = pathlib.Path(__file__).resolve().parent.parent / "include"
UMBRELLAS = ("cairn/cairn.hpp", "cairn/planning.hpp", "cairn/chains.hpp")
ROOMS = ("core", "schedule", "plan/loop", "plan/chain", "plan/graph", "plan/block", "store", "run")
LANGUAGE = "cairn/language.hpp"
OPENS, CLOSES = re.compile(r"\s*#\s*if"), re.compile(r"\s*#\s*endif")
INCLUDED = re.compile(r"\s*#\s*include\s*<([^>]+)>")
DROPPED = re.compile(r"\s*#\s*pragma once|// SPDX-License-Identifier:")
BODIES = re.compile(r"#ifndef CAIRN_SEPARATE_COMPILATION\n(#include <cairn/\S+\.ipp>)\n#endif\n\Z")

TOP = """\
// SPDX-License-Identifier: Apache-2.0
// cairn {version} in one file, made from its headers by tools/single_header.py; change those instead.
#ifndef CAIRN_SINGLE_HPP
#define CAIRN_SINGLE_HPP
#if defined(__GNUC__)
#pragma GCC system_header  // g++ compares names in templates with the globals of who uses them
#endif
#ifdef CAIRN_VERSION_STRING
#error "cairn: cairn_single.hpp comes in place of the headers <cairn/...>; a file includes the one or the others"
#endif
#ifdef CAIRN_SEPARATE_COMPILATION
#error "cairn: cairn_single.hpp holds all bodies; CAIRN_SEPARATE_COMPILATION needs the headers <cairn/...> instead"
#endif
"""
END = "\n#endif  // CAIRN_SINGLE_HPP\n"


class Amalgam:
    """Headers of cairn one after another, and the standard headers that they include."""

    def __init__(self, include):
        self.include, self.seen, self.standard, self.text = include, set(), set(), ""

    def add(self, name):
        """A header after those that it includes. Those that it includes under a condition come too: whether they are
        needed is for the compiler to say, and all compile everywhere."""
        if name in self.seen:
            return
        self.seen.add(name)
        text = BODIES.sub(r"\1\n", (self.include / name).read_text())
        kept, depth = [], 0
        for line in text.splitlines():
            included = INCLUDED.match(line)
            if included and included[1].startswith("cairn/"):
                if included[1].endswith(".ipp"):  # needs what is above it
                    self.write(name, kept)
                    kept = []
                self.add(included[1])
            elif included and depth == 0:
                self.standard.add(included[1])
            elif not DROPPED.match(line):
                kept.append(line)
            depth += bool(OPENS.match(line)) - bool(CLOSES.match(line))
        self.write(name, kept)

    def write(self, name, lines):
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip("\n"))
        if text:
            self.text += f"\n// <{name}>\n{text}\n"


def single_header(include, more=()):
    rooms = [header.relative_to(include).as_posix() for room in ROOMS
             for header in sorted((include / "cairn" / room).rglob("*.hpp"))]
    language, rest = Amalgam(include), Amalgam(include)
    language.add(LANGUAGE)
    rest.seen = language.seen  # it has its say before any standard header
    for name in (*UMBRELLAS, *(name for name in rooms if "/detail/" not in name), *more):
        rest.add(name)
    version = re.search(r'VERSION_STRING "([^"]+)"', (include / "cairn/version.hpp").read_text())[1]
    standard = "\n" + "".join(f"#include <{name}>\n" for name in sorted(rest.standard))
    return TOP.format(version=version) + language.text + standard + rest.text + END


def main():
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("-o", dest="file", type=pathlib.Path, default=pathlib.Path("cairn_single.hpp"))
    reader.add_argument("headers", nargs="*", metavar="HEADER")
    asked = reader.parse_args()
    for name in asked.headers:
        if "/adapt/" in name or not (INCLUDE / name).is_file():
            print(f"single_header.py: {name}: "
                  + ("an adapter needs the folder of headers" if "/adapt/" in name else "there is no such header"),
                  file=sys.stderr)
            return 2
    asked.file.write_text(single_header(INCLUDE, asked.headers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
