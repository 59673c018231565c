#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The site holds what was written: on each page every block of code equals its source byte for byte (but for empty
lines at its end, which nobody sees), every picture is the one that was named, every link and every place within a page
is there, and the navigation is that of docs/site/nav.txt: of a page that is not there, and a file that is none, they
differ.

    site.py ROOT OUT                           walks OUT/html, which docs/site/build.py made from the checkout ROOT
    site.py ROOT OUT --build DOXYGEN SPHINX    builds it first; 77 where a program or a part of Sphinx is missing
    site.py ROOT OUT --self                    plants one fault of each kind in the pages of OUT/html, as they are read,
                                               and checks that it is found

Prints what it counted and each fault, and exits 1 if there is one. Addresses of other servers are not asked, but no
page may need a script, a style or a picture of theirs.
"""
import collections
import functools
import html.parser
import pathlib
import posixpath
import re
import shutil
import sys
import urllib.parse

from running import skip, told

NEEDED = "./run docs installs them; Debian: doxygen, python3-sphinx, python3-myst-parser, furo"
LACKING = f"no doxygen, or no Sphinx with MyST and Furo ({NEEDED})"
LINKS = {"a": ["href"], "img": ["src", "srcset"], "source": ["src", "srcset"], "object": ["data"], "link": ["href"],
         "script": ["src"], "iframe": ["src"]}
FENCE = re.compile(r"^( *)(```+|~~~+)[^\n]*\n(.*?)^ *\2[ \t]*$", re.M | re.S)


class Page(html.parser.HTMLParser):
    """What a page shows as code and pictures, what it links to, and the places that it has."""

    def __init__(self, text):
        super().__init__()
        self.blocks, self.pictures, self.links, self.loads, self.sidebar, self.places = [], [], [], [], [], {""}
        self.open = collections.Counter()
        self.in_block = self.in_sidebar = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        self.open[tag] += 1
        self.places.update(told[name] for name in ("id", "name") if told.get(name))
        for name in LINKS.get(tag, []):
            for link in (part.split()[0] for part in (told.get(name) or "").split(", " if name == "srcset" else "\n")
                         if part.strip()):
                self.links.append(link)
                if tag != "a" and told.get("rel") not in ("canonical", "author"):
                    self.loads.append(link)
        if tag == "a" and self.in_sidebar and "reference" in (told.get("class") or ""):
            self.sidebar.append(told["href"])
        if tag == "div" and "sidebar-tree" in (told.get("class") or ""):
            self.in_sidebar = True
        if not self.open["article"]:
            return
        if tag == "img":
            self.pictures.append(told["src"])
        elif tag == "pre":
            self.in_block = True
            self.blocks.append("")

    def handle_endtag(self, tag):
        self.open[tag] -= 1
        if tag == "pre":
            self.in_block = False
        elif tag == "aside":
            self.in_sidebar = False

    def handle_data(self, data):
        if self.in_block:
            self.blocks[-1] += data


def fences(text):
    """The blocks of code of a page as it is written, without the indentation of their fences."""
    for indentation, _, code in FENCE.findall(text):
        yield re.sub(rf"^ {{0,{len(indentation)}}}", "", code, flags=re.M).rstrip("\n") + "\n"


def written_pages(root):
    found = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "examples").rglob("*.md")]
    return sorted(str(page.relative_to(root)) for page in found)


def address(page):
    return "index.html" if page == "README.md" else page[:-len("md")] + "html"


def navigation(root):
    lines = (root / "docs/site/nav.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.startswith(" ")]


@functools.cache
def page_at(file):
    return Page(file.read_text(errors="replace"))


class Walk:
    """One walk over a site; `planted` holds pages as they would be with a fault."""

    def __init__(self, root, out, planted=None):
        self.root, self.out, self.site, self.planted = root, out, out / "html", planted or {}
        self.counted, self.faults = collections.Counter(), []
        self.files = {path.relative_to(self.site).as_posix() for path in self.site.rglob("*") if path.is_file()}
        self.pages = {}
        for name in sorted(name for name in self.files if name.endswith(".html")):
            planted = name in self.planted
            self.pages[name] = Page(self.planted[name]) if planted else page_at(self.site / name)
        for page in written_pages(root):
            self.compare(page)
        for name, page in self.pages.items():
            self.follow(name, page)
        if self.pages["index.html"].sidebar != [address(page) for page in navigation(root)]:
            self.faults.append("index.html: its navigation is not that of docs/site/nav.txt")
        if "api/namespacecairn.html" not in self.pages:
            self.faults.append("the reference has no page of namespace cairn")

    def compare(self, page):
        shown = self.pages.get(address(page))
        if shown is None:
            return self.faults.append(f"{page}: the site has no {address(page)}")
        text = (self.root / page).read_text()
        blocks = collections.Counter(fences(text))
        self.counted["pages"] += 1
        self.counted["blocks of code"] += blocks.total()
        for block in blocks - collections.Counter(shown.blocks):
            self.faults.append(f"{page}: this block of code is not shown:\n{block}")
        text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", FENCE.sub("", text), flags=re.S)
        asked = re.findall(r'!\[[^]]*\]\(([^) ]+)[^)]*\)|<img[^>]*\ssrc="([^"]*)"', text)
        named = [path or other for path, other in asked]
        if len(named) != len(shown.pictures):
            self.faults.append(f"{page}: {len(named)} pictures, {len(shown.pictures)} on its page")
        for picture, on_page in zip(named, shown.pictures):
            self.counted["pictures"] += 1
            source = (self.root / page).parent / picture
            at = (self.site / address(page)).parent / urllib.parse.unquote(on_page)
            if not at.is_file() or not source.is_file() or at.read_bytes() != source.read_bytes():
                self.faults.append(f"{page}: its page does not show {picture}")

    def follow(self, name, page):
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme in ("javascript", "data"):
                continue
            if parts.scheme or parts.netloc:
                if link in page.loads:
                    self.faults.append(f"{name}: needs {link} of another server")
                continue
            self.counted["links of the reference" if name.startswith("api/") else "links"] += 1
            path = urllib.parse.unquote(parts.path)
            to = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            if to not in self.files:
                self.faults.append(f"{name}: nothing is at {link}")
            elif parts.fragment and to in self.pages:
                # doxygen itself links to places that it leaves out
                if urllib.parse.unquote(parts.fragment) not in self.pages[to].places and not name.startswith("api/"):
                    self.faults.append(f"{name}: no place {link}")


def built(root, out, doxygen, sphinx):
    """What the programs say that build the site."""
    if not shutil.which(doxygen) or not shutil.which(sphinx):
        skip(LACKING)
    status, said = told(sys.executable, root / "docs/site/build.py", root, out, "--doxygen", doxygen, "--sphinx", sphinx)
    if status and re.search(r"Could not import extension myst_parser|no theme named 'furo'", said):
        skip(LACKING)
    return f"{said}build.py: ended with {status}\n" if status else ""


def self_test(root, out):
    site, guide = out / "html", "docs/guide.html"
    text = (site / guide).read_text()
    lambdas = re.search(r'<span class="p">\[</span>(<span class="[a-z]+">[&amp;=]*</span>)?<span class="p">\]\(', text)
    place = re.search(r'href="(guide-[a-z-]+\.html)#[a-z-]+"', text)
    plants = [  # a page, what of it is replaced, by what, and what the walk has to say
        (guide, re.escape(lambdas[0]), '<span class="p">(', "is not shown"),
        (guide, r'<div class="highlight">.*?</div>', "", "is not shown"),
        ("index.html", r'(<img[^>]* src=")[^"]*', r"\1docs/nowhere.svg", "does not show"),
        ("index.html", r"<img[^>]*>", "", "pictures"),
        ("index.html", r'href="docs/tutorial.html"', 'href="docs/tutoriol.html"', "nothing is at docs/tutoriol.html"),
        (guide, re.escape(place[0]), f'href="{place[1]}#nowhere"', f"no place docs/{place[1]}#nowhere"),
        ("index.html", r'<a class="reference internal" href="docs/tutorial.html">.*?</a>', "", "its navigation is not"),
        ("index.html", "</head>", '<script src="https://cdn.example.org/x.js"></script></head>', "of another server"),
    ]
    wrong = 0
    for page, pattern, by, said in plants:
        before = (site / page).read_text()
        after = re.sub(pattern, by, before, count=1, flags=re.S)
        faults = Walk(root, out, {page: after}).faults
        if after == before or not any(said in fault for fault in faults):
            wrong += 1
            print(f"planted in {page}: {by!r} for {pattern!r}, found {faults}")
    print(f"{len(plants)} faults planted, {wrong} not found")
    return bool(wrong)


def main():
    root, out, *rest = sys.argv[1:]
    root, out = pathlib.Path(root).resolve(), pathlib.Path(out).resolve()
    said = ""
    if rest[:1] == ["--build"]:
        said = built(root, out, *rest[1:])
    elif not (out / "html/index.html").is_file():
        skip(f"the site is not built ({NEEDED})")
    if rest == ["--self"]:
        return self_test(root, out)
    if not (out / "html/index.html").is_file():
        print(said)
        return 1
    walk = Walk(root, out)
    faults = said.splitlines() + (out / "warnings.txt").read_text().splitlines() + sorted(set(walk.faults))
    print("\n".join(faults + [", ".join(f"{count:,} {what}" for what, count in walk.counted.items())
                              + f": {len(faults) or 'no'} fault{'s' * (len(faults) != 1)}"]))
    return bool(faults)


sys.exit(main())
