#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The site in a browser: what only a browser shows. Needs chromium; eight minutes.

    site_walk.py HTML [CHROMIUM]     walks HTML, the folder build/docs/html that `./run docs` makes

Each page is laid out 1,440 and 390 pixels wide, light and dark. Faults: a page that is wider than its window; at 1,440
pixels a block of code or a table that has to be scrolled; text of less contrast with its background than 4.5 to 1; a
button that copies something else than its block, or than a shell's commands; a word whose page is not among the first
five of the search, each with an excerpt; a page without version or address. Of doxygen's pages only the width is
measured. Tables that scroll at 390 pixels are counted.
"""
import http.server
import json
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading

WORDS = {"budget": "docs/guide-budgets.html", "disk": "docs/reliability.html", "revolve": "docs/schedules/revolve.html",
         "torch": "docs/torch.html", "mpi": "docs/mpi.html"}
WALK = r"""<!doctype html><body style="margin:0"><iframe style="border:0;height:900px"></iframe><script>
const faults = [], counted = {}, frame = document.querySelector("iframe");
const fault = (page, what) => faults.push(`${page}: ${what}`);
const count = (what) => { counted[what] = (counted[what] || 0) + 1; };
const open = (page) => new Promise((done) => { frame.onload = () => done(frame.contentWindow); frame.src = "/" + page; });
const numbers = (color) => color.match(/[\d.]+/g).map(Number);
const light = (color) => numbers(color).slice(0, 3)
  .map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
function behind(element, window) {
  const color = window.getComputedStyle(element).backgroundColor;
  return (numbers(color)[3] ?? 1) > 0.99 ? color : behind(element.parentElement, window);
}
function contrast(page, window) {
  const texts = window.document.createTreeWalker(window.document.body, NodeFilter.SHOW_TEXT), seen = new Set();
  while (texts.nextNode()) {
    const text = texts.currentNode.data.trim(), element = texts.currentNode.parentElement;
    if (!/\w/.test(text) || !element.getClientRects().length || element.closest("script, svg")) continue;
    const colors = [window.getComputedStyle(element).color, behind(element, window)];
    const [dark, bright] = colors.map(light).sort((a, b) => a - b), ratio = (bright + 0.05) / (dark + 0.05);
    count("texts");
    if (ratio < 4.5 && !seen.has(String(colors))) fault(page, `contrast ${ratio.toFixed(2)}: ${text.slice(0, 40)}`);
    seen.add(String(colors));
  }
}
async function copies(page, window) {
  let taken = null;
  Object.defineProperty(window.navigator, "clipboard", {value: {writeText: async (text) => { taken = text; }}});
  for (const button of window.document.querySelectorAll("button.copy")) {
    const shown = button.parentElement.querySelector("pre").textContent;
    await button.click();
    count("copies");
    if (taken !== (shown.match(/^\$ .*\n/gm)?.map((line) => line.slice(2)).join("") ?? shown))
      fault(page, `copies ${taken} for ${shown}`);
  }
}
async function look(page, width) {
  const window = await open(page), root = window.document.documentElement;
  count(`pages ${width} wide`);
  if (root.scrollWidth > window.innerWidth) fault(page, `takes ${root.scrollWidth} of ${width}`);
  if (page.startsWith("api/")) return;
  for (const box of window.document.querySelectorAll(".content, article pre, .table-wrapper")) {
    if (box.scrollWidth <= box.clientWidth) continue;
    if (width === 1440 || box.matches(".content")) fault(page, `scrolls at ${width}: ${box.textContent.slice(0, 40)}`);
    else if (box.matches(".table-wrapper")) count(`tables that scroll at ${width}`);
  }
  const head = window.document.querySelector(".sidebar-sticky");
  if (!/cairn \d+\.\d+/.test(head.textContent) || !head.querySelector("a.source[href^=http]"))
    fault(page, "no version or no address");
  for (const scheme of ["light", "dark"]) {
    window.document.body.dataset.theme = scheme;
    contrast(`${page}, ${scheme}, ${width}`, window);
  }
  if (width === 1440) await copies(page, window);
}
async function find(word, wanted) {
  const window = await open("search.html?q=" + word), list = () => window.document.querySelectorAll("#search-results li");
  for (let before = -1; before < list().length || !before; await new Promise((done) => setTimeout(done, 1000)))
    before = list().length;
  const first = [...list()].slice(0, 5), pages = first.map((hit) => hit.querySelector("a").getAttribute("href"));
  if (!pages.some((page) => page.startsWith(wanted))) fault(word, `found ${pages.join(" ")}`);
  if (first.some((hit) => !/\w{3}/.test(hit.querySelector("p")?.textContent))) fault(word, "found without an excerpt");
  count("words looked for");
}
async function walk(pages, words) {
  for (const width of [1440, 390]) {
    frame.style.width = width + "px";
    for (const page of pages) await look(page, width);
  }
  for (const [word, wanted] of Object.entries(words)) await find(word, wanted);
}
walk(PAGES, WORDS).catch((error) => fault("stopped", error.stack))
  .then(() => fetch("/", {method: "POST", body: JSON.stringify([counted, faults])}));
</script>"""


def main():
    folder, done = pathlib.Path(sys.argv[1]).resolve(), queue.Queue()
    pages = sorted(page.relative_to(folder).as_posix() for page in folder.rglob("*.html"))

    class Site(http.server.SimpleHTTPRequestHandler):
        def do_POST(self):
            done.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def send_head(self):
            if self.path == "/walk":
                self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + WALK.replace(
                    "PAGES", json.dumps(pages)).replace("WORDS", json.dumps(WORDS)).encode())
            return None if self.path == "/walk" else super().send_head()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *asked: Site(*asked, directory=folder))
    server.handle_error = lambda *_: None  # the browser leaves a page before it has all of it
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = subprocess.Popen([*(sys.argv[2:] or ["chromium"]), "--headless=new", "--no-sandbox",
                                    f"--user-data-dir={home}", "--window-size=1600,1000",
                                    f"http://127.0.0.1:{server.server_port}/walk"], stderr=subprocess.DEVNULL)
        try:
            counted, faults = done.get(timeout=3600)
        finally:
            browser.terminate()
            browser.wait()
    print(*faults, sep="\n")
    print(*(f"{number:,} {what}" for what, number in counted.items()), f"{len(faults) or 'no'} faults", sep=", ")
    return bool(faults)


sys.exit(main())
