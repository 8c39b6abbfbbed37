"""Where the files of a run are, who can read them, and that they go."""

import functools
import os
import re
import shutil
import signal
import subprocess
import time

from sides import environment

PATIENCE_SECONDS = 120
NOBODY = 65534
PLACES = ("/etc/ssl", "/usr/local/share/ca-certificates", "/usr/share/ca-certificates", "/etc/ca-certificates")


def cases(world):
    for function in (changed_user, two_trees, killed, killed_with_helper, interrupted, unsafe_place, taken_name, places,
                     runtime_directory, users_own_stay, believed, readable_by_its_readers):
        yield function.__doc__, functools.partial(function, world)


def listing(world):
    """Everything where stores and temporary files are, with size and time of change; but not the directory that
    stays."""
    found = {}
    for place in (world.folder / "tmp", world.folder / "home", *PLACES):
        for folder, names, files in os.walk(place):
            for name in [*names, *files]:
                path = os.path.join(folder, name)
                state = os.lstat(path)
                if path != str(of_user(world)):
                    found[path] = (state.st_size, state.st_mtime_ns)
    return found


def nothing_left(world, before):
    after = listing(world)
    assert after == before, sorted(set(after.items()) ^ set(before.items()))


def changed_user(world):
    """a process that has given up root still reads them"""
    status, output = world.run(["/usr/bin/python3", world.programs / "changed_user.py", world.hosts.ports["good"]],
                               add=[world.pki.path("root.crt")])
    assert status == 0 and "TLSv1" in output, output


def two_trees(world):
    """two trees at the same time do not see each other's CA"""
    with Tree(world, "root.crt") as first, Tree(world, "other.crt") as second:
        for program in ("curl -sS", "wget -q -O -"):
            assert first.accepts(program, "good") and not first.accepts(program, "untrusted")
            assert second.accepts(program, "untrusted") and not second.accepts(program, "good")
        assert len(folders(world)) == 2
    assert folders(world) == []


def killed(world):
    """nothing is left when windlass is killed, and its helper ends"""
    with Tree(world, "root.crt") as tree:
        helper = children(tree.process.pid) - {tree.shell}
        assert len(folders(world)) == 1 and len(helper) == 1
        tree.process.kill()
        tree.process.wait()
        until(lambda: folders(world) == [], "the files are gone")
        until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in helper), "the helper has ended")


def killed_with_helper(world):
    """what is left when the helper is killed as well, the next run removes"""
    with Tree(world, "root.crt") as tree:
        for pid in children(tree.process.pid) - {tree.shell}:
            os.kill(pid, signal.SIGKILL)
        tree.process.kill()
        tree.process.wait()
    left = folders(world)
    assert len(left) == 1
    with Tree(world, "root.crt") as living:
        assert len(folders(world)) == 1 and folders(world) != left
        world.run(["true"], add=[world.pki.path("root.crt")])
        assert len(folders(world)) == 1 and living.accepts("curl -sS", "good"), "the files of a living run stay"
    assert folders(world) == []


def interrupted(world):
    """a signal ends the program and removes the files, and windlass ends as the program does"""
    with Tree(world, "root.crt") as tree:
        tree.process.send_signal(signal.SIGTERM)
        assert tree.process.wait(timeout=PATIENCE_SECONDS) == -signal.SIGTERM
        assert folders(world) == []


def unsafe_place(world):
    """a place where others could change the files is refused"""
    place = world.folder / "open"
    place.mkdir()
    place.chmod(0o777)
    status, output = world.run(["echo", "ran"], {"TMPDIR": place}, [world.pki.path("root.crt")])
    assert status == 125 and "others could change what is in" in output and "help: set TMPDIR" in output, output
    place.rmdir()


def taken_name(world):
    """in a place like /tmp, a directory of another user's with the name of ours is refused"""
    place = world.folder / "sticky"
    place.mkdir()
    place.chmod(0o1777)
    taken = place / f"windlass-{os.getuid()}"
    taken.mkdir()
    os.chown(taken, NOBODY, NOBODY)
    status, output = world.run(["echo", "ran"], {"TMPDIR": place}, [world.pki.path("root.crt")])
    assert status == 125 and f"others could change what is in {taken}" in output, output
    assert "help: set TMPDIR" in output, output
    taken.rmdir()
    place.rmdir()


def places(world):
    """the files lie where nobody else can make names"""
    private = world.folder / "private"
    private.mkdir(mode=0o700)
    inside = ["run", "--add-ca", world.pki.path("root.crt"), "--", "sh", "-c",
              "echo $WINDLASS_ADD_CA; stat -c %u:%a $(dirname $WINDLASS_ADD_CA)/.."]
    for setting, place, state in ((f"TMPDIR={private}", private, "0:700"),
                                  (f"TMPDIR={world.folder / 'tmp'}", of_user(world), "0:711"),
                                  ("TMPDIR=", "/run", "0:755"), ("-uTMPDIR", "/run", "0:755")):
        _, output = world.run(["env", setting, world.windlass, *inside])
        assert re.fullmatch(rf"{re.escape(str(place))}/windlass-add-ca-[0-9a-f]{{16}}/added\.pem\n{state}\n",
                            output), (setting, output)
    assert not list(private.iterdir())
    private.rmdir()


def runtime_directory(world):
    """users other than root have them in XDG_RUNTIME_DIR"""
    copies = world.folder / "copies"
    runtime = world.folder / "runtime"
    for folder in (copies, runtime):
        folder.mkdir(mode=0o755)
    library = os.environ.get("WINDLASS_PRELOAD_LIBRARY") or os.path.join(os.path.dirname(world.windlass),
                                                                         "libwindlass_preload.so")
    windlass, library = (shutil.copy(file, copies) for file in (world.windlass, library))
    certificate = shutil.copyfile(world.pki.path("root.crt"), copies / "root.crt")
    os.chown(runtime, NOBODY, NOBODY)
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", windlass, "run", "--add-ca",
            certificate, "--"]
    runtime.chmod(0o700)
    env = {"TMPDIR": "", "XDG_RUNTIME_DIR": runtime, "WINDLASS_PRELOAD_LIBRARY": library}
    _, output = world.run([*user, "sh", "-c", "dirname $(dirname $WINDLASS_ADD_CA)"], env)
    assert output == f"{runtime}\n" and not list(runtime.iterdir()), output
    shutil.rmtree(copies)
    runtime.rmdir()


def users_own_stay(world):
    """directories of the user's whose names begin as ours do, and what is in them, stay"""
    kept = [parent / name / "ca.key" for parent in (world.folder / "tmp", of_user(world))
            for name in ("windlass-add-ca-mine", "windlass-add-ca-1-0", "windlass-add-ca-0123456789abcdef")]
    for file in kept:
        file.parent.mkdir(parents=True)
        file.write_text("secret")
    world.run(["true"], add=[world.pki.path("root.crt")])
    assert [file for file in kept if not file.exists()] == []
    for file in kept:
        file.unlink()
        file.parent.rmdir()


def believed(world):
    """a file that another user can have written is not believed, neither by programs nor by another run"""
    file = world.pki.path("survivor.pem")
    file.write_bytes(world.pki.path("root.crt").read_bytes())
    load = ["wget", "-nv", "-t", "1", "-O", "-", world.hosts.url("good")]
    for owner, mode, expected in ((os.getuid(), 0o444, True), (NOBODY, 0o444, False), (os.getuid(), 0o666, False)):
        os.chown(file, owner, owner)
        file.chmod(mode)
        for added in ((), ("--add-ca", world.pki.path("other.crt"))):
            status, output = world.run(["env", f"WINDLASS_ADD_CA={file}", world.windlass, "run", *added, "--", *load])
            assert (status == 0) == expected, (owner, mode, added, output)


def readable_by_its_readers(world):
    """a file that a variable named before is readable for no more users than it was, and no private key is copied"""
    pki, secret = world.pki, world.pki.path("secret.pem")
    secret.write_bytes(pki.path("other.crt").read_bytes() + pki.path("other.key").read_bytes())
    secret.chmod(0o600)
    combined = pki.path("combined.pem")
    combined.write_bytes(pki.path("root.crt").read_bytes() + pki.path("root.key").read_bytes())
    show = ["sh", "-c", "stat -c %a $SSL_CERT_FILE $WINDLASS_ADD_CA; cat $WINDLASS_ADD_CA $SSL_CERT_FILE"]
    for before, after in ((0o600, 400), (0o640, 400), (0o644, 444)):
        secret.chmod(before)
        _, output = world.run(show, {"SSL_CERT_FILE": secret}, [combined])
        assert output.startswith(f"{after}\n444\n") and output.count("BEGIN CERTIFICATE") == 3, output
        assert "PRIVATE" not in output, output


class Tree:
    """A shell below `run --add-ca` that does what it is told, until it is told to end."""

    def __init__(self, world, file):
        self.world = world
        command = [world.windlass, "run", "--add-ca", str(world.pki.path(file)), "--", "sh"]
        self.process = subprocess.Popen(command, env=environment(world.environment()), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.shell = int(self.ask("echo $$"))

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def accepts(self, program, host):
        answer = self.ask(f"{program} {self.world.hosts.url(host)} > /dev/null 2>&1; echo $?").strip()
        return answer == "0"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=PATIENCE_SECONDS)


def of_user(world):
    """What a run makes in a place like /tmp, and leaves there."""
    return world.folder / "tmp" / f"windlass-{os.getuid()}"


def folders(world):
    return sorted(os.listdir(of_user(world)))


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return {int(number) for number in file.read().split()}


def until(holds, what):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.02)
