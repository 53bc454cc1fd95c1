"""A headless Chromium, spoken to in its own protocol over two pipes."""
import base64
import itertools
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

from tests.cluster.cluster import wait_until
from tests.cluster.runner import Skip

NAMES = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 20
PICTURE_HEIGHT_MAX = 2000
# Where pictures are kept for people to look at.
PICTURES = pathlib.Path(os.environ.get("TFD_PICTURES", "build/test/pictures"))

# Looks at each change of the document; what is true after a frame was begun is
# in that frame, and the one after it begins when it has been drawn.
WATCH = """let drawnAfter = 0;
new MutationObserver((_, self) => {
  if (!(%s)) return;
  self.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => {
    drawnAfter = performance.now();
  }));
}).observe(document, { childList: true, subtree: true });"""
PAINTS = "performance.getEntriesByName('first-contentful-paint')"
# Scripts may be ahead of what is on the screen, until something is.
DRAWN = "(([first]) => ({ first: first.startTime," + """
  drawn: Math.max(drawnAfter, first.startTime),
  answers: Object.fromEntries(performance.getEntriesByType('navigation')
    .concat(performance.getEntriesByType('resource'))
    .map((e) => [new URL(e.name).pathname, e.responseEnd - e.requestStart])),
}))(""" + PAINTS + ")"


class Browser:
    """One page of one browser; what stands before its command may start it in
    another way."""

    def __init__(self, width=1280, height=1600, before=()):
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            raise Skip("no chromium here")
        self.folder = tempfile.TemporaryDirectory(prefix="tfd-browser-")
        from_us, self.to = os.pipe()
        self.source, to_us = os.pipe()
        # The browser reads descriptor 3 and writes descriptor 4.
        command = ('exec "$@" 3<&%d 4>&%d' % (from_us, to_us))
        self.process = subprocess.Popen(
            ["bash", "-c", command, "bash", *before, program,
             "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--remote-debugging-pipe",
             "--user-data-dir=" + self.folder.name,
             "--window-size=%d,%d" % (width, height), "about:blank"],
            pass_fds=(from_us, to_us), stdin=subprocess.DEVNULL,
            start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(from_us)
        os.close(to_us)
        self.numbers, self.rest = itertools.count(1), b""
        self.events, self.session, self.last = [], None, None
        pages = self.call("Target.getTargets")["targetInfos"]
        page = next(p for p in pages if p["type"] == "page")
        self.session = self.call("Target.attachToTarget", flatten=True,
                                 targetId=page["targetId"])["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.to)
        os.close(self.source)
        wait_until(self._removed, 20, "the last of the browser's processes")

    def _removed(self):
        """Those that it had may write into its folder for a moment yet."""
        try:
            self.folder.cleanup()
        except OSError:
            return False
        return True

    def _message(self, end):
        while b"\0" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.source], [], [], left)[0]:
                raise TimeoutError("the browser is silent")
            data = os.read(self.source, 1 << 16)
            if not data:
                raise EOFError("the browser has gone")
            self.rest += data
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def call(self, method, **params):
        number, end = next(self.numbers), time.monotonic() + SECONDS
        request = dict(id=number, method=method, params=params)
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        while True:
            answer = self._message(end)
            if answer.get("id") != number:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise ValueError("%s: %s" % (method, answer["error"]))
            return answer["result"]

    def value(self, expression):
        """Of an expression of JavaScript; promises are waited for."""
        result = self.call("Runtime.evaluate", expression=expression,
                           returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise ValueError("%s: %s" % (expression,
                                         result["exceptionDetails"]))
        return result["result"].get("value")

    def until(self, expression, seconds=SECONDS):
        """Waits until an expression is true; its value.  One that fails, or
        whose page goes meanwhile, is not true yet."""
        def look():
            try:
                return self.value(expression)
            except ValueError as error:
                self.last = error
                return None

        try:
            return wait_until(look, seconds, expression)
        except TimeoutError as error:
            self.picture("failed")
            raise TimeoutError("%s (%s)" % (error, self.last)) from None

    def open(self, url):
        """Goes there; what the page before complained of is forgotten."""
        self.events = []
        self.call("Page.navigate", url=url)

    def drawn(self, url, expression, seconds=SECONDS):
        """Opens it; {"drawn": milliseconds from the navigation until the
        expression was true and a frame with it was drawn, "first": until
        anything was, "answers": what each request took, by its path}."""
        script = self.call("Page.addScriptToEvaluateOnNewDocument",
                           source=WATCH % expression)["identifier"]
        self.open("about:blank")
        self.open(url)
        self.until("location.href === %s && drawnAfter && %s.length" % (
            json.dumps(url), PAINTS), seconds)
        self.call("Page.removeScriptToEvaluateOnNewDocument",
                  identifier=script)
        return self.value(DRAWN)

    def key(self, name, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name,
                      windowsVirtualKeyCode=code, text=text)

    def complaints(self):
        """What the page was forbidden, and errors of its script."""
        self.value("0")
        return [e["params"] for e in self.events
                if e.get("method") in ("Log.entryAdded",
                                       "Runtime.exceptionThrown")]

    def requests(self):
        """Every address it asked for."""
        return [e["params"]["request"]["url"] for e in self.events
                if e.get("method") == "Network.requestWillBeSent"]

    def picture(self, name, **how):
        data = self.call("Page.captureScreenshot", format="png", **how)["data"]
        PICTURES.mkdir(parents=True, exist_ok=True)
        path = PICTURES / (name + ".png")
        path.write_bytes(base64.b64decode(data))
        return path

    def media(self, scheme):
        """"light" or "dark", and nothing that moves."""
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def album(self, name):
        """Pictures of the page as a desk and a telephone show it, by day and
        by night, each with what lies below the window; at last it is as it
        was, but for the motion.  What a width cuts off is a failure."""
        for width, kind in ((1280, ""), (480, "-narrow")):
            self.call("Emulation.setDeviceMetricsOverride", width=width,
                      height=800, deviceScaleFactor=1, mobile=False)
            for scheme in ("dark", "light"):
                self.media(scheme)
                high = self.value("document.documentElement.scrollHeight")
                wide = self.value("document.documentElement.scrollWidth")
                assert wide <= width, (name, width, wide)
                self.picture(
                    name + kind + {"dark": "-dark", "light": ""}[scheme],
                    captureBeyondViewport=True,
                    clip=dict(x=0, y=0, width=width, scale=1,
                              height=min(high, PICTURE_HEIGHT_MAX)))
        self.call("Emulation.clearDeviceMetricsOverride")
