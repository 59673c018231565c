#!/usr/bin/env python3
"""How long classes and functions are: lines of their bodies, without comments and blank lines.

    sizes.py [ROOT]          prints what is longer than the limits in ROOT/include/cairn and ROOT/tools, exits 1 if there is something
    sizes.py --longest [ROOT]  prints the longest ones with their lines
    sizes.py --self          counts a text whose lines are known
"""
import bisect
import pathlib
import re
import sys

LIMITS = {"class": 200, "function": 60}
# What is longer and stays so. The reason stands at each in the code.
LONGER = {}

SKIPPED = re.compile(
    r'//(?:\\\n|[^\n])*|/\*.*?\*/'                             # comments
    r'|R"([^(\s]*)\(.*?\)\1"'                                  # raw strings
    r'|"(?:\\.|[^"\\\n])*"'                                    # strings
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"                    # characters, but not 1'000
    r'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)                  # directives


def bare(text):
    """The text without comments and directives, and with literals as quotes; every line stays where it is."""
    def blank(found):
        all_of_it = found.group()
        quote = '"' if all_of_it[0] in "\"R'" else " "
        return quote + re.sub(r"[^\n]", " ", all_of_it[1:])
    return SKIPPED.sub(blank, text)


def without_brackets(text, pairs):
    """The text without what stands in brackets of these kinds."""
    for opening, closing in pairs:
        inner = re.compile(rf"\{opening}[^\{opening}\{closing}]*\{closing}")
        while inner.search(text):
            text = inner.sub(" ", text)
    return text


CLASS = re.compile(r"(?:^|\s)(class|struct|union)\s+(?:alignas\s+)?([\w:]+)(?:\s*final)?\s*(?:<.*>)?\s*(?:final)?\s*(?::(?!:).*)?$", re.S)
FUNCTION = re.compile(r"(operator\s*(?:\(\s*\)|\[\s*\]|[^\s\w(]+|\s[\w:]+)|~?[\w:]+)\s*\(")


def kind_of(head, scope):
    """What a brace behind this text opens in such a scope, and its name: a class, a function, a namespace or else a block
    or a value."""
    head = re.sub(r"\s+", " ", head).strip()
    head = re.sub(r"^(?:(?:public|private|protected) ?: ?)+", "", head)
    if re.match(r"(inline )?namespace\b|extern \"", head):
        return "namespace", head.split()[-1]
    if re.match(r"enum\b", head):
        return "value", ""
    plain = head
    while found := re.match(r"(?:export )?template ?<", plain):  # template parameters
        depth, at = 0, found.end() - 1
        for at in range(found.end() - 1, len(plain)):
            depth += {"<": 1, ">": -1}.get(plain[at], 0)
            if plain[at] == ">" and plain[at - 1] == "-":
                depth += 1
            if depth == 0:
                break
        plain = plain[at + 1:].strip()
    flat = without_brackets(plain, ["()", "[]"])
    if (found := CLASS.search(flat)) and "=" not in flat[:found.start()]:
        return "class", found.group(2)
    if scope == "function":
        return "block", ""
    value = without_brackets(re.sub(r"operator ?[^\s\w(]+", "operator", plain), ["()", "[]", "<>", "{}"])
    if "=" in value or "(" not in plain or plain.count("(") > plain.count(")"):
        return "value", ""
    if re.search(r"\brequires ?(\([^()]*\))? ?$", plain):
        return "value", ""
    initialises = re.search(r"(?<!:):(?!:)", without_brackets(plain, ["()", "{}"]))
    if initialises and re.search(r"[\w>] ?$", plain):
        return "value", ""
    found = FUNCTION.search(re.sub(r"^(?:explicit ?\([^()]*\)|noexcept ?\([^()]*\)|alignas ?\([^()]*\)|\[\[.*?\]\]| )*", "", plain))
    return ("function", found.group(1).strip()) if found else ("value", "")


def bodies(text):
    """Each class and function of a text: its kind, its name with those around it, and the lines of its body."""
    text = bare(text)
    lines = [bool(line.strip()) for line in text.split("\n")]
    before = [0]
    for is_code in lines:
        before.append(before[-1] + is_code)
    starts = [0, *(at + 1 for at, c in enumerate(text) if c == "\n")]
    line_of = lambda at: bisect.bisect_right(starts, at) - 1
    found, scopes, begin = [], [], 0
    for at, c in enumerate(text):
        if c == "{":
            scope = scopes[-1][0] if scopes else "namespace"
            inside = next((s[0] for s in reversed(scopes) if s[0] in ("class", "function", "namespace")), "namespace")
            kind, name = ("value", "") if scope == "value" else kind_of(text[begin:at], inside)
            scopes.append((kind, name, at, begin))
            if kind != "value":
                begin = at + 1
        elif c == "}":
            kind, name, opened, _ = scopes.pop()
            if kind in ("class", "function"):
                around = [s[1] for s in scopes if s[0] in ("class", "function")]
                first, last = line_of(opened), line_of(at)
                found.append((kind, "::".join([*around, name]), first + 1, max(0, before[last] - before[first + 1])))
            if kind != "value":
                begin = at + 1
        elif c == ";" and (not scopes or scopes[-1][0] != "value"):
            if text.count("(", begin, at) <= text.count(")", begin, at):  # not that of a `for`
                begin = at + 1
    if scopes:
        raise ValueError("braces do not match")
    return found


def sizes(root):
    for folder in ("include/cairn", "tools"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".hpp", ".ipp", ".cpp", ".cuh", ".h"):
                path = file.relative_to(root).as_posix()
                try:
                    for kind, name, line, lines in bodies(file.read_text()):
                        yield kind, f"{path}: {name}", line, lines
                except ValueError as error:
                    sys.exit(f"{path}: {error}")
