"""A terminal in which `replan` runs."""

import fcntl
import os
import re
import select
import struct
import termios
import time

PATIENCE = 300.0


class Terminal:
    def __init__(self, commands, *arguments, **variables):
        self.text = ""
        self._ours, theirs = os.openpty()
        self._name = os.ttyname(theirs)
        environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "90", "LINES": "40"} | variables
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        self._process = commands.start(*arguments, env=environment, terminal=True, **streams)
        os.close(theirs)

    def type(self, text):
        data = text.encode()
        while data:  # What the terminal echoes is read meanwhile, or it would take no more.
            readable, _, _ = select.select([self._ours], [self._ours], [], PATIENCE)
            if readable:
                assert self._read(), self.text
            else:
                data = data[os.write(self._ours, data[:512]) :]

    def wait_for_unread_input(self):
        """Wait until the terminal holds a typed line that the command has not read."""
        deadline = time.monotonic() + PATIENCE
        theirs = os.open(self._name, os.O_RDWR | os.O_NOCTTY)
        try:
            while not struct.unpack("i", fcntl.ioctl(theirs, termios.FIONREAD, b"\0" * 4))[0]:
                assert time.monotonic() < deadline, self.text
                time.sleep(0.005)
        finally:
            os.close(theirs)

    def read_until(self, pattern):
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, self.text):
            if time.monotonic() > deadline or not self._read():
                self._process.kill()
                self.end()
                raise AssertionError(self.text)

    def end(self):
        with self._process as process:
            while self._read():
                pass
            os.close(self._ours)
            try:
                return process.wait(timeout=PATIENCE)
            finally:
                process.kill()

    def _read(self):
        if not select.select([self._ours], [], [], PATIENCE)[0]:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # Linux says so where nobody has the other end any more.
            return False
        self.text += data.decode(errors="replace")
        return bool(data)
