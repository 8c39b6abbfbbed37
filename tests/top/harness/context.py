"""What the cases share."""

import contextlib
import dataclasses
import json
import os
import queue
import signal
import socket
import subprocess
import threading
import time

# Nothing here is decided by time; this only ends a test that would wait for ever.
PATIENCE = 120


@dataclasses.dataclass
class Context:
    windlass: str
    library: str
    folder: str
    programs: dict

    @contextlib.contextmanager
    def top(self, *arguments):
        """`windlass top --json --interval`, from the moment when it says that it watches."""
        with Top([self.windlass, "top", "--json", "--interval", "0.2", *arguments]) as top:
            yield top


class Top:
    """A running `windlass top` that prints a line of JSON for each interval."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.said = self.process.stderr.readline()
        assert self.said.startswith("windlass: watching "), self.said + self.process.stderr.read()
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.last = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def wait_for(self, what, condition):
        """Reads on until a line is so, and gives the condition's value."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                snapshot = self.lines.get(timeout=1)
            except queue.Empty:
                continue
            assert snapshot is not None, f"top ended before: {what}"
            self.last = snapshot
            found = condition(snapshot)
            if found:
                return found
        raise AssertionError(f"never came: {what}\n{json.dumps(self.last, indent=1)[:4000]}")

    def wait_for_row(self, pid, condition=lambda row: True):
        """The row of a process, when it is so."""
        rows = lambda snapshot: [row for row in snapshot["rows"] if row["pid"] == pid and condition(row)]
        return self.wait_for(f"a row of {pid}", rows)[0]

    def end(self):
        """Ends it as Ctrl-C does; gives the last line, in which all is counted."""
        self.process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            snapshot = self.lines.get(timeout=PATIENCE)
            if snapshot is None:
                assert self.process.wait() == 0, self.process.stderr.read()
                return self.last
            self.last = snapshot
        raise AssertionError("top did not end")


class Program:
    """A program that says a line when it has loaded, and waits for a line to end."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def line(self):
        line = self.process.stdout.readline()
        assert line, "the program ended early"
        return line.strip()

    def say(self, text=""):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=PATIENCE)


@contextlib.contextmanager
def silent_server():
    """A port that takes connections and says nothing until it is left: whoever speaks TLS to it waits."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        connections = []

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    connections.append(listener.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            for connection in connections:
                connection.close()
            # A blocked accept does not see that its socket was closed.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)


def real(path):
    return os.path.realpath(path)
