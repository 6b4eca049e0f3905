"""A second real browser for tests: Firefox without a window, by its Marionette protocol.

The client library is synchronous, so each call has a thread. It can start the browser too, but not without warnings.
"""

import os
import shutil
import tempfile
import warnings
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired

import trio

NAMES = ("firefox-esr", "firefox")
FLAGS = ("--headless", "--marionette", "--remote-allow-system-access", "--no-remote")
"""The third lets a test read the browser's console."""
PREFERENCES = {
    "marionette.port": 0,
    "browser.shell.checkDefaultBrowser": False,
    "browser.sessionstore.resume_from_crash": False,
    "network.dns.disabled": True,
    "devtools.console.stdout.content": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False,
}
"""Port 0 takes a free one, which the browser writes into its profile. No name is resolved: pages are on an address."""
START_SECONDS = 300.0
FIND_SECONDS = 300.0
ERRORS = """
return Services.console.getMessageArray()
  .filter(each => each instanceof Ci.nsIScriptError && !(each.flags & Ci.nsIScriptError.warningFlag))
  .filter(each => String(each.sourceName).startsWith(arguments[0]) && each.category !== "Event Source")
  .map(each => each.message);
"""
"""The errors on the console that come from pages of an address.

Firefox also notes each event stream that was open when its page was left; the page closes it as the next one comes.
"""


def find_firefox():
    """Return the path of an installed Firefox; None for none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Firefox:
    def __init__(self, client):
        self._client = client

    async def run(self, work, *arguments):
        """Call the client library in a thread."""
        return await trio.to_thread.run_sync(partial(work, *arguments))

    async def go(self, address):
        await self.run(self._client.navigate, address)

    async def address(self):
        return await self.run(self._client.get_url)

    async def use_scripts(self, allowed):
        """Let the pages that are loaded from now on run scripts, or not."""
        await self.run(self._client.set_pref, "javascript.enabled", allowed)

    async def reset(self):
        """Leave the page, remove all cookies, and allow scripts."""

        def forget():
            with self._client.using_context("chrome"):
                self._client.execute_script("Services.cookies.removeAll(); Services.console.reset();")

        await self.go("about:blank")
        await self.run(forget)
        await self.use_scripts(True)

    async def type(self, selector, text):
        await self.run((await self.find(selector)).send_keys, text)

    async def click(self, selector):
        """Click an element; if a page that renews itself has replaced it by then, the new one."""
        from marionette_driver.errors import StaleElementException

        with trio.fail_after(FIND_SECONDS):
            while True:
                with suppress(StaleElementException):
                    return await self.run((await self.find(selector)).click)

    async def find(self, selector):
        """Return the first element that matches, once there is one."""
        from marionette_driver.errors import NoSuchElementException

        with trio.fail_after(FIND_SECONDS):
            while True:
                try:
                    return await self.run(self._client.find_element, "css selector", selector)
                except NoSuchElementException:
                    await trio.sleep(0.05)

    async def text(self):
        """Return the text that is seen; empty while the page is being replaced."""
        from marionette_driver.errors import MarionetteException

        try:
            body = await self.run(self._client.find_element, "css selector", "body")
            return await self.run(lambda: body.text)
        except MarionetteException:
            return ""

    async def evaluate(self, expression):
        return await self.run(self._client.execute_script, f"return {expression};")

    async def until(self, expression):
        """Wait until an expression is true on the page."""
        from marionette_driver.errors import MarionetteException

        with trio.fail_after(FIND_SECONDS):
            while True:
                with suppress(MarionetteException):  # While the page is being replaced.
                    if await self.evaluate(expression):
                        return
                await trio.sleep(0.05)

    async def sees(self, text):
        """Wait until a text is on the page."""
        shown = ""
        with trio.move_on_after(FIND_SECONDS):
            while True:
                shown = await self.text()
                if text in shown:
                    return
                await trio.sleep(0.05)
        raise AssertionError(f"never seen: {text}\n{shown}")

    async def errors(self, address):
        """Return the errors that the pages of an address have put on the console."""

        def ask():
            with self._client.using_context("chrome"):
                return self._client.execute_script(ERRORS, script_args=(address,))

        return await self.run(ask)


class Process:
    """A browser's process, to which one connection at a time may be made."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="rpfox", ignore_cleanup_errors=True)
        folder = self._folder.name
        profile = Path(folder) / "profile"
        profile.mkdir()
        lines = [f'user_pref("{name}", {str(value).lower()});\n' for name, value in PREFERENCES.items()]
        (profile / "user.js").write_text("".join(lines))
        command = [find_firefox(), *FLAGS, "--profile", str(profile)]
        own = {"HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder}
        options = {"stdin": DEVNULL, "stdout": DEVNULL, "stderr": DEVNULL, "start_new_session": True}
        self._process = Popen(command, env={**os.environ, **own}, **options)
        self._port = profile / "MarionetteActivePort"

    @asynccontextmanager
    async def connected(self):
        """Connect to the browser for the length of a block; it has no cookies, and scripts are allowed."""
        with warnings.catch_warnings():  # Of packages that the client library imports.
            warnings.simplefilter("ignore")
            from marionette_driver.marionette import Marionette

        with trio.fail_after(START_SECONDS):
            port = await _port(self._port)
        client = Marionette(host="127.0.0.1", port=port)
        await trio.to_thread.run_sync(client.start_session)
        browser = Firefox(client)
        try:
            yield browser
        finally:
            with trio.CancelScope(shield=True):
                await browser.reset()
                await trio.to_thread.run_sync(_close, client)

    def close(self):
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()


async def _port(path):
    while True:
        try:
            return int(path.read_text())
        except (FileNotFoundError, ValueError):
            await trio.sleep(0.05)


def _close(client):
    if client.session is not None:
        client.delete_session()
    if client.client is not None:
        client.client.close()
