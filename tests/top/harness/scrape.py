"""`windlass top --metrics`, and control groups as container runtimes name them."""

import contextlib
import os
import signal
import subprocess
import time
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from context import PATIENCE


class Metrics:
    """What is served at an address."""

    def __init__(self, url):
        self.url = url

    def text(self):
        with urllib.request.urlopen(self.url, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def samples(self):
        """{(name, ((label, value), …)): value}; the parser is strict."""
        families = text_string_to_metric_families(self.text())
        samples = [sample for family in families for sample in family.samples]
        found = {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in samples}
        assert len(found) == len(samples), "a series is there twice"
        return found

    def wait_for(self, what, condition):
        """Scrapes until it is so, and gives the condition's value."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            samples = self.samples()
            found = condition(samples)
            if found:
                return found
            # An answer is used again for a second.
            time.sleep(0.3)
        raise AssertionError(f"never came: {what}\n{samples}")

class Agent(Metrics):
    """A running `windlass top --metrics`."""

    def __init__(self, context, *arguments, port="0", prefix=()):
        command = [*prefix, context.windlass, "top", "--metrics", port, *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        said = [self.process.stderr.readline() for _ in range(2)]
        assert said[0].startswith("windlass: watching "), (said, self.process.stderr.read())
        super().__init__(said[1].removeprefix("windlass: metrics at ").strip())
        assert self.url.startswith("http://127.0.0.1:") and self.url.endswith("/metrics"), said
        self.port = int(self.url.split(":")[2].split("/")[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        shown, said = self.process.communicate(timeout=PATIENCE)
        assert (self.process.returncode, shown, said) == (0, "", ""), (self.process.returncode, shown, said)


def pick(samples, name, **labels):
    """The samples of a name that have these labels, as [(labels, value)]."""
    all_of = [(dict(found), value) for (sample, found), value in samples.items() if sample == name]
    return [(found, value) for found, value in all_of if labels.items() <= found.items()]


def total(samples, name, **labels):
    return sum(value for _, value in pick(samples, name, **labels))


@contextlib.contextmanager
def cgroups(context):
    """A hierarchy of version 2 to make groups in. Groups are removed at the end, when their processes have ended."""
    base = os.path.join(context.folder, "cgroup2")
    os.makedirs(base, exist_ok=True)
    subprocess.run(["mount", "-t", "cgroup2", "none", base], check=True)
    before = {entry.name for entry in os.scandir(base) if entry.is_dir()}
    try:
        yield base
    finally:
        for name in {entry.name for entry in os.scandir(base) if entry.is_dir()} - before:
            remove(os.path.join(base, name))
        subprocess.run(["umount", base], check=True)


def remove(group):
    """A group can be removed when its processes are gone, which the kernel may notice a moment after their parent."""
    for entry in list(os.scandir(group)):
        if entry.is_dir():
            remove(entry.path)
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return os.rmdir(group)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def inside(group):
    """What starts a program in a group, before it does anything."""
    os.makedirs(group, exist_ok=True)
    return ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', group]
