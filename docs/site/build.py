#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the site: pages by Sphinx, API reference by doxygen. Nothing is downloaded.

    build.py ROOT OUT [--doxygen PROGRAM] [--sphinx PROGRAM]   from the checkout ROOT into OUT/html, made anew; what
                                                               Sphinx warns of is also in OUT/warnings.txt
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys


def reference(doxygen, root, out):
    """The settings of the API reference, added to docs/Doxyfile. Warnings are for the test `docs.every_public_name`."""
    version = re.search(r'CAIRN_VERSION_STRING "(.*)"', (root / "include/cairn/version.hpp").read_text())[1]
    settings = [(root / "docs/Doxyfile").read_text(), f"PROJECT_NUMBER = {version}", f'OUTPUT_DIRECTORY = "{out}"',
                "GENERATE_HTML = YES", "HTML_OUTPUT = html/api", f'GENERATE_TAGFILE = "{out}/api.tag"',
                "LAYOUT_FILE = docs/site/layout.xml", "GENERATE_TREEVIEW = NO", "HTML_COLORSTYLE = LIGHT",
                "WARN_AS_ERROR = NO"]
    shared = [pathlib.Path(prefix, "share/doxygen-awesome-css") for prefix in ("/usr", "/usr/local")]
    themes = [folder / "doxygen-awesome.css" for folder in shared]
    sheets = [str(theme) for theme in themes if theme.is_file()][:1] + ["docs/site/api.css"]
    settings.append("HTML_EXTRA_STYLESHEET = " + " ".join(sheets))
    known = subprocess.run([doxygen, "-s", "-g", "-"], text=True, stdout=subprocess.PIPE, check=True).stdout
    names = set(re.findall(r"^(\w+) *\+?=", known, re.M))  # older ones lack some
    return "\n".join(line for line in settings if line.partition(" ")[0] in names or "\n" in line) + "\n"


def build(root, out, doxygen, sphinx):
    shutil.rmtree(out / "html", ignore_errors=True)
    (out / "html").mkdir(parents=True)
    done = subprocess.run([doxygen, "-"], input=reference(doxygen, root, out), text=True, cwd=root)
    if done.returncode:
        return done.returncode
    return subprocess.run([sphinx, "-q", "-E", "-b", "html", "-c", root / "docs/site", "-d", out / "pages", "-w",
                           out / "warnings.txt", "-D", f"cairn_api_tags={out}/api.tag", root, out / "html"],
                          cwd=root).returncode


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("root", type=pathlib.Path)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--doxygen", default="doxygen")
    arguments.add_argument("--sphinx", default="sphinx-build")
    given = arguments.parse_args()
    return build(given.root.resolve(), given.out.resolve(), given.doxygen, given.sphinx)


if __name__ == "__main__":
    sys.exit(main())
