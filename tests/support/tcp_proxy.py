"""A TCP proxy between a client and a server that spoils a connection at a chosen moment, once for each fault."""

import socket
import threading
import time
from contextlib import contextmanager, suppress
from enum import Enum, auto


class Fault(Enum):
    """What happens when the client sends the bytes that the proxy waits for."""

    CUT_BEFORE = auto()
    """They are not passed on, and both sides are cut."""
    CUT_AFTER = auto()
    """They are passed on, and both sides are cut before the answer comes back."""
    LOSE = auto()
    """They are not passed on, and both connections stay open and silent."""
    SILENT = auto()
    """They are passed on; the answer is not, and the client's connection stays open."""
    HALF_CLOSE = auto()
    """They are passed on; the server's side is told that the client sends nothing more, and no answer comes back."""
    DELAY = auto()
    """They are passed on half a second later."""


class Proxy:
    """Passes bytes on in both directions; `arm` sets what happens at the next occurrence of some bytes."""

    def __init__(self, target):
        self._target, self._fault, self._trigger = target, None, b""
        self._sockets, self._threads = [], []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.struck = 0
        self._start(self._accept)

    def arm(self, fault, trigger=b"COMMIT\0"):
        self._trigger, self._fault = trigger, fault

    def cut_all(self):
        for end in self._sockets:
            _cut(end)

    def refuse(self):
        _cut(self._listener)

    def close(self):
        self.refuse()
        self.cut_all()
        for thread in self._threads:
            thread.join()

    def _start(self, work, *arguments):
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:  # It is being restarted.
                _cut(client)
                continue
            self._sockets += [client, server]
            silent = threading.Event()
            self._start(self._pass_to_server, client, server, silent)
            self._start(self._pass_to_client, server, client, silent)

    def _pass_to_server(self, client, server, silent):
        with suppress(OSError):
            while data := client.recv(65536):
                fault = self._fault if self._trigger in data else None
                if fault is None:
                    server.sendall(data)
                    continue
                self._fault, self.struck = None, self.struck + 1
                if not self._strike(fault, data, client, server, silent):
                    return
            _cut(server)

    def _strike(self, fault, data, client, server, silent):
        """Do what the fault says; return whether bytes are passed on afterwards."""
        if fault is Fault.DELAY:
            time.sleep(0.5)
            server.sendall(data)
            return True
        silent.set()
        if fault not in (Fault.CUT_BEFORE, Fault.LOSE):
            server.sendall(data)
        if fault is Fault.HALF_CLOSE:
            server.shutdown(socket.SHUT_WR)
        if fault is Fault.CUT_AFTER:
            time.sleep(0.1)
        if fault in (Fault.CUT_BEFORE, Fault.CUT_AFTER):
            _cut(client)
            _cut(server)
        return False

    @staticmethod
    def _pass_to_client(server, client, silent):
        with suppress(OSError):
            while data := server.recv(65536):
                if not silent.is_set():
                    client.sendall(data)
            if not silent.is_set():
                _cut(client)


def _cut(end):
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def running_proxy(target):
    proxy = Proxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
