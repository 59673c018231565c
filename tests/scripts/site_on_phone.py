#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The site as a phone shows it, in headless Chromium: no page is wider than the screen, which is 390 pixels wide, and
every picture can be drawn.

    site_on_phone.py OUT           opens each page of OUT/html, of the API reference only some, from a server of its own;
                                   prints each fault, exits 1 if there is one and 77 without Chromium or without a site
    site_on_phone.py OUT --self    the same for a page that is too wide and has a picture that is none
"""
import functools
import html
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

OF_REFERENCE = ("api/index.html", "api/namespacecairn.html", "api/group__start.html", "api/run_2gradient_8hpp.html",
                "api/classcairn_1_1revolve.html", "api/classcairn_1_1workspace.html")
WIDTH = 390
MEASURE = """<!DOCTYPE html><body><iframe id="frame" width="%d" height="800"></iframe><script id="found" type="none">
</script><script>
const pages = %s, frame = document.getElementById('frame'), found = {};
(async () => {
  for (const page of pages) {
    await new Promise(done => { frame.onload = done; frame.src = '/site/' + page; });
    const shown = frame.contentDocument;
    const broken = [...shown.images].filter(image => image.complete && image.naturalWidth == 0);
    found[page] = [shown.documentElement.scrollWidth, shown.images.length, broken.map(image => image.src)];
  }
  document.getElementById('found').textContent = 'found' + JSON.stringify(found) + 'found';
})();
</script>"""


def skip(why):
    print(f"cairn: skipped: {why}")
    sys.exit(77)


def measured(chromium, site, pages):
    """The width of each page, how many pictures it has, and those that cannot be drawn."""
    measure = (MEASURE % (WIDTH, json.dumps(pages))).encode()

    class handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            if self.path != "/measure":
                self.path = self.path.removeprefix("/site")
                return super().do_GET()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(measure)))
            self.end_headers()
            self.wfile.write(measure)

        def log_message(self, *words):
            pass

    class patient(http.server.ThreadingHTTPServer):
        def handle_error(self, *_):
            """A browser that goes on to the next page leaves answers half read."""

    with patient(("127.0.0.1", 0), functools.partial(handler, directory=site)) as server, \
            tempfile.TemporaryDirectory() as profile:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = subprocess.run([chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-extensions",
                               f"--user-data-dir={profile}", "--virtual-time-budget=600000", "--dump-dom",
                               f"http://127.0.0.1:{server.server_address[1]}/measure"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=280)
        server.shutdown()
    found = re.search(r"found({.*})found", done.stdout)
    return json.loads(html.unescape(found[1])) if found else {}


def faults(chromium, site, pages):
    found = measured(chromium, site, pages)
    for page in pages:
        if page not in found:
            yield f"{page}: Chromium did not show it"
            continue
        width, _, broken = found[page]
        if width > WIDTH:
            yield f"{page}: {width} pixels wide on a screen of {WIDTH}"
        yield from (f"{page}: cannot draw {picture}" for picture in broken)
    print(f"{len(found)} pages, {sum(count for _, count, _ in found.values())} pictures")


def main():
    out, *rest = sys.argv[1:]
    site = pathlib.Path(out) / "html"
    chromium = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path),
                    None) or skip("no chromium (Debian: chromium)")
    if not (site / "index.html").is_file():
        skip("the site is not built (./run docs installs what that needs)")
    if rest == ["--self"]:
        with tempfile.TemporaryDirectory() as scratch:
            pathlib.Path(scratch, "wide.html").write_text('<div style="width: 500px">wide</div><img src="none.svg">')
            found = list(faults(chromium, scratch, ["wide.html"]))
        print("\n".join(found))
        return not all(any(said in fault for fault in found) for said in ("pixels wide", "cannot draw"))
    pages = sorted(str(path.relative_to(site)) for path in site.rglob("*.html") if site / "api" not in path.parents)
    found = list(faults(chromium, site, pages + [page for page in OF_REFERENCE if (site / page).is_file()]))
    print("\n".join(found) or "no fault")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
