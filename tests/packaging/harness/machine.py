"""A minimal system that runs: systemd is its process 1, in namespaces of its own."""

import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from root import Root

# Far more than anything here takes on a busy machine; nothing is concluded from how long it took.
BOUND = 120
BOOT = pathlib.Path(__file__).resolve().parent / "boot.sh"


class Refused(Exception):
    """This machine does not let systemd be process 1 of a container; says what was refused."""


class Machine(Root):
    """The running system. Files are reached as in its root directory, but for /run, /tmp and /dev; programs are run in
    it."""

    def __init__(self, path, first):
        super().__init__(path)
        self.enter = ["nsenter", f"--target={first}", "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"]

    def systemctl(self, *arguments, code=0):
        return self.run("systemctl", "--no-pager", *arguments, code=code).stdout.strip()

    def show(self, unit, name):
        """One property of a unit."""
        return self.systemctl("show", "--value", f"--property={name}", unit)

    def journal(self, unit):
        return self.run("journalctl", "--no-pager", "--quiet", "--output=cat", f"--unit={unit}").stdout

    def main_process(self, unit):
        """The number, in the system, of the process that a running service is."""
        number = int(self.show(unit, "MainPID"))
        assert number > 0, f"{unit} does not run:\n{self.journal(unit)}"
        return number


def wait_for(condition, what):
    """Waits until `condition()` is true. `what` is called for what there is instead, or says it."""
    deadline = time.monotonic() + BOUND
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"after {BOUND} s still not: {what() if callable(what) else what}")
        time.sleep(0.05)


@contextlib.contextmanager
def booted(root):
    """Boots the system in `root`, and ends it, with all that runs in it."""
    with control_group() as group:
        # A group of its own has to be entered before the namespace that hides all above it is made.
        unshare = subprocess.Popen(
            ["unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--fork", "--kill-child", BOOT,
             root.path],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
        try:
            machine = Machine(root.path, first_process(unshare))
            wait_for(lambda: is_up(machine, unshare), lambda: machine.systemctl("list-jobs", code=None))
            yield machine
        finally:
            # With process 1 all others of its namespace end, and with the last of them the mounts.
            unshare.send_signal(signal.SIGKILL)
            unshare.wait()
            unshare.stdout.close()


def first_process(unshare):
    children = pathlib.Path(f"/proc/{unshare.pid}/task/{unshare.pid}/children")
    found = []
    wait_for(lambda: found.extend(read(children).split()) or found or unshare.poll() is not None,
             "no process was started")
    return found[0] if found else refuse(unshare)


def is_up(machine, unshare):
    """Whether systemd has started all that it starts at boot."""
    if unshare.poll() is not None:
        refuse(unshare)
    # Until systemctl reaches systemd, it fails; while it boots, this waits.
    state = machine.systemctl("is-system-running", "--wait", code=None)
    assert state != "degraded", machine.systemctl("--failed", code=None)
    return state == "running"


def refuse(unshare):
    said = unshare.communicate()[0].strip() or f"unshare or systemd ended with {unshare.returncode}"
    # 77 is that of boot.sh, 1 that of unshare; when systemd itself gives up the test has failed.
    raise Refused(said) if unshare.returncode in (1, 77) else AssertionError(said)


@contextlib.contextmanager
def control_group():
    """A control group for the whole system, gone with the last process in it."""
    with tempfile.TemporaryDirectory() as folder, hierarchy(folder):
        group = pathlib.Path(folder) / f"windlass-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError as error:
            raise Refused(f"making a control group in the cgroup2 hierarchy: {error.strerror}") from error
        try:
            yield group
        finally:
            wait_for(lambda: removed(group), f"{group} is empty")


@contextlib.contextmanager
def hierarchy(folder):
    result = subprocess.run(["mount", "-t", "cgroup2", "cgroup2", folder], capture_output=True, text=True)
    if result.returncode:
        raise Refused(result.stderr.strip())
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def removed(group):
    """Removes a control group with all in it; false as long as a process is dying there."""
    try:
        for folder, _, _ in os.walk(group, topdown=False):
            os.rmdir(folder)
    except OSError:
        return False
    return True


def read(path):
    try:
        return path.read_text()
    except OSError:
        return ""
