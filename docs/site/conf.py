# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx for the pages of the site. They are read where they lie: the source folder is the checkout."""
import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))

root = pathlib.Path(__file__).resolve().parents[2]
project = "cairn"
release = re.search(r'CAIRN_VERSION_STRING "(.*)"', (root / "include/cairn/version.hpp").read_text())[1]
address = re.search(r"git clone (\S+?)(?:\.git)?\s", (root / "README.md").read_text())[1]  # the one place to change it
author = "The cairn authors"
copyright = author
needs_sphinx = "5.1"
extensions = ["myst_parser", "checkout"]
root_doc = "README"
source_suffix = {".md": "markdown"}
include_patterns = ["*.md", "docs/**", "examples/**"]
exclude_patterns = ["build", ".git", "benchmarks", "cmake", "include", "shared", "tests", "tools"]

# Pages are written for every reader of Markdown. What only this one takes for a command stays text.
myst_all_links_external = True  # `checkout` resolves them
myst_disable_syntax = ["myst_line_comment", "myst_block_break", "myst_target", "myst_role"]
smartquotes = False
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]

# The theme has all its scripts, and its fonts are those of the system: nothing comes from other servers.
html_theme = "furo"
html_title = f"cairn {release}"
html_theme_options = {"footer_icons": [{"name": "Source", "url": address, "html": "Source", "class": ""}]}
html_static_path = ["static"]
templates_path = ["templates"]
html_context = {"address": address}
html_sidebars = {"**": ["sidebar/brand.html", "source.html", "sidebar/search.html", "sidebar/scroll-start.html",
                        "sidebar/navigation.html", "sidebar/scroll-end.html"]}
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_search_scorer = str(root / "docs/site/static/scorer.js")
html_copy_source = False
html_use_index = False
html_show_sphinx = False
html_show_copyright = False
pygments_style = "xcode"  # each of its colours has a contrast of 4.5 to 1 or more on the grey of site.css
pygments_dark_style = "monokai"
