#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The site as a phone shows it, in headless Chromium: no page is wider than the screen, which is 390 pixels wide, and
every picture can be drawn.

    site_on_phone.py OUT           opens each page of OUT/html, of the API reference only some, from a server of its own;
                                   prints each fault, exits 1 if there is one and 77 without Chromium or without a site
    site_on_phone.py OUT --self    the same for pages that are too wide or have a picture that is none
"""
import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import planted
from running import CHROMIUM, needed, served, skip, told

OF_REFERENCE = ("api/index.html", "api/namespacecairn.html", "api/group__start.html", "api/run_2gradient_8hpp.html",
                "api/classcairn_1_1revolve.html", "api/classcairn_1_1workspace.html")
WIDTH = 390
MEASURE = """<!DOCTYPE html><body><iframe id="frame" width="%d" height="800"></iframe><script id="found" type="none">
</script><script>
const pages = %s, frame = document.getElementById('frame'), found = {};
(async () => {
  for (const page of pages) {
    await new Promise(done => { frame.onload = done; frame.src = '/' + page; });
    const shown = frame.contentDocument;
    const broken = [...shown.images].filter(image => image.complete && image.naturalWidth == 0);
    found[page] = [shown.documentElement.scrollWidth, shown.images.length, broken.map(image => image.src)];
  }
  document.getElementById('found').textContent = 'found' + JSON.stringify(found) + 'found';
})();
</script>"""


def measured(site, pages):
    """The width of each page, how many pictures it has, and those that cannot be drawn."""
    chromium = needed(*CHROMIUM, package="chromium")
    measure = (MEASURE % (WIDTH, json.dumps(pages))).encode()
    with served(site, {"measure": ("text/html", measure)}) as address, tempfile.TemporaryDirectory() as profile:
        _, shown = told(chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-extensions",
                        f"--user-data-dir={profile}", "--virtual-time-budget=600000", "--dump-dom",
                        f"{address}/measure", timeout=280, stderr=subprocess.DEVNULL)
    found = re.search(r"found({.*})found", shown)
    return json.loads(html.unescape(found[1])) if found else {}


def faults(site):
    pages = [str(path.relative_to(site)) for path in sorted(site.rglob("*.html")) if site / "api" not in path.parents]
    pages += [page for page in OF_REFERENCE if (site / page).is_file()]
    found = measured(site, pages)
    for page in pages:
        if page not in found:
            yield f"{page}: Chromium did not show it"
            continue
        width, _, broken = found[page]
        if width > WIDTH:
            yield f"{page}: {width} pixels wide on a screen of {WIDTH}"
        yield from (f"{page}: cannot draw {picture}" for picture in broken)
    print(f"{len(found)} pages, {sum(count for _, count, _ in found.values())} pictures")


SOUND = {"page.html": "<p>word</p>"}
PLANTED = [("page.html", "", '<div style="width: 500px">wide</div>', "pixels wide"),
           ("page.html", "", '<img src="none.svg">', "cannot draw")]

if __name__ == "__main__":
    site = pathlib.Path(sys.argv[1]) / "html"
    if sys.argv[2:] == ["--self"]:
        sys.exit(planted.self_test(faults, SOUND, PLANTED))
    if not (site / "index.html").is_file():
        skip("the site is not built (./run docs installs what that needs)")
    wrong = list(faults(site))
    print("\n".join(wrong) or "no fault")
    sys.exit(bool(wrong))
