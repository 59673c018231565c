# SPDX-License-Identifier: Apache-2.0
"""A checkout as a site, for Sphinx: pages lie as their Markdown files do, every link into the checkout leads to a page.

README.md becomes index.html and heads the navigation, which `nav.txt` lists. Links go by what they name: a Markdown
file to its page, a public header to its page in the API reference, a picture to itself, any other file to a page with
its text, and a folder to a page that lists it. Headings have the anchors that GitHub gives them.
"""
import functools
import html
import os
import pathlib
import re
import shutil
import xml.etree.ElementTree as xml_tree
from urllib.parse import quote, unquote, urlsplit

from docutils import nodes
from pygments import lexers
from pygments.util import ClassNotFound
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

NAVIGATION = pathlib.Path(__file__).parent / "nav.txt"
LARGEST = 200_000  # bytes of a file that becomes a page; larger ones are copied as they are, and so are pictures
RAW = re.compile(r'(\s)(href|src|srcset)="([^"]*)"')


def navigation():
    """Headings with their files, in the order of `nav.txt`: a heading begins its line, its files are indented by two.
    Files that are indented by four belong under the one above them."""
    groups, below = [], {}
    for line in NAVIGATION.read_text().splitlines():
        document = line.strip().removesuffix(".md")
        if not document or document.startswith("#"):
            continue
        if line.startswith("    "):
            below.setdefault(groups[-1][1][-1], []).append(document)
        elif line.startswith("  "):
            groups[-1][1].append(document)
        else:
            groups.append((line, []))
    return groups, below


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


class Anchors(SphinxTransform):
    """Gives headings GitHub's anchors, and code of a language that Pygments does not know no language."""

    default_priority = 870  # before the contents of pages are collected

    def apply(self):
        seen = {}
        for section in self.document.findall(nodes.section):
            name = anchor(section.next_node(nodes.title).astext())
            count = seen.setdefault(name, 0)
            seen[name] += 1
            section["ids"] = [f"{name}-{count}" if count else name]
        for block in self.document.findall(nodes.literal_block):
            try:
                lexers.get_lexer_by_name(block.get("language", "text"))
            except ClassNotFound:
                block["language"] = "text"


class Site(StandaloneHTMLBuilder):
    """Pages where their files lie, README.md as the first page of the site."""

    def page_of(self, document):
        return "index" if document == self.config.root_doc else document

    def get_target_uri(self, docname, typ=None):
        return super().get_target_uri(self.page_of(docname), typ)

    def get_outfilename(self, pagename):
        return super().get_outfilename(self.page_of(pagename))

    def get_output_path(self, page_name):  # what Sphinx 8 and later ask for
        return super().get_output_path(self.page_of(page_name))

    def index_page(self, pagename, doctree, title):  # the search makes addresses of these names
        super().index_page(self.page_of(pagename), doctree, title)

    @functools.cached_property
    def root(self):
        return pathlib.Path(self.srcdir).resolve()

    @functools.cached_property
    def api(self):
        """Pages of the API reference by file or folder of the checkout, and places of names by `cairn::name`."""
        files, names = {"include/cairn": "api/index.html", "include": "api/index.html"}, {}
        tags = pathlib.Path(self.config.cairn_api_tags)
        if not tags.is_file():
            return files, names
        for compound in xml_tree.parse(tags).getroot():
            kind, name, page = compound.get("kind"), compound.findtext("name"), compound.findtext("filename")
            page = "api/" + page + ("" if page.endswith(".html") else ".html")
            if not (pathlib.Path(self.outdir) / page).is_file():
                continue
            if kind in ("file", "dir"):
                path = pathlib.Path(compound.findtext("path"), name if kind == "file" else "").resolve()
                files.setdefault(str(path.relative_to(self.root)), page)
            elif re.fullmatch(r"cairn::\w+", name):
                names[name] = page
            if kind == "namespace" and name == "cairn":
                for member in compound.iter("member"):
                    at = f"api/{member.findtext('anchorfile')}#{member.findtext('anchor')}"
                    names.setdefault("cairn::" + member.findtext("name"), at)
        return files, names

    def address(self, document, link):
        """Where a link of a page leads, from the top of the site, and the file that has to become a page for that;
        both None where it leads out of the checkout or nowhere."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or not parts.path:
            return None, None
        path = os.path.normpath(os.path.join(os.path.dirname(document), unquote(parts.path)))
        at = "#" + parts.fragment if parts.fragment else ""
        page = path.removesuffix(".md") if path.endswith(".md") else None
        if page in self.env.found_docs:
            return self.get_target_uri(page) + at, None
        if path in self.api[0]:
            return self.api[0][path] + at, None
        if f"{path}/README" in self.env.found_docs:
            return self.get_target_uri(f"{path}/README") + at, None
        file = self.root / path
        if path.startswith("..") or not file.exists():
            return None, None
        if file.is_dir():
            return quote(path) + "/index.html", path
        return quote(path) + (".html" if is_text(file) else ""), path

    def told(self, document, link):
        """The link as the page has it."""
        address, _ = self.address(document, link)
        return link if address is None else relative(self.get_target_uri(document), address)


def relative(from_page, to):
    path, at, place = to.partition("#")
    return os.path.relpath(path, os.path.dirname(from_page) or ".") + at + place


@functools.lru_cache(maxsize=None)
def is_text(file):
    if file.suffix == ".svg":
        return False
    content = file.read_bytes() if file.stat().st_size <= LARGEST else b"\0"
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


class Links(SphinxPostTransform):
    """Turns the links of a page into those of the site. `cairn::name` and `<cairn/header.hpp>` become links, too."""

    default_priority = 5
    formats = ("html",)

    def run(self, **_):
        site, page = self.app.builder, self.env.docname
        for node in self.document.findall(nodes.reference):
            link = node.get("refuri")
            if link is None:
                continue
            node["refuri"] = site.told(page, link)
            if not urlsplit(link).scheme:
                node["internal"] = True
                if site.address(page, link)[0] is None and not link.startswith("#"):
                    logging.getLogger(__name__).warning("nothing is at %s", link, location=node)
        for node in list(self.document.findall(nodes.raw)):
            self.replace_raw(site, page, node)
        files, names = site.api
        for code in list(self.document.findall(nodes.literal)):
            text = code.astext()
            header = re.fullmatch(r"<(cairn/[\w/]+\.hpp)>", text)
            at = files.get("include/" + header[1]) if header else names.get(text)
            if at and not within(code, (nodes.reference, nodes.title)):
                link = nodes.reference("", "", internal=True, refuri=relative(site.get_target_uri(page), at))
                code.replace_self(link)
                link += code

    def replace_raw(self, site, page, node):
        """HTML within Markdown: its pictures are copied to where they lie in the checkout."""

        def told(found):
            start, attribute, link = found.groups()
            if attribute == "href":
                link = site.told(page, link)
            else:
                for picture in (part.split()[0] for part in link.split(",") if part.strip()):
                    copy(site, os.path.normpath(os.path.join(os.path.dirname(page), picture)))
            return f'{start}{attribute}="{link}"'

        text = RAW.sub(told, node.astext())
        node.replace_self(nodes.raw("", text, format=node.get("format", "html")))


def within(node, kinds):
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False


def copy(site, path):
    source, to = site.root / path, pathlib.Path(site.outdir) / path
    if source.is_file():
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, to)


def asked(site):
    """The files and folders that pages link to and that are no pages yet, with what those folders list."""
    found = set()
    for document in site.env.found_docs:
        tree = site.env.get_doctree(document)
        links = [node["refuri"] for node in tree.findall(nodes.reference) if "refuri" in node]
        links += [link for node in tree.findall(nodes.raw) for _, kind, link in RAW.findall(node.astext())
                  if kind == "href"]
        found.update(path for path in (site.address(document, link)[1] for link in links) if path)
    waiting = list(found)
    while waiting:
        folder = site.root / waiting.pop()
        more = [site.address("", str(path.relative_to(site.root)))[1] for path in listed(folder)]
        waiting += set(more) - found - {None}
        found.update(more)
    return sorted(found - {None})


def listed(folder):
    if not folder.is_dir():
        return []
    return sorted((path for path in folder.iterdir() if not path.name.startswith((".", "__"))),
                  key=lambda path: (path.is_file(), path.name))


def first_sentence(file):
    """What the first comment of a file says, up to the end of its first sentence."""
    words = []
    for line in file.read_text().splitlines():
        if "SPDX-License-Identifier" in line:
            continue
        comment = re.match(r'\s*(?://[/!]?|#(?!!|include|pragma|if)|"""|/\*+)\s*(?:\\file \S+)?\s*(.*)', line)
        if not comment:
            if words or not re.match(r"#|\s*$", line):
                break
            continue
        words.append(comment[1].replace('"""', "").replace("*/", "").strip())
        if re.search(r"[.:]$", words[-1]) or ". " in words[-1]:
            break
    return re.split(r"(?<=[.:])\s", " ".join(words))[0].rstrip(":")


def pages_of_files(app):
    site = app.builder
    for path in asked(site):
        file = site.root / path
        if file.is_dir():
            rows = ""
            for entry in listed(file):
                below = str(entry.relative_to(site.root))
                at = relative(path + "/index.html", site.address("", below)[0])
                says = first_sentence(entry) if entry.is_file() and is_text(entry) else ""
                mark = "/" if entry.is_dir() else ""
                rows += (f'<tr><td><a href="{at}">{html.escape(entry.name)}{mark}</a></td>'
                         f"<td>{html.escape(says)}</td></tr>\n")
            table = f'<table class="docutils files"><tbody>{rows}</tbody></table>'
            body = f'<h1>{html.escape(path)}</h1>\n<div class="table-wrapper docutils container">{table}</div>'
            yield f"{path}/index", {"title": path, "body": body}, "page.html"
        elif is_text(file):
            try:
                language = lexers.get_lexer_for_filename(path).aliases[0]
            except ClassNotFound:
                language = "text"
            code = site.highlighter.highlight_block(file.read_text(), language, linenos=False, force=True)
            yield path, {"title": path, "body": f"<h1>{html.escape(path)}</h1>\n{code}"}, "page.html"
        else:
            copy(site, path)


def contents(documents, heading=None):
    if not documents:
        return ""
    caption = f":caption: {heading}\n" if heading else ""
    lines = "\n".join(f"/{document}" for document in documents)
    return f"\n\n```{{toctree}}\n:hidden:\n:titlesonly:\n{caption}\n{lines}\n```\n"


def add_navigation(app, document, source):
    """Puts the navigation into the first page, and what stands below a page into that. A page that `nav.txt` lacks
    comes last, a file that is not there is left out; the test `docs.site` objects to both."""
    groups, below = navigation()
    pages = set(app.env.found_docs) - {app.config.root_doc}
    source[0] += contents([child for child in below.get(document, []) if child in pages])
    if document == app.config.root_doc:
        rest = sorted(pages.difference(*(entries for _, entries in groups), *below.values()))
        for heading, entries in [*groups, ("More", rest)]:
            source[0] += contents([entry for entry in entries if entry in pages], heading)


def setup(app):
    app.add_config_value("cairn_api_tags", "", "html")
    app.add_builder(Site, override=True)
    app.add_transform(Anchors)
    app.add_post_transform(Links)
    app.connect("source-read", add_navigation)
    app.connect("html-collect-pages", pages_of_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
