"""A real browser for tests: Chromium without a window, by its DevTools protocol over a pair of pipes."""

import json
import os
import shutil
import sys
import tempfile
from base64 import b64decode
from contextlib import asynccontextmanager, suppress
from signal import SIGKILL, SIGTERM
from subprocess import DEVNULL, Popen, TimeoutExpired

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
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost",
    "--remote-debugging-pipe",
)
FIND_SECONDS = 300.0
MIDDLE = """(() => {
  const found = document.querySelector(SELECTOR);
  window.clicked = false;
  const note = event => {
    const present = document.querySelector(SELECTOR);
    if (present && present.contains(event.target)) window.clicked = true;
  };
  addEventListener("click", note, {once: true, capture: true});
  found.scrollIntoView({block: "center"});
  const box = found.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()"""
"""Where the middle of an element is, once it is scrolled into view. `window.clicked` tells of a click after that.

The window listens, not the element: a page that renews itself may have replaced the element before the click.
"""

BOX = """(() => {
  const box = document.querySelector(SELECTOR).getBoundingClientRect(), margin = 12;
  const y = Math.max(0, box.y + scrollY - margin);
  return {x: 0, y, width: innerWidth, height: box.bottom + scrollY + margin - y, scale: 1};
})()"""
"""Where an element is on the page, over the whole width of the window."""


def find_chromium():
    """Return the path of an installed Chromium; None for none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """A connection to a browser. Each page has cookies of its own."""

    def __init__(self, reader, writer, process):
        self._reader, self._writer, self._process = reader, writer, process
        self._answers, self._pages, self._profiles = {}, {}, []

    async def call(self, method, session=None, **parameters):
        """Call a method of the protocol, and return its result."""
        self._process.calls += 1
        number, done = self._process.calls, trio.Event()
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
        async for part in self._reader:
            *messages, self._process.rest = (self._process.rest + part).split(b"\0")
            for message in map(json.loads, messages):
                if message.get("id") in self._answers:
                    self._answers[message["id"]][1] = message
                    self._answers[message["id"]][0].set()
                elif page := self._pages.get(message.get("sessionId")):
                    page.take(message["method"], message["params"])

    async def page(self, *, script=True, width=1100, height=900, dark=False, profile=None):
        """Open a page; without `script` it runs none. Pages of one `profile` share their cookies."""
        if profile is None:
            profile = (await self.call("Target.createBrowserContext"))["browserContextId"]
            self._profiles.append(profile)
        target = await self.call("Target.createTarget", url="about:blank", browserContextId=profile)
        attached = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page = Page(self, attached["sessionId"], profile, script)
        self._pages[attached["sessionId"]] = page
        for domain in ("Page", "Runtime", "Network", "Log"):
            await page.call(f"{domain}.enable")
        if not script:
            await page.call("Emulation.setScriptExecutionDisabled", value=True)
        await page.look(width=width, height=height, dark=dark)
        return page

    async def forget(self):
        """Close all pages, and forget their cookies."""
        for profile in self._profiles:
            await self.call("Target.disposeBrowserContext", browserContextId=profile)


class Page:
    """One tab. `errors` has the errors on its console, `requests` the addresses that it has asked for."""

    def __init__(self, browser, session, profile, script):
        self._browser, self._session, self.profile, self._script = browser, session, profile, script
        self.errors, self.requests = [], []

    def take(self, method, parameters):
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

    async def look(self, *, width=1100, height=900, dark=False, scale=1):
        """Change the size of the window, and the colours that its user prefers."""
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
        await self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    async def evaluate(self, expression):
        """Return the value of an expression; works also where the page's own scripts are off."""
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    async def go(self, address):
        await self.call("Page.navigate", url=address)
        await self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    async def until(self, expression):
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
        await self.until(f"document.body && document.body.innerText.includes({json.dumps(text)})")

    async def text(self):
        return await self.evaluate("document.body ? document.body.innerText : ''")

    async def type(self, selector, text):
        await self.until(f"document.querySelector({json.dumps(selector)})")
        await self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        await self.call("Input.insertText", text=text)

    async def press(self, key, code=0):
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            await self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text)

    async def click(self, selector):
        """Click where an element is, as a mouse does; again if a page that renews itself has moved it by then."""
        find = json.dumps(selector)
        with trio.fail_after(FIND_SECONDS):
            while True:
                await self.until(f"document.querySelector({find})")
                place, before = await self.evaluate(MIDDLE.replace("SELECTOR", find)), None
                while place != before:
                    await trio.sleep(0.05)
                    before, place = place, await self.evaluate(MIDDLE.replace("SELECTOR", find))
                for kind in ("mousePressed", "mouseReleased"):
                    place_of = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
                    await self.call("Input.dispatchMouseEvent", type=kind, **place_of)
                # The next page does not have the variable; a page without scripts never renews itself.
                if not self._script or await self.evaluate("window.clicked !== false"):
                    return

    async def picture(self, selector, *, height):
        """Return a picture of an element in the width of the window, at most so many points high, as PNG."""
        await self.call("Emulation.setScrollbarsHidden", hidden=True)
        clip = await self.evaluate(BOX.replace("SELECTOR", json.dumps(selector)))
        clip["height"] = min(clip["height"], height)
        return b64decode((await self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip))["data"])


class Process:
    """A browser's process, to which one connection at a time may be made.

    `calls` and `rest`, the number of the last call and the beginning of a message, go on from one to the next.
    """

    def __init__(self):
        # Chromium's end of the pipes is numbered 3 and 4.
        to_read, self._writer = os.pipe()
        self._reader, from_write = os.pipe()
        self._folder = tempfile.TemporaryDirectory(prefix="rpweb", ignore_cleanup_errors=True)
        folder = self._folder.name
        begin = (
            "import fcntl, os, sys; ends = [fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3]]; "
            "os.dup2(ends[0], 3); os.dup2(ends[1], 4); os.execv(sys.argv[3], sys.argv[3:])"
        )
        own = [sys.executable, "-c", begin, str(to_read), str(from_write)]
        command = [*own, find_chromium(), *FLAGS, f"--user-data-dir={folder}"]
        options = {"pass_fds": (to_read, from_write), "stdout": DEVNULL, "stderr": DEVNULL, "start_new_session": True}
        options["env"] = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder}
        self._process = Popen(command, **options)
        os.close(to_read)
        os.close(from_write)
        self.calls, self.rest = 0, b""

    @asynccontextmanager
    async def connected(self):
        """Connect to the browser for the length of a block; its pages are closed afterwards."""
        reader, writer = (trio.lowlevel.FdStream(os.dup(end)) for end in (self._reader, self._writer))
        async with reader, writer, trio.open_nursery() as nursery:
            browser = Chromium(reader, writer, self)
            nursery.start_soon(browser.listen)
            try:
                yield browser
            finally:
                with trio.CancelScope(shield=True):
                    await browser.forget()
                nursery.cancel_scope.cancel()

    def close(self):
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, SIGTERM)
        try:
            self._process.wait(timeout=10)
        except TimeoutExpired:
            os.killpg(self._process.pid, SIGKILL)
            self._process.wait()
        os.close(self._reader)
        os.close(self._writer)
        self._folder.cleanup()


@asynccontextmanager
async def chromium():
    """Start a browser for the length of a block."""
    process = Process()
    try:
        async with process.connected() as browser:
            yield browser
    finally:
        process.close()
