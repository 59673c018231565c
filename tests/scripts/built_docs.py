#!/usr/bin/env python3
"""The pages that doxygen builds are those that were written: every code block equals its source, every picture and
local link is there.

    built_docs.py DOXYGEN ROOT          builds them in a scratch folder, prints each fault; exits 1 if there is one and
                                        77 without doxygen
    built_docs.py DOXYGEN ROOT --self   the same for a page with one fault of each kind
"""
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

PARTS = {"a": "href", "img": "src", "object": "data", "link": "href", "script": "src"}


class Page(html.parser.HTMLParser):
    """What a page shows as code, what it asks for, and the anchors it has."""

    def __init__(self, path):
        super().__init__()
        self.code, self.asked, self.anchors = [], [], set()
        self.depth = 0  # of <div>s within a block of code, 1 for its own
        self.tip = 0  # the depth of a name's explanation, which is shown when the pointer is over it
        self.preformatted = False
        self.feed(path.read_text(errors="replace"))

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        self.anchors.update(told[name] for name in ("id", "name") if told.get(name))
        if tag in PARTS and told.get(PARTS[tag]):
            self.asked.append(told[PARTS[tag]])
        classes = (told.get("class") or "").split()
        if tag == "pre" and "fragment" in classes:
            self.code.append("")
            self.preformatted = True
        elif tag == "div" and "fragment" in classes:
            self.code.append("")
            self.depth = 1
        elif tag == "div" and self.depth:
            self.depth += 1
            if "ttc" in classes:
                self.tip = self.depth

    def handle_endtag(self, tag):
        if tag == "pre":
            self.preformatted = False
        elif tag == "div" and self.depth:
            if self.depth == 2 and not self.tip:
                self.code[-1] += "\n"
            self.depth -= 1
            if self.depth < self.tip:
                self.tip = 0

    def handle_data(self, data):
        if self.preformatted or (self.depth > 1 and not self.tip):
            self.code[-1] += data


def blocks(text):
    """The code blocks of a page as it is written: fences, and paragraphs that are indented by four."""
    found, inside, before = [], None, ""
    for line in text.splitlines():
        fence = line.startswith("```")
        if inside == "fence":
            if fence:
                inside = None
            else:
                found[-1].append(line)
        elif fence:
            inside = "fence"
            found.append([])
        elif line.startswith("    ") and (inside == "indented" or not before.strip()):
            if not inside:
                found.append([])
            inside = "indented"
            found[-1].append(line[4:])
        elif line.strip():
            inside = None
        before = line
    return [plain("\n".join(lines)) for lines in found]


def plain(code):
    return [line.rstrip() for line in code.replace("\u00a0", " ").strip("\n").splitlines()]


def build(doxygen, root, scratch, inputs):
    settings = pathlib.Path(root, "docs", "Doxyfile").read_text()
    settings += f'OUTPUT_DIRECTORY = "{scratch}"\nGENERATE_HTML = YES\n'
    if inputs:
        settings += f'INPUT = "{inputs}"\nUSE_MDFILE_AS_MAINPAGE =\nWARN_AS_ERROR = NO\n'
    return subprocess.run([doxygen, "-"], input=settings, text=True, cwd=root, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


def sources(root):
    """Markdown files by the pages that doxygen makes of them."""
    files = [pathlib.Path(root, name) for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    files += sorted(pathlib.Path(root, "docs").rglob("*.md"))
    for file in files:
        name = "_".join(file.relative_to(root).with_suffix("").parts)
        is_first = file.name == "README.md" and file.parent == pathlib.Path(root)
        yield "index.html" if is_first else f"md_{name.replace('-', '_')}.html", file


def faults(folder, written):
    pages = {path.name: Page(path) for path in sorted(folder.glob("*.html"))}
    of_text = {name for name, _ in written}  # of the reference doxygen itself leaves out places that it links to
    for name, file in written:
        if name not in pages:
            yield f"{file}: there is no {name}"
            continue
        wanted, shown = blocks(file.read_text()), [plain(code) for code in pages[name].code]
        if len(wanted) != len(shown):
            yield f"{file}: {len(wanted)} blocks of code, {len(shown)} in {name}"
        pictures = {urllib.parse.urlsplit(path).path.rpartition("/")[2]
                    for path in re.findall(r"!\[[^]]*\]\(([^) ]+)\)", file.read_text())}
        for lost in pictures - {asked.rpartition("/")[2] for asked in pages[name].asked}:
            yield f"{file}: {name} does not show {lost}"
        for want, show in zip(wanted, shown):
            if want != show:
                at = next((k for k, (one, other) in enumerate(zip(want, show)) if one != other),
                          min(len(want), len(show)))
                yield f"{file}: written {want[at:at + 1]}, shown {show[at:at + 1]}"
                break
    for name, page in pages.items():
        for asked in page.asked:
            target = urllib.parse.urlsplit(asked)
            if target.scheme or target.netloc or asked.startswith("javascript:"):
                continue
            at = urllib.parse.unquote(target.path) or name
            if not (folder / at).is_file():
                yield f"{name}: no {asked}"
            elif (target.fragment and name in of_text and at in of_text
                  and urllib.parse.unquote(target.fragment) not in pages[at].anchors):
                yield f"{name}: no place {asked}"


def self_test(doxygen, root, scratch):
    page = pathlib.Path(scratch, "planted.md")
    good = "# Planted\nText.\n\n```cpp\nauto f = [](double x) { return x; };\n```\n"
    wrong = 0
    planted = {"": "", "![none](nowhere.svg)": "nowhere.svg", "[gone](../nowhere/gone.pdf)": "gone.pdf"}
    for more, word in planted.items():
        page.write_text(good + more + "\n")
        out = pathlib.Path(scratch, "out")
        build(doxygen, root, out, page)
        made = next(iter((out / "html").glob("*planted.html")))
        found = list(faults(out / "html", [(made.name, page)]))
        if (not found) != (not word) or word not in " ".join(found):
            wrong += 1
            print(f"planted: {more or 'nothing'}, found {found}")
    page.write_text(good.replace("[](double", "[]( double"))
    if not any("shown" in fault for fault in faults(out / "html", [(made.name, page)])):
        wrong += 1
        print("a block of code that differs was not found")
    return bool(wrong)


def main():
    doxygen, root, *rest = sys.argv[1:]
    if not shutil.which(doxygen):
        print("cairn: skipped: no doxygen (Debian: doxygen)")
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        if rest == ["--self"]:
            return self_test(doxygen, root, scratch)
        done = build(doxygen, root, scratch, None)
        found = sorted(set(faults(pathlib.Path(scratch, "html"), list(sources(root)))))
        if done.returncode:
            found.append(done.stdout)
    print("\n".join(found) or "no fault")
    return bool(found)


sys.exit(main())
