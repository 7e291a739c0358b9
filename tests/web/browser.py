"""Pages in Chromium: served to frames of given widths, and what their probes say of them."""

import json
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PATIENCE = 60  # seconds that the browser has


def chromium(folder, *arguments):
    """Starts it, on a profile of its own."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("Chromium is missing: install the Debian package chromium")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
               f"--user-data-dir={folder / 'profile'}", *arguments]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Gallery(ThreadingHTTPServer):
    """Shows pages in frames, and takes down what their probes say and what else they ask for."""

    def __init__(self, pages, widths):
        super().__init__(("127.0.0.1", 0), GalleryRequest)
        self.pages = pages
        frames = [(name, width) for name in pages for width in widths]
        self.frames = "\n".join(f'<iframe src="/page/{name}" width="{width}" height="800"></iframe>' for name, width in frames)
        self.waiting, self.answers, self.others = set(frames), [], []
        self.done = threading.Event()

    def answered(self, answer):
        self.answers.append(answer)
        self.waiting.discard((answer["name"], answer["width"]))
        if not self.waiting:
            self.done.set()


class GalleryRequest(BaseHTTPRequestHandler):
    def reply(self, text):
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        name = self.path.removeprefix("/page/")
        if self.path == "/":
            self.reply(f'<!doctype html><meta charset="utf-8"><title>pages</title>{self.server.frames}')
        elif name in self.server.pages:
            self.reply(with_probe(self.server.pages[name], name))
        else:
            if self.path != "/favicon.ico":
                self.server.others.append(self.path)
            self.send_error(404)

    def do_POST(self):
        self.server.answered(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.reply("")

    def log_message(self, *_):
        pass


def with_probe(page, name):
    """The page with the probe before everything else that runs."""
    probe = (Path(__file__).parent / "probe.js").read_text(encoding="utf-8").replace("PAGE_NAME", json.dumps(name))
    return page.replace("<head>", f"<head>\n<script>{probe}</script>", 1)


def answers_of(folder, pages, widths, failures, *options):
    """What the probe says of each page at each width."""
    with Gallery(pages, widths) as gallery:
        threading.Thread(target=gallery.serve_forever, daemon=True).start()
        browser = chromium(folder, "--window-size=1600,900", *options, f"http://127.0.0.1:{gallery.server_port}/")
        gallery.done.wait(PATIENCE)
        browser.terminate()
        browser.wait(PATIENCE)
        gallery.shutdown()
        failures.check(not gallery.waiting, f"no answer within {PATIENCE} s: {sorted(gallery.waiting)}")
        failures.check(not gallery.others, f"pages need other files: {gallery.others}")
        return gallery.answers
