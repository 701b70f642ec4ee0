"""A page in headless Chromium, driven through its pipe of the DevTools protocol; needs nothing but the browser."""

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


def find_browser():
    return next((found for found in map(shutil.which, BROWSERS) if found), None)


class Page:
    """`errors` holds what the page has written to the console as an error, and its exceptions."""

    def __init__(self, to_browser, from_browser):
        self._out, self._in = to_browser, from_browser
        self._ids, self._bytes, self._session = itertools.count(1), b"", None
        self.errors = []
        self._loaded = False
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def _message(self, seconds):
        while b"\0" not in self._bytes:
            if not select.select([self._in], [], [], seconds)[0]:
                return None
            read = os.read(self._in, 1 << 20)
            if not read:
                raise RuntimeError("the browser has ended")
            self._bytes += read
        text, self._bytes = self._bytes.split(b"\0", 1)
        return json.loads(text)

    def _note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.errors.append(json.dumps(params["args"])[:500])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def _call(self, method, **params):
        request = {"id": next(self._ids), "method": method, "params": params}
        if self._session:
            request["sessionId"] = self._session
        os.write(self._out, json.dumps(request).encode() + b"\0")
        while True:
            message = self._message(60)
            if message is None:
                raise RuntimeError(f"the browser does not answer {method}")
            if message.get("id") != request["id"]:
                self._note(message)
            elif "error" in message:
                raise RuntimeError(f"{method}: {message['error']}")
            else:
                return message["result"]

    def open(self, url, width=1400, height=1000, media="screen", scheme="light"):
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._loaded = False
        self._call("Page.navigate", url=url)
        while not self._loaded:
            message = self._message(60)
            if message is None:
                raise RuntimeError(f"{url} does not load")
            self._note(message)

    def value(self, expression):
        """What a JavaScript expression gives, as JSON; a promise is waited for."""
        result = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {json.dumps(result['exceptionDetails'])[:500]}")
        return result["result"].get("value")

    def wait_for(self, expression, seconds=30):
        """Waits until the expression is true; returns its value."""
        end = time.monotonic() + seconds
        while True:
            value = self.value(expression)
            if value:
                return value
            assert time.monotonic() < end, f"{expression} does not become true"
            time.sleep(0.05)

    def press(self, key):
        """A key as KeyboardEvent.key names it."""
        code = KEYS.get(key) or ord(key.upper())
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                       text=text if kind == "keyDown" else "")  # fmt: skip

    def screenshot(self):
        """The visible part as PNG bytes."""
        return base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])


@contextlib.contextmanager
def page(browser):
    """Starts the browser with a profile of its own and yields an empty page."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()

        def take_pipes():  # Chromium reads the descriptor 3 and writes to 4
            read, write = os.dup(in_read), os.dup(out_write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        process = subprocess.Popen(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={profile}"],
            preexec_fn=take_pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)  # fmt: skip
        os.close(in_read)
        os.close(out_write)
        try:
            yield Page(in_write, out_read)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(in_write)
            os.close(out_read)
