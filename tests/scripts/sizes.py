#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long classes and functions are: lines of their bodies, without comments, blank lines and `private:`. A class
nested in another is counted by itself.

    sizes.py ROOT           prints what is longer than the limits in ROOT/include/cairn and ROOT/tools without saying
                            why, exits 1 if there is something
    sizes.py --lines ROOT   prints the lines of ROOT/include/cairn by room, without comments, directives, blank lines
    sizes.py --self         plants what is too long and checks that it is found

What stays longer says why in the comment above it, in a sentence that begins with `One class:` or `One function:`. The
code is indented: a body ends at a brace below the first letter of its head, and all lines between stand further right.
"""
import collections
import pathlib
import re
import sys

import planted

LIMITS = {"class": 200, "function": 60}
SKIPPED = re.compile(
    r"//(?:\\\n|[^\n])*|/\*.*?\*/"                 # comments
    r'|R"([^(\s]*)\(.*?\)\1"'                      # raw strings
    r'|"(?:\\.|[^"\\\n])*"'                        # strings
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"        # characters, but not 1'000
    r"|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)      # directives
NOT_COUNTED = re.compile(r"\s*(?:(?:public|private|protected):\s*)?$")
CLASS = re.compile(r"(?:template <.*> )?(?:class|struct|union) (?:alignas\([^)]*\) )?([\w:]+)[^=(]*$")
OTHERS = re.compile(r"(?:if|for|while|switch|else|do|try|catch|return|case|default|throw|namespace|extern|enum|"
                    r"inline namespace|template|requires|concept)\b")
FUNCTION = re.compile(r"[^=(]*?(operator *(?:\(\)|\[\]|[^\s\w(]+)|~?[\w:]+) ?\(")


def bare(text):
    """The lines of a text without comments and directives, and with literals as a quote; each stays where it is."""
    def blank(found):
        return ('"' if found[0][0] in "\"R'" else " ") + re.sub(r"[^\n]", " ", found[0][1:])
    return SKIPPED.sub(blank, text).split("\n")


def kind_of(head):
    """Whether the first line of a head is that of a class or a function, and its name."""
    if found := CLASS.match(head):
        return "class", found[1]
    found = None if OTHERS.match(head) else FUNCTION.match(head)
    return ("function", found[1]) if found else (None, "")


def bodies(text):
    """Of each class and function of more than a line: its kind, its name, the line where it begins, and its length."""
    code = bare(text)
    last = {}  # indentation -> the last line with it
    nested = []  # classes that no other holds, so far: first line and length
    for number, line in enumerate(code):
        if NOT_COUNTED.match(line):
            continue
        indentation = len(line) - len(line.lstrip())
        if re.match(r" *\};?$", line.rstrip()) and indentation in last:
            first = last[indentation]
            kind, name = kind_of(code[first].strip())
            opened = next(k for k in range(first, number + 1) if code[k].rstrip().endswith("{") or k == number)
            length = sum(not NOT_COUNTED.match(line) for line in code[opened + 1:number])
            if kind == "class":
                inner = [size for begun, size in nested if begun > first]
                nested = [one for one in nested if one[0] < first] + [(first, length + 2)]
                length -= sum(inner)
            if kind:
                yield kind, name, first, length
        last[indentation] = number


def says_why(text, line, kind):
    """Whether the comment above a line does."""
    above = re.search(r"((?:^ *(?://|template|requires).*\n)*)\Z", "\n".join(text.split("\n")[:line]) + "\n", re.M)
    return f"One {kind}:" in above[1]


def faults(root):
    for file in sorted(file for folder in ("include/cairn", "tools") for file in (root / folder).rglob("*")
                       if file.suffix in (".hpp", ".ipp", ".cpp", ".cuh", ".h")):
        text = file.read_text()
        for kind, name, line, lines in bodies(text):
            told = says_why(text, line, kind)
            if lines > LIMITS[kind] and not told:
                yield f"{file.relative_to(root)}: {name} has {lines} lines, more than {LIMITS[kind]}"
            elif lines <= LIMITS[kind] and told:
                yield f"{file.relative_to(root)}: {name} has {lines} lines, and need not say why"


def lines_by_room(include):
    """The lines of code in each room: the first folder of a header, or its first two folders inside adapt/."""
    rooms = collections.Counter()
    for file in include.rglob("*.[hi]pp"):
        folders = file.relative_to(include).parts[:-1]
        room = "/".join(folders[:2 if folders[:1] == ("adapt",) else 1])
        rooms[room + "/"] += sum(bool(line.strip()) for line in bare(file.read_text()))
    print("\n".join(f"{lines:6} {room}" for room, lines in sorted(rooms.items())))
    print(f"{sum(rooms.values()):6} in all")


KNOWN, LONG = "include/cairn/known.hpp", "\n// word\n" + "    x;\n" * 61
SOUND = {KNOWN: """
template <class T = decltype([] { return 1; })>
class b : c<T> {
 public:
  b(int x)
      : x_{x}, y_{"{", '{'} {
    auto const f = [&](int k) {

      return k;  /* { */
    };
    if (x > 1'000) {
      f(x);
    }
  }
  struct d {
    int m;
  };
};
template <class T>
  requires requires(T t) { t(); }
auto run(T t) -> decltype(t()) {
  return t();
}
"""}
PLANTED = [
    (KNOWN, "return k;", LONG, "known.hpp: b has 66 lines, more than 60"),
    (KNOWN, "return t();", LONG, "known.hpp: run has 61 lines, more than 60"),
    (KNOWN, "int m;", LONG * 4, "known.hpp: d has 244 lines, more than 200"),
    (KNOWN, "  struct d {", LONG * 4 + "  struct d {", "known.hpp: b has 253 lines, more than 200"),
    (KNOWN, "template <class T =", "// One class: of some lines.\ntemplate <class T =", "b has 9 lines, and need not"),
    (KNOWN, "  b(int x)", "// One function: so long.\n  b(int x)", "b has 6 lines, and need not say why"),
]

if __name__ == "__main__":
    if sys.argv[1] == "--lines":
        sys.exit(lines_by_room(pathlib.Path(sys.argv[2]) / "include" / "cairn"))
    sys.exit(planted.main(faults, SOUND, PLANTED, "all are short, or say why not"))
