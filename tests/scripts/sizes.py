#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long classes and functions are: lines of their bodies, without comments, blank lines and `private:`. A
class nested in another is counted by itself.

    sizes.py ROOT             prints what is longer than the limits in ROOT/include/cairn and ROOT/tools without saying
                              why, exits 1 if there is something
    sizes.py --longest ROOT   prints the longest of them
    sizes.py --lines ROOT     prints the lines of ROOT/include/cairn by room, without comments, directives and blank
                              lines
    sizes.py --self           plants what is too long and checks that it is found

What stays longer says why in the comment above it, in a sentence that begins with `One class:` or `One function:`. The
code is written with its braces at the ends of lines; a brace that opens and closes within its line opens nothing.
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
LABEL = re.compile(r"\s*(public|private|protected):\s*$")
CLASS = re.compile(r"(?:^|(?<!enum)[\s>])(?:class|struct|union) (?:alignas\([^)]*\) )?([\w:]+)[^=(]*\{$")
ONE_LINE = re.compile(r"\s*(?:template <[^>]*> )?(?:class|struct|union) [^(=]*\{.*\};?$")
FUNCTION = re.compile(r"^[^=(]*?(operator *(?:\(\)|\[\]|[^\s\w(]+)|~?[\w:]+) ?\(")


def bare(text):
    """The text without comments and directives, and with literals as a quote; every line stays where it is."""
    def blank(found):
        whole = found.group()
        return ('"' if whole[0] in "\"R'" else " ") + re.sub(r"[^\n]", " ", whole[1:])
    return SKIPPED.sub(blank, text)


def head_of(code, last):
    """The number of the first line of a statement whose brace opens in line `last`, and its text."""
    first = last
    while first > 0 and code[first - 1].strip() and not re.search(r"[;{}:]\s*$", code[first - 1]):
        first -= 1
    return first, " ".join(line.strip() for line in code[first:last + 1])


def kind_of(head, inside):
    """What a brace behind this text opens inside of a class, a function or a namespace, and its name."""
    while found := re.match(r"template ?<[^<>]*(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>[^<>]*)*> ?", head):
        head = head[found.end():]
    if found := CLASS.search(head):
        return "class", found[1]
    if inside == "function" or re.match(r"(inline )?namespace\b|extern |enum\b", head):
        return "block", ""
    found = FUNCTION.match(re.sub(r"^(?:requires|explicit) ?\([^()]*(?:\([^()]*\)[^()]*)*\) ?", "", head))
    return ("function", found[1]) if found else ("block", "")


def bodies(text):
    """Each class and function of a text that is longer than a line: its kind, its name within those around it, the line
    where it begins, and the lines of its body."""
    code = bare(text).split("\n")
    before = [0]  # lines with code before each line
    for line in code:
        before.append(before[-1] + (bool(line.strip()) and not LABEL.match(line)))
    found, scopes = [], []
    for number, line in enumerate(code):
        opened = line.count("{") - line.count("}")
        if opened == 0 and ONE_LINE.match(line) and scopes and scopes[-1][0] == "class":
            scopes[-1][-1] += 1
        for _ in range(opened):
            first, head = head_of(code, number)
            inside = next((kind for kind, *_ in reversed(scopes) if kind != "block"), "")
            scopes.append([*kind_of(head, inside), first, number, 0])
        for _ in range(-opened):
            kind, name, first, begun, nested = scopes.pop()
            if kind != "block":
                names = [scope[1] for scope in scopes if scope[0] != "block"] + [name]
                found.append((kind, "::".join(names), first, before[number] - before[begun + 1] - nested))
            if kind == "class" and scopes and scopes[-1][0] == "class":
                scopes[-1][-1] += before[number + 1] - before[first]
    return found


def says_why(text, line, kind):
    """Whether the comment above a line does."""
    lines = text.split("\n")
    while line > 0 and re.match(r"\s*//", lines[line - 1]):
        line -= 1
        if f"One {kind}:" in lines[line]:
            return True
    return False


def sizes(root):
    for folder in ("include/cairn", "tools"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".hpp", ".ipp", ".cpp", ".cuh", ".h"):
                text = file.read_text()
                for kind, name, line, lines in bodies(text):
                    yield kind, f"{file.relative_to(root)}: {name}", lines, says_why(text, line, kind)


def lines_by_room(root):
    """The lines of code in each room: the first folder of a header, or its first two folders inside adapt/."""
    rooms = collections.Counter()
    include = root / "include" / "cairn"
    for file in include.rglob("*.[hi]pp"):
        folders = file.relative_to(include).parts[:-1]
        room = "/".join(folders[:2 if folders[:1] == ("adapt",) else 1])
        rooms[room + "/"] += sum(bool(line.strip()) for line in bare(file.read_text()).split("\n"))
    return rooms


def faults(root):
    for kind, name, lines, told in sizes(root):
        if lines > LIMITS[kind] and not told:
            yield f"{name} has {lines} lines, more than {LIMITS[kind]}"
        elif lines <= LIMITS[kind] and told:
            yield f"{name} has {lines} lines, and need not say why it has more than {LIMITS[kind]}"


def report(word, root):
    if word == "--longest":
        for kind, name, lines, _ in sorted(sizes(root), key=lambda one: -one[2] / LIMITS[one[0]])[:40]:
            print(f"{lines:4} {kind:8} {name}")
    else:
        rooms = lines_by_room(root)
        for room, lines in sorted(rooms.items()):
            print(f"{lines:6} {room}")
        print(f"{sum(rooms.values()):6} in all")
    return 0


KNOWN = "include/cairn/known.hpp"
SOUND = {KNOWN: """
#define OPEN {
namespace a {  // {
template <class T = decltype([] { return 1; })>
class b : c<T> {
 public:
  b(int x)
      : x_{x}, y_{"{", '{'} {
    auto const f = [&](int k) {

      return k;  /* { */
    };
    if (x > 1'000) f(x);
  }
  struct d {
    int m;
  };
  int x_ = {}, y_{0};
};
template <class T>
concept g = requires(T t) {
  t.h();
};
template <class T>
  requires requires(T t) { t(); }
auto run(T t) -> decltype(t()) {
  return t();
}
}
"""}
LONG = "\n// word\n" + "x;\n" * 61
PLANTED = [
    (KNOWN, "return k;", LONG, "known.hpp: b::b has 64 lines, more than 60"),
    (KNOWN, "return t();", LONG, "known.hpp: run has 61 lines, more than 60"),
    (KNOWN, "int m;", LONG * 4, "known.hpp: b::d has 244 lines, more than 200"),
    (KNOWN, "int x_ = {}", LONG * 4, "known.hpp: b has 252 lines, more than 200"),
    (KNOWN, "template <class T =", "// One class: of some lines.\ntemplate <class T =", "b has 8 lines, and need not"),
    (KNOWN, "  b(int x)", "// One function: so long.\n  b(int x)", "b::b has 4 lines, and need not say why"),
]

if __name__ == "__main__":
    if sys.argv[1] in ("--longest", "--lines"):
        sys.exit(report(sys.argv[1], pathlib.Path(sys.argv[2])))
    sys.exit(planted.main(faults, SOUND, PLANTED, "all are short, or say why not"))
