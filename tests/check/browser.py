# SPDX-License-Identifier: Apache-2.0
"""A page in headless Chromium, driven by the DevTools protocol over a pipe: no package but Python's own."""
import base64, json, os, select, shutil, subprocess, tempfile, time

NAMES = ("chromium", "chromium-browser", "google-chrome")


def program():
    """The browser's path, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Page:
    """One page. `said` holds what its console said: errors, warnings, refused scripts and exceptions."""

    def __init__(self, width=1280, height=900, dark=False):
        self.said, self.number, self.buffer, self.loaded = [], 0, b"", False
        self.folder = tempfile.mkdtemp()
        to_browser, self.out = os.pipe()
        self.inside, from_browser = os.pipe()

        def wire():
            os.dup2(to_browser, 3)
            os.dup2(from_browser, 4)

        # 3 and 4 are the numbers that the browser expects; high copies keep dup2 from closing what it still needs.
        to_browser, from_browser = (move(fd) for fd in (to_browser, from_browser))
        self.process = subprocess.Popen(
            [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", "--user-data-dir=" + self.folder, "about:blank"],
            preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.session = None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        self.view(width, height, dark)

    def view(self, width, height, dark=False, media=""):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read(60)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(method + ": " + answer["error"]["message"])
                return answer["result"]

    def read(self, timeout):
        while b"\0" not in self.buffer:
            if not select.select([self.inside], [], [], timeout)[0]:
                raise TimeoutError("the browser is silent")
            piece = os.read(self.inside, 1 << 20)
            if not piece:
                raise EOFError("the browser ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        method, params = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            self.said.append(params["exceptionDetails"].get("exception", {}).get("description") or params["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.said.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.said.append(params["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.said.append("a dialog: " + params["message"])
        return message

    def open(self, path):
        """Seconds until the page has loaded and its first frame is drawn."""
        began, self.loaded = time.monotonic(), False
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not self.loaded:
            self.read(60)
        self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        return time.monotonic() - began

    def ask(self, script):
        """What an expression of JavaScript gives."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(script + ": " + str(answer["exceptionDetails"].get("exception", {}).get("description")))
        return answer["result"].get("value")

    def key(self, name, text=""):
        codes = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "Tab": 9}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=codes.get(name, ord(name[0])),
                      text=("\r" if name == "Enter" else text) if kind == "keyDown" else "")

    def click(self, selector):
        """A click with the mouse in the middle of the first element that the selector finds."""
        x, y = self.ask("(e => { e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })"
                        "(document.querySelector(%s))" % json.dumps(selector))
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        time.sleep(0.05)

    def picture(self, path, whole=True):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]))

    def close(self):
        try:
            self.call("Browser.close")
        except (EOFError, OSError, RuntimeError):
            pass
        self.process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)


def move(fd):
    """A copy of fd above 10; fd is closed."""
    import fcntl
    copy = fcntl.fcntl(fd, fcntl.F_DUPFD, 10)
    os.close(fd)
    return copy
