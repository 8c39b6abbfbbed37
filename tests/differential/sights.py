"""WINDLASS_FOLLOW where a process can't look: a kept store trusts what stock trusts of what was last seen.

The one sentence (adapters/preload/src/openssl/follow/contents.rs): a store trusts what a process started now would
trust; of a source that it could not look at, what it trusted at the last look. So what a kept store says is compared
with a stock process that loads the contents last seen."""

import itertools
import os
import pathlib
import random
import shutil
import subprocess
import tempfile

import builds
from programs import CLEAN, write_files

HERE = pathlib.Path(__file__).resolve().parent / "process"
NOBODY = 65534
CONTENTS = {"a": "root-a.pem", "b": "root-b.pem", "none": None}


class Driver:
    """A running sights, with its two files in folders of their own."""

    def __init__(self, program, folder, library=None):
        env = dict(CLEAN, WINDLASS_FOLLOW="1", **({"LD_PRELOAD": str(library)} if library else {}))
        self.folder, self.paths = folder, [folder / "one" / "ca.pem", folder / "two" / "ca.pem"]
        self.process = subprocess.Popen([program, *self.paths], cwd=folder, env=env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, *command):
        self.process.stdin.write(" ".join(map(str, command)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer.endswith("\n"):
            raise RuntimeError(f"{command}: {answer!r}, exit {self.process.wait()}")
        return answer.strip()

    def put(self, source, content):
        """Replaces one of the files, or takes it away."""
        put(self.paths[source], content)

    def close(self):
        self.process.stdin.close()
        return self.process.wait(timeout=60)


def put(path, content):
    file = CONTENTS[content]
    fresh = path.with_name("new.pem")
    if file is None:
        path.unlink(missing_ok=True)
        return
    shutil.copy(path.parent.parent / file, fresh)
    fresh.rename(path)


def forge(folder):
    """The tree that another root directory or mount namespace shows: of another user, and it trusts the other root."""
    for source in ("one", "two"):
        inner = folder / "jail" / str(folder / source).lstrip("/")
        inner.mkdir(parents=True)
        shutil.copy(folder / "root-b.pem", inner / "ca.pem")
    shutil.copytree(folder / "jail" / str(folder / "one").lstrip("/"), folder / "mounted")


# How a look fails: what begins it, what ends it, and which sources it hides. The names of link loops and of folders
# without a right are changed under the process.
def by_command(begin, end):
    return lambda driver: driver.ask(*begin(driver.folder)), lambda driver: driver.ask(end), (0, 1)


def by_mode(path, mode):
    def begin(driver):
        os.chmod(path(driver.folder), mode)
        driver.ask("user", NOBODY)

    def end(driver):
        driver.ask("root")
        os.chmod(path(driver.folder), 0o755)

    return begin, end


def loop(driver):
    (driver.folder / "two").rename(driver.folder / "kept")
    (driver.folder / "two").symlink_to("two")


def unloop(driver):
    (driver.folder / "two").unlink()
    (driver.folder / "kept").rename(driver.folder / "two")


WAYS = {
    "no descriptor": by_command(lambda folder: ("nofiles",), "files"),
    "EIO": by_command(lambda folder: ("errors", 5), "good"),
    "no memory": by_command(lambda folder: ("errors", 12), "good"),
    "ENOTCONN": by_command(lambda folder: ("errors", 107), "good"),
    "ESTALE": by_command(lambda folder: ("errors", 116), "good"),
    "chroot": by_command(lambda folder: ("chroot", folder / "jail"), "home"),
    "mount namespace": by_command(lambda folder: ("mounts", folder / "mounted"), "home"),
    "pivot_root": by_command(lambda folder: ("pivot", folder / "jail"), "home"),
    "a parent without x": (*by_mode(lambda folder: folder / "two", 0o600), (1,)),
    "link loop": (loop, unloop, (1,)),
}
STEPS = [(source, content) for source in (0, 1) for content in CONTENTS] + ["hide"]


def stock_verdicts(program, folder):
    """What a process started now trusts, by the contents of both files."""
    verdicts = {}
    for contents in itertools.product(CONTENTS, repeat=2):
        driver = Driver(program, folder)
        for source, content in enumerate(contents):
            driver.put(source, content)
        driver.ask("load")
        verdicts[contents] = driver.ask("verify")
        driver.close()
    return verdicts


def walk(driver, way, loaded, steps, verdicts):
    """Returns the first step after which the kept store says something else than it should."""
    begin, end, hidden_sources = way
    for source, content in enumerate(loaded):
        driver.put(source, content)
    driver.ask("load")
    now, seen, is_hidden, wrong = list(loaded), list(loaded), False, None
    for at, step in enumerate(steps):
        if step == "hide":
            (end if is_hidden else begin)(driver)
            is_hidden = not is_hidden
        else:
            source, content = step
            # What a link loop hides is elsewhere.
            path = driver.paths[source]
            put(driver.folder / "kept" / "ca.pem" if path.parent.is_symlink() else path, content)
            now[source] = content
        seen = [was if is_hidden and source in hidden_sources else now[source] for source, was in enumerate(seen)]
        said, wanted = driver.ask("verify"), verdicts[tuple(seen)]
        if said != wanted and wrong is None:
            wrong = f"loaded {loaded}, steps {steps[:at + 1]}: {said}, not {wanted}"
    if is_hidden:
        end(driver)
    return wrong


# The order in which the attack found a root that had left come back.
ROLLED_BACK = [(("a", "a"), [(0, "b"), (1, "b"), (0, "a"), (1, "a"), "hide", "hide"]),
               (("a", "b"), [(1, "none"), (0, "b"), "hide", (0, "a"), "hide", (0, "none"), "hide"]),
               (("a", "a"), ["hide", (0, "b"), "hide", (1, "b"), "hide"])]


def sights(results, options, pki, walks):
    """Sequences of changes, with looks that fail in each way."""
    library, folder = options.library, pathlib.Path(tempfile.mkdtemp(dir=builds.WORK))
    os.chmod(folder, 0o755)
    write_files(folder, {**pki.files(), "root-a.pem": pki.pem("r0"), "root-b.pem": pki.pem("r1"), "one/x": b"",
                         "two/x": b""})
    # Other users must reach it, as they reach a machine's bundle.
    reachable = pathlib.Path(tempfile.mkdtemp(prefix="windlass-"))
    os.chmod(reachable, 0o755)
    folder = folder.rename(reachable / "tree")
    forge(folder)
    random_walks = random.Random(7)
    for build in options.builds:
        program = builds.compile_c([HERE / "sights.c"], builds.WORK / "bin" / f"sights-{build}", build,
                                   ("-Wl,--export-dynamic-symbol=open",))
        verdicts = stock_verdicts(program, folder)
        results.check(f"verdicts differ by contents in stock on OpenSSL {build}", len(set(verdicts.values())) == 4)
        for label, way in WAYS.items():
            driver, wrong = Driver(program, folder, library), []
            all_steps = ROLLED_BACK + [
                ([random_walks.choice(["a", "b"]) for _ in range(2)],
                 [random_walks.choice(STEPS) for _ in range(6)]) for _ in range(walks)]
            for loaded, steps in all_steps:
                found = walk(driver, way, tuple(loaded), steps, verdicts)
                wrong += [found] if found else []
            status = driver.close()
            results.check(f"followed, with {label}, on OpenSSL {build}: {len(all_steps)} sequences",
                          not wrong and status == 0, f"exit {status}\n" + "\n".join(wrong[:5]))
    shutil.rmtree(reachable)
