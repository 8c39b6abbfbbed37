"""On a terminal: refreshed in place, fitted to its size, and left as it was found."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from context import PATIENCE, Program

BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
ENTER, LEAVE = b"\x1b[?1049h\x1b[?25l", b"\x1b[?25h\x1b[?1049l"


def cases(_):
    yield "terminal: refreshed in place", refreshed
    yield "terminal: keys", keys
    yield "terminal: another size", resized
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        yield f"terminal: restored after {name}", restored(name)
    yield "terminal: Ctrl-C", control_c
    yield "terminal: a second signal ends what waits", waits
    yield "terminal: stopped and continued", suspended
    yield "terminal: --once and dumb terminals are plain", plain
    yield "terminal: ends with --duration", duration
    yield "a reader that goes away ends it", unread


class Terminal:
    """`windlass top` in a pseudo terminal, in a session of its own."""

    def __init__(self, context, *arguments, size=(100, 30), term="xterm"):
        self.master, self.slave = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self.slave)
        command = [context.windlass, "top", "--interval", "0.2", *arguments]
        self.process = subprocess.Popen(
            command, stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
            env={"TERM": term, "PATH": os.environ["PATH"]},
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self.seen = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def resize(self, width, height):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def press(self, key):
        os.write(self.master, key)

    def read_until(self, what, condition):
        """Reads what is drawn until all that was seen is so."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = condition(self.seen)
            if found:
                return found
            if select.select([self.master], [], [], 0.5)[0]:
                self.seen += os.read(self.master, 65536)
            elif self.process.poll() is not None and not select.select([self.master], [], [], 0)[0]:
                break
        raise AssertionError(f"never seen: {what}\n{self.seen[-3000:]!r}")

    def frame(self, what, condition):
        """The next whole frame that is so, as lines."""
        self.seen = b""

        def whole(seen):
            frames = re.findall(rb"\x1b\[H(.*?)\x1b\[J", seen, re.DOTALL)
            frames = [[line.replace(b"\x1b[K", b"").decode() for line in re.split(b"\r*\n", frame)] for frame in frames]
            return next((frame for frame in frames if condition(frame)), None)

        return self.read_until(what, whole)

    def started(self):
        self.read_until("the alternate screen", lambda seen: ENTER in seen)
        self.frame("a frame", lambda frame: True)

    def ended(self, status=0):
        """It ends, the normal screen with its cursor is back, and the terminal's modes are as before."""
        self.read_until("the normal screen", lambda seen: LEAVE in seen)
        deadline = time.monotonic() + PATIENCE
        # What it prints at the end has to be read, or it waits.
        while self.process.poll() is None and time.monotonic() < deadline:
            if select.select([self.master], [], [], 0.1)[0]:
                self.seen += os.read(self.master, 65536)
        assert self.process.wait(timeout=1) == status, self.seen
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 65536)
        assert termios.tcgetattr(self.slave) == self.before
        behind = self.seen.rpartition(LEAVE)[2]
        assert b"\x1b" not in behind, behind
        return behind.decode()


def refreshed(context):
    with Terminal(context) as terminal:
        terminal.started()
        with Program([context.programs["dynamic"], "1", BUNDLE]) as program:
            program.line()
            pid = str(program.process.pid)
            frame = terminal.frame("the program's row", lambda frame: any(line.split()[:1] == [pid] for line in frame))
            program.say()
            program.end()
        modes = termios.tcgetattr(terminal.slave)
        assert not modes[3] & (termios.ECHO | termios.ICANON) and modes[3] & termios.ISIG
        assert "q: end" in frame[1] and frame[3].split()[:3] == ["PID", "USER", "PROGRAM"], frame
        # Nothing scrolls: each frame begins at the top, and has no line end behind its last line.
        assert b"\n\x1b[J" not in terminal.seen
        terminal.press(b"q")
        behind = terminal.ended()
        assert any(line.split()[:1] == [pid] for line in behind.splitlines()), behind


def keys(context):
    with Terminal(context) as terminal:
        terminal.started()
        terminal.frame("the order at first", lambda frame: "order (bytes)" in frame[1])
        terminal.press(b"s")
        terminal.frame("the next order", lambda frame: "order (opens)" in frame[1])
        with Program([context.programs["dynamic"], "1", BUNDLE]) as program:
            program.line()
            terminal.press(b"p")
            terminal.frame("programs", lambda frame: len(frame) > 3 and frame[3].startswith("PROGRAM"))
            terminal.press(b"xyz\x1b[A")
            terminal.press(b"p")
            terminal.frame("processes", lambda frame: len(frame) > 3 and "PID" in frame[3])
            program.say()
            program.end()
        terminal.press(b"q")
        terminal.ended()


def resized(context):
    with Terminal(context) as terminal, Program([context.programs["dynamic"], "1", BUNDLE]) as program:
        program.line()
        terminal.started()
        for size in ((40, 10), (120, 5), (20, 4), (1, 1), (200, 50)):
            terminal.resize(*size)
            # The kernel sends SIGWINCH to the foreground group; it is ours.
            fits = lambda frame: all(len(line) <= size[0] for line in frame) and len(frame) <= size[1]
            terminal.frame(f"a frame of {size}", fits)
            frame = terminal.frame("another one", fits)
            assert size != (40, 10) or max(map(len, frame)) == 40, frame
        terminal.press(b"q")
        terminal.ended()
        program.say()
        program.end()


def restored(name):
    def case(context):
        with Terminal(context) as terminal:
            terminal.started()
            terminal.process.send_signal(getattr(signal, name))
            terminal.ended()

    return case


def control_c(context):
    with Terminal(context) as terminal:
        terminal.started()
        terminal.press(b"\x03")
        terminal.ended()


def suspended(context):
    """Ctrl-Z gives the terminal back; continued, it is taken again."""
    with Terminal(context) as terminal:
        terminal.started()
        terminal.press(b"\x1a")
        terminal.read_until("the normal screen", lambda seen: LEAVE in seen)
        state = lambda: open(f"/proc/{terminal.process.pid}/stat",
                             encoding="ascii").read().rpartition(")")[2].split()[0]
        deadline = time.monotonic() + PATIENCE
        while state() != "T" and time.monotonic() < deadline:
            time.sleep(0.01)
        assert state() == "T" and termios.tcgetattr(terminal.slave) == terminal.before
        terminal.seen = b""
        terminal.process.send_signal(signal.SIGCONT)
        terminal.started()
        terminal.press(b"q")
        terminal.ended()


def waits(context):
    """Nobody reads what it prints, so it can't end in order."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, b"x" * 4096)
    command = [context.windlass, "top", "--json"]
    # Whoever runs the tests in the background of a shell has it ignored.
    usual = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, text=True,
                          preexec_fn=usual) as top:
        assert top.stderr.readline().startswith("windlass: watching ")
        deadline = time.monotonic() + PATIENCE
        while top.poll() is None and time.monotonic() < deadline:
            top.send_signal(signal.SIGINT)
            time.sleep(0.2)
        status = top.poll()
        top.kill()
    os.close(reader), os.close(writer)
    assert status == -signal.SIGINT, status


def unread(context):
    """As `| head -1`."""
    command = [context.windlass, "top", "--json", "--interval", "0.1"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as top:
        assert top.stdout.readline().startswith(b"{")
        top.stdout.close()
        try:
            assert top.wait(timeout=PATIENCE) == 0
        finally:
            top.kill()


def plain(context):
    for arguments, term in ((("--once",), "xterm"), (("--duration", "0.1"), "dumb")):
        with Terminal(context, *arguments, term=term) as terminal:
            terminal.read_until("the table", lambda seen: b" opens of " in seen)
            assert b"\x1b" not in terminal.seen, terminal.seen
            assert terminal.process.wait(timeout=PATIENCE) == 0


def duration(context):
    with Terminal(context, "--duration", "1") as terminal:
        terminal.started()
        terminal.ended()
