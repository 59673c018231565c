#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long classes and functions are: lines of their bodies, without comments and blank lines. A class nested in another is counted by itself.

    sizes.py [ROOT]             prints what is longer than the limits in ROOT/include/cairn and ROOT/tools without saying why, exits 1 if there is something
    sizes.py --longest [ROOT]   prints the longest of them
    sizes.py --lines [ROOT]     prints the lines of ROOT/include/cairn by room, without comments, directives and blank lines
    sizes.py --self             counts a text whose lines are known

What stays longer says why in the comment above it, in a sentence that begins with `One class:` or `One function:`.
"""
import bisect
import collections
import pathlib
import re
import sys

LIMITS = {"class": 200, "function": 60}

SKIPPED = re.compile(
    r"//(?:\\\n|[^\n])*|/\*.*?\*/"                 # comments
    r'|R"([^(\s]*)\(.*?\)\1"'                      # raw strings
    r'|"(?:\\.|[^"\\\n])*"'                        # strings
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"        # characters, but not 1'000
    r"|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)      # directives
CLASS = re.compile(r"(?:^|\s)(?:class|struct|union)\s+(?:alignas\s+)?([\w:]+)(?:\s*final)?\s*(?:<.*>)?\s*(?:final)?\s*(?::(?!:).*)?$", re.S)
FUNCTION = re.compile(r"(operator\s*(?:\(\s*\)|\[\s*\]|[^\s\w(]+|\s[\w:]+)|~?[\w:]+)\s*\(")


class Scope:
    """What a brace has opened: a class, a function, a namespace, a block, or a value, whose braces end no statement."""

    def __init__(self, kind, name, opened, begun):
        self.kind, self.name, self.opened, self.begun, self.nested = kind, name, opened, begun, 0


def bare(text):
    """The text without comments and directives, and with literals as a quote; every line stays where it is."""
    def blank(found):
        whole = found.group()
        return ('"' if whole[0] in "\"R'" else " ") + re.sub(r"[^\n]", " ", whole[1:])
    return SKIPPED.sub(blank, text)


def without(brackets, text):
    for opening, closing in brackets:
        inner = re.compile(rf"\{opening}[^\{opening}\{closing}]*\{closing}")
        while inner.search(text):
            text = inner.sub(" ", text)
    return text


def without_template(head):
    """A declaration behind its template parameters."""
    while found := re.match(r"template ?<", head):
        depth = 0
        for at in range(found.end() - 1, len(head)):
            depth += {"<": 1, ">": -1}.get(head[at], 0) * (head[at - 1:at + 1] != "->")
            if depth == 0:
                break
        head = head[at + 1:].strip()
    return head


def kind_of(head, inside):
    """What a brace behind this text opens inside a namespace, a class or a function, and its name."""
    head = re.sub(r"^(?:(?:public|private|protected) ?: ?)+", "", re.sub(r"\s+", " ", head).strip())
    if re.match(r"(inline )?namespace\b|extern \"", head):
        return "namespace", ""
    if re.match(r"enum\b", head):
        return "value", ""
    head = without_template(head)
    flat = without(("()", "[]"), head)
    if (found := CLASS.search(flat)) and "=" not in flat[:found.start()]:
        return "class", found.group(1)
    if inside == "function":
        return "block", ""
    value = without(("()", "[]", "<>", "{}"), re.sub(r"operator ?[^\s\w(]+", "operator", head))
    begins_member = re.search(r"(?<!:):(?!:)", without(("()", "{}"), head)) and re.search(r"[\w>] ?$", head)
    if "=" in value or head.count("(") != head.count(")") or begins_member or re.search(r"\brequires ?(\([^()]*\))? ?$", head):
        return "value", ""
    names = [found.group(1).strip() for found in FUNCTION.finditer(without(("{}",), head))]
    names = [name for name in names if name not in ("requires", "decltype", "noexcept", "explicit", "alignas")]
    return ("function", names[0]) if names else ("value", "")


def bodies(text):
    """Each class and function of a text: its kind, its name within those around it, where its head begins, and the lines of its body."""
    code = bare(text)
    before = [0]  # lines with code before each line
    for line in code.split("\n"):
        before.append(before[-1] + bool(line.strip()))
    starts = [0, *(at + 1 for at, c in enumerate(code) if c == "\n")]
    line_of = lambda at: bisect.bisect_right(starts, at) - 1
    found, scopes, begin = [], [], 0
    for at, c in enumerate(code):
        if c == "{":
            inside = next((s.kind for s in reversed(scopes) if s.kind in ("class", "function")), "namespace")
            is_value = scopes and scopes[-1].kind == "value"
            begun = begin + len(code[begin:at]) - len(code[begin:at].lstrip())
            scopes.append(Scope(*(("value", "") if is_value else kind_of(code[begin:at], inside)), at, begun))
        elif c == "}":
            if not scopes:
                raise ValueError("a brace too many")
            one = scopes.pop()
            first, last = line_of(one.opened), line_of(at)
            if one.kind in ("class", "function"):
                name = "::".join([s.name for s in scopes if s.kind in ("class", "function")] + [one.name])
                found.append((one.kind, name, one.begun, max(0, before[last] - before[first + 1]) - one.nested))
            if one.kind == "class" and scopes and scopes[-1].kind == "class":
                scopes[-1].nested += before[last + 1] - before[line_of(one.begun)]
        if c in "{}" and (scopes[-1] if c == "{" else one).kind != "value":
            begin = at + 1
        elif c == ";" and not (scopes and scopes[-1].kind == "value") and code.count("(", begin, at) <= code.count(")", begin, at):
            begin = at + 1
    if scopes:
        raise ValueError("a brace is not closed")
    return found


def comment_above(text, at):
    lines = text[:at].rstrip(" ").split("\n")[:-1]
    above = []
    while lines and re.match(r"\s*(//|template\b|requires\b)", lines[-1]):
        above.insert(0, lines.pop())
    return "\n".join(above)


def sizes(root):
    for folder in ("include/cairn", "tools"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".hpp", ".ipp", ".cpp", ".cuh", ".h"):
                text, path = file.read_text(), file.relative_to(root).as_posix()
                for kind, name, at, lines in bodies(text):
                    yield kind, f"{path}: {name}", lines, f"One {kind}:" in comment_above(text, at)


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
    for kind, name, lines, says_why in sizes(root):
        if lines > LIMITS[kind] and not says_why:
            yield f"{name} has {lines} lines, more than {LIMITS[kind]}"
        elif lines <= LIMITS[kind] and says_why:
            yield f"{name} has {lines} lines, and need not say why it has more than {LIMITS[kind]}"


KNOWN = '''
#define OPEN {
namespace a {  // {
/// One class: of three lines.
template <class T = decltype([] { return 1; })>
class b : c<T> {
 public:
  b(int x) : x_{x}, y_{"{", '{'} {
    auto const f = [&](int k) {

      return k;  /* { */
    };
    if (x > 1'000) f(x);
  }
  struct d { int m; };
  enum class e { one };
  bool operator==(b const&) const = default;
  int operator()(int k = int{3}) const noexcept { return k; }
  int x_ = {}, y_{0};
};
template <class T>
concept g = requires(T t) { t.h(); };
inline auto const table = [] { return R"x({)x"; }();
template <class T>
  requires requires(T t) { t(); }
auto run(T t) -> decltype(t()) {
  for (int k = 0; k < 2; ++k) {
    t();
  }
  struct local { int n; };
}
}
'''
ANSWER = {("class", "b", 11, True), ("function", "b::b", 4, False), ("class", "b::d", 0, False), ("function", "b::operator()", 0, False),
          ("function", "run", 4, False), ("class", "run::local", 0, False)}


def self_test():
    got = {(kind, name, lines, f"One {kind}:" in comment_above(KNOWN, at)) for kind, name, at, lines in bodies(KNOWN)}
    for one in sorted(got ^ ANSWER):
        print(f"{'counted' if one in got else 'not counted'}: {one}")
    return int(got != ANSWER)


def main():
    if sys.argv[1:] == ["--self"]:
        return self_test()
    root = pathlib.Path(next((word for word in sys.argv[1:] if word[0] != "-"), "."))
    if "--longest" in sys.argv:
        for kind, name, lines, _ in sorted(sizes(root), key=lambda one: -one[2] / LIMITS[one[0]])[:40]:
            print(f"{lines:4} {kind:8} {name}")
        return 0
    if "--lines" in sys.argv:
        rooms = lines_by_room(root)
        for room, lines in sorted(rooms.items()):
            print(f"{lines:6} {room}")
        print(f"{sum(rooms.values()):6} in all")
        return 0
    found = list(faults(root))
    print("\n".join(found) or "all are short, or say why not")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
