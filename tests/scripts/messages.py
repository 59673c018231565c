#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every message of the library is in docs/troubleshooting.md, word for word, and no other.

    messages.py ROOT     lists what ROOT/docs/troubleshooting.md lacks of the sentences in ROOT/include, or has beyond
                         them; exits 1 if there is one
    messages.py --self   plants a message of each kind that no page has and checks that it is found

A message is the sentence of a static_assert or of an #error, or what an exception says is wrong (its second argument,
without the values). On the page it stands in a block ```text; a line that is indented by four goes on with the message
of the line before.
"""
import pathlib
import re
import sys

STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# What an exception says where its second argument is no literal: patterns for that argument and for where the literals
# are.
INDIRECT = {
    r"describe\(.*\)": r"case flaw::\w+: return ((?:.|\n)*?);",
    r"is_out \? words_\.is_too_much : words_\.was_stopped": r'(?:work_words\{|char const\* (?:is_too_much|was_stopped) '
                                                            r'= )("[^"]*"(?:, "[^"]*")?)',
    r"problem\.c_str\(\)": r"problem\.add\(at\.fault((?:.|\n)*?)\);",
}
# A function or lambda that is handed the words: its name, and the parameters before them.
HANDED = re.compile(r"\b(\w+)(?: = \[[^\]]*\])?\(([^()]*)\bchar const\* problem\b")


def arguments(text, at):
    """The arguments of the list that opens at `at`, as text; brackets and strings are respected."""
    parts, depth, part = [], 0, ""
    while True:
        string = STRING.match(text, at)
        if string:
            part, at = part + string.group(), string.end()
            continue
        c = text[at]
        depth += (c in "({[") - (c in ")}]")
        if depth == 0:
            return parts + [part]
        if c == "," and depth == 1:
            parts.append(part)
            part = ""
        elif depth > 1 or c not in "({[":
            part += c
        at += 1


def joined(code):
    """The code with neighbouring literals joined, as the compiler does."""
    return re.sub(r'"\s*\n\s*"', "", code)


def unescaped(text):
    return re.sub(r"\\(.)", r"\1", text)


def sentences(code):
    """The literals in a piece of code."""
    return [unescaped(found).strip('" ') for found in STRING.findall(joined(code))]


def handed(sources):
    """(file, words) of every call of a function that takes a `char const* problem`; a file's own function of a name
    hides those of other files."""
    own = {file: {(name, before.count(",")) for name, before in HANDED.findall(text)} for file, text in sources.items()}
    everywhere = set().union(*own.values())
    words = []
    for file, text in sources.items():
        names = {name for name, _ in own[file]}
        for name, place in sorted(own[file] | {one for one in everywhere if one[0] not in names}):
            for call in re.finditer(rf"\b{name}(?=\()", text):
                parts = arguments(text, call.end())
                if len(parts) > place and "char const* problem" not in parts[place]:
                    words += [(file, word) for word in sentences(parts[place]) if " " in word]
    return words


def messages(sources):
    """(file, sentence) of every message; `sources` is file -> text. A sentence of None is one that cannot be told."""
    found = handed(sources)
    for file, text in sources.items():
        text = re.sub(r"//[^\n]*", "", text)
        for check in re.finditer(r"\bstatic_assert(?=\()", text):
            found += [(file, sentence.removeprefix("cairn: "))
                      for sentence in sentences(arguments(text, check.end())[-1]) if " " in sentence]
        found += [(file, words.removeprefix("cairn: ")) for words in re.findall(r'^#error "(.*)"$', text, re.M)]
        for thrown in re.finditer(r"\bthrow (?:cairn::)?(?:detail::)?\w+(?=\{)", text):
            parts = arguments(text, thrown.end())
            if len(parts) < 2:
                continue  # not one of ours: they say who and what
            literals = sentences(parts[1])
            if not literals:
                patterns = [where for what, where in INDIRECT.items() if re.fullmatch(what, parts[1].strip())]
                literals = [s for pattern in patterns for other in sources.values()
                            for code in re.findall(pattern, other) for s in sentences(code)]
                if parts[1].strip() == "problem":
                    continue  # who throws it is handed the words
            found += [(file, sentence) for sentence in literals] or [(file, None)]
    return found


def plain(text):
    return re.sub(r"\s+", " ", text)


def lacking(sources, page):
    page = plain(page)
    faults = []
    first = {}
    for file, sentence in messages(sources):
        first.setdefault(sentence or file, (file, sentence))
    for file, sentence in first.values():
        if sentence is None:
            faults.append(f"{file}: an exception whose words this script cannot find; name them in INDIRECT")
        elif plain(sentence) not in page:
            faults.append(f"{file}: docs/troubleshooting.md lacks: {sentence}")
    return faults


def blocks(page):
    """The messages in the page's blocks, each as one line: an indented line goes on with the message before it."""
    for block in re.findall(r"```text\n(.*?)```", page, re.S):
        yield from re.sub(r"\n {4}", " ", block).splitlines()


def stale(sources, page):
    """What the page's blocks of messages hold that no source says."""
    said = plain(unescaped(" ".join(joined(text) for text in sources.values())))
    return [f"docs/troubleshooting.md: nothing says: {line}" for line in blocks(page) if plain(line) not in said]


def self_test():
    planted = {
        '#error "cairn: the language is wrong"\n': "the language is wrong",
        'static_assert(good, "cairn: the first is\\n"\n "wrong");': "the first is",
        'throw invalid_plan{"cairn::x", "the second is wrong", {{"n", n}}, "do this"};': "the second is wrong",
        'throw invalid_plan{"cairn::x", twice ? "the third" " is wrong" : "so is it", {}, ""};': "so is it",
        'throw invalid_plan{"cairn::x", words(), {}, ""};': "cannot find",
        'throw invalid_size{"cairn::x", problem, {}, ""}; void refuse_number(char const* problem, bool big); '
        'refuse_number("the fourth is wrong", true);':
            "the fourth is wrong",
        'auto const need = [&](bool holds, char const* problem) { throw invalid_plan{who, problem, {}, ""}; }; '
        'need(f(1, 2), "the sixth");': "the sixth",
        'throw invalid_schedule{"cairn::x", describe(found.reason), {}, ""}; case flaw::none: return "the fifth";':
            "the fifth",
    }
    wrong = 0
    for code, expected in planted.items():
        faults = lacking({"planted.hpp": code}, "do this")
        if not any(expected in fault for fault in faults):
            wrong += 1
            print(f"planted: {code}\nfound: {faults}")
    held = 'static_assert(good, "cairn: the one "\n  "message");'
    of_held = {"planted.hpp": held}
    if lacking(of_held, "It says\nthe one\nmessage.") or not lacking(of_held, "the one massage"):
        wrong += 1
        print("a message that the page has, or has not, is not told from the other")
    page = "```text\nthe one message\nanother\n```\n"
    if stale({"planted.hpp": held}, page) != ["docs/troubleshooting.md: nothing says: another"]:
        wrong += 1
        print(f"a message that nothing says is not told from one that is said: {stale({'planted.hpp': held}, page)}")
    both = {"planted.hpp": held + 'static_assert(good, "cairn: the other sentence");'}
    wrapped = "```text\nthe one\n    message\nthe other\n    sentence\n```\n"
    mixed = wrapped.replace("    message", "    sentence")
    if (stale(both, wrapped) or lacking(both, wrapped)
            or stale(both, mixed) != ["docs/troubleshooting.md: nothing says: the one sentence"]
            or lacking(both, mixed) != ["planted.hpp: docs/troubleshooting.md lacks: the one message"]):
        wrong += 1
        print(f"a message over two lines is not told from parts of two: {stale(both, mixed)} {lacking(both, mixed)}")
    two = {"a.hpp": 'void refuse(char const* who, char const* problem) { throw invalid_call{who, problem, {}, ""}; } '
                    'refuse("who it is", "in one file");',
           "b.hpp": 'auto refuse = [](char const* problem, char const* advice) { throw invalid_call{who, problem, {}, '
                    'advice}; }; refuse("in the other", "do that");'}
    if sorted(lacking(two, "")) != [f"{file}: docs/troubleshooting.md lacks: {words}"
                                    for file, words in (("a.hpp", "in one file"), ("b.hpp", "in the other"))]:
        wrong += 1
        print(f"two functions of one name are taken for each other: {lacking(two, '')}")
    print(f"{len(planted) + 4} cases, {wrong} wrong")
    return bool(wrong)


def main():
    if sys.argv[1:] == ["--self"]:
        return self_test()
    root = pathlib.Path(sys.argv[1])
    sources = {str(header.relative_to(root)): header.read_text()
               for header in sorted((root / "include").rglob("*.[hi]pp"))}
    page = (root / "docs" / "troubleshooting.md").read_text()
    faults = lacking(sources, page) + stale(sources, page)
    print("\n".join(faults))
    print(f"{len({sentence for _, sentence in messages(sources)})} messages, {len(faults)} of them or of "
          f"docs/troubleshooting.md without the other")
    return bool(faults)


sys.exit(main())
