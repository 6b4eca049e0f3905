"""A real browser for tests: Chromium without a window, by its DevTools protocol over a pair of pipes."""

import json
import os
import shutil
import sys
import tempfile
from base64 import b64decode
from contextlib import asynccontextmanager
from subprocess import DEVNULL

import trio

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--no-first-run",
    "--no-default-browser-check",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)
FIND_SECONDS = 30.0
MIDDLE = """(() => {
  const found = document.querySelector(SELECTOR);
  found.scrollIntoView({block: "center"});
  const box = found.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()"""
"""Where the middle of an element is, once it is scrolled into view."""


def find_chromium():
    """Return the path of an installed Chromium; None for none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """One browser process. Each page has cookies of its own."""

    def __init__(self, reader, writer):
        self._reader, self._writer = reader, writer
        self._number, self._answers, self._pages = 0, {}, {}

    async def call(self, method, session=None, **parameters):
        """Call a method of the protocol, and return its result."""
        self._number += 1
        number, done = self._number, trio.Event()
        message = {"id": number, "method": method, "params": parameters}
        self._answers[number] = [done, None]
        await self._writer.send_all(json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        with trio.fail_after(FIND_SECONDS):
            await done.wait()
        answer = self._answers.pop(number)[1]
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    async def listen(self):
        """Hand out what the browser sends, until it ends."""
        rest = b""
        async for part in self._reader:
            *messages, rest = (rest + part).split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    self._answers[message["id"]][1] = message
                    self._answers[message["id"]][0].set()
                elif page := self._pages.get(message.get("sessionId")):
                    page.take(message["method"], message["params"])

    async def page(self, *, script=True, width=1100, height=900, dark=False, profile=None):
        """Open a page; without `script` it runs none. Pages of one `profile` share their cookies."""
        profile = profile or (await self.call("Target.createBrowserContext"))["browserContextId"]
        target = await self.call("Target.createTarget", url="about:blank", browserContextId=profile)
        attached = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page = Page(self, attached["sessionId"], profile)
        self._pages[attached["sessionId"]] = page
        for domain in ("Page", "Runtime", "Network", "Log"):
            await page.call(f"{domain}.enable")
        if not script:
            await page.call("Emulation.setScriptExecutionDisabled", value=True)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        await page.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await page.call("Emulation.setEmulatedMedia", features=[scheme])
        return page


class Page:
    """One tab. `errors` has the errors on its console, `requests` the addresses that it has asked for."""

    def __init__(self, browser, session, profile):
        self._browser, self._session, self.profile = browser, session, profile
        self.errors, self.requests = [], []

    def take(self, method, parameters):
        """Note an event."""
        match method:
            case "Runtime.exceptionThrown":
                self.errors.append(parameters["exceptionDetails"].get("exception", {}).get("description", "?"))
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning"):
                self.errors.append(str([each.get("value") for each in parameters["args"]]))
            case "Log.entryAdded" if parameters["entry"]["level"] == "error":
                self.errors.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])

    async def call(self, method, **parameters):
        """Call a method of the protocol for this page."""
        return await self._browser.call(method, self._session, **parameters)

    async def evaluate(self, expression):
        """Return the value of an expression; works also where the page's own scripts are off."""
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    async def go(self, address):
        """Load an address."""
        await self.call("Page.navigate", url=address)
        await self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    async def until(self, expression):
        """Wait until an expression is true."""
        with trio.move_on_after(FIND_SECONDS):
            while True:
                try:
                    if await self.evaluate(f"Boolean({expression})"):
                        return
                except AssertionError:
                    pass  # The page is just being replaced.
                await trio.sleep(0.03)
        raise AssertionError(f"never true: {expression}\n{await self.text()}")

    async def sees(self, text):
        """Wait until a text is on the page."""
        await self.until(f"document.body && document.body.innerText.includes({json.dumps(text)})")

    async def text(self):
        """Return the text that is seen."""
        return await self.evaluate("document.body ? document.body.innerText : ''")

    async def type(self, selector, text):
        """Type into a field."""
        await self.until(f"document.querySelector({json.dumps(selector)})")
        await self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        await self.call("Input.insertText", text=text)

    async def press(self, key, code=0):
        """Press a key."""
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            await self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text)

    async def click(self, selector):
        """Click where an element is, as a mouse does."""
        await self.until(f"document.querySelector({json.dumps(selector)})")
        place = await self.evaluate(MIDDLE.replace("SELECTOR", json.dumps(selector)))
        for kind in ("mousePressed", "mouseReleased"):
            place_of = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
            await self.call("Input.dispatchMouseEvent", type=kind, **place_of)

    async def screenshot(self, path):
        """Write a picture of the whole page."""
        data = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
        await trio.Path(path).write_bytes(b64decode(data["data"]))


@asynccontextmanager
async def chromium():
    """Start a browser for the length of a block."""
    # Chromium's end of the pipes is numbered 3 and 4.
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    with tempfile.TemporaryDirectory(prefix="rpweb", ignore_cleanup_errors=True) as folder:
        begin = (
            "import fcntl, os, sys; ends = [fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3]]; "
            "os.dup2(ends[0], 3); os.dup2(ends[1], 4); os.execv(sys.argv[3], sys.argv[3:])"
        )
        own = [sys.executable, "-c", begin, str(to_read), str(from_write)]
        command = [*own, find_chromium(), *FLAGS, f"--user-data-dir={folder}"]
        options = {"pass_fds": (to_read, from_write), "stdout": DEVNULL, "stderr": DEVNULL, "start_new_session": True}
        options["env"] = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder}
        process = await trio.lowlevel.open_process(command, **options)
        os.close(to_read)
        os.close(from_write)
        reader, writer = trio.lowlevel.FdStream(from_read), trio.lowlevel.FdStream(to_write)
        async with reader, writer, trio.open_nursery() as nursery:
            browser = Chromium(reader, writer)
            nursery.start_soon(browser.listen)
            try:
                yield browser
            finally:
                with trio.CancelScope(shield=True), trio.move_on_after(10):
                    await browser.call("Browser.close")
                    await process.wait()
                process.kill()
                with trio.CancelScope(shield=True):
                    await process.wait()
                nursery.cancel_scope.cancel()
