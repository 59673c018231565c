# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx for the pages of the site. They are read where they lie: the source folder is the checkout."""
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))

project = "cairn"
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
html_title = "cairn"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False
html_show_sphinx = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
