"""What is watched: replaced files, directories that change, other root directories; what is lost."""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess

import strace
from context import Program, Top, real

BUNDLE = "/etc/ssl/certs/ca-certificates.crt"


def cases(_):
    yield "replaced bundle", replaced
    yield "replaced by a link further up", swapped
    yield "hashed directory", hashed
    yield "directory that grows", grows
    yield "container", container
    yield "chroot", chroot
    yield "lost events are told", overflow
    yield "hostile names", hostile
    yield "hostile: a home with more places than descriptors", many_places
    yield "hostile: a passwd file that makes its reader wait", waiting_passwd
    yield "hostile: a program with holes", holes
    yield "hostile: a program that takes windlass' path", same_path
    yield "a path that is not there", missing
    yield "every row is documented", documented


class Opener:
    """A process that opens what it is told."""

    def __init__(self, context, top, command=()):
        self.top = top
        self.program = Program([*command, "/usr/bin/python3", context.programs["opens.py"]])

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.program.__exit__(*ignored)

    def open(self, path):
        self.program.say(path)
        self.program.line()

    def open_until_seen(self, path, source, namespace=None):
        """Opens until a new open is counted for the source, one open in sight at a time. Gives the count."""
        before = count(self.top.wait_for("a line", lambda snapshot: snapshot), source, namespace)

        def more(snapshot):
            found = count(snapshot, source, namespace)
            if found > before:
                return found
            self.open(path)
            return None

        return self.top.wait_for(f"an open of {source}", more)


def count(snapshot, path, namespace=None):
    """`namespace`: whether the source is in another root directory."""
    found = [source for source in snapshot["sources"] if source["path"] == path
             and bool(namespace) == (source["mount_namespace"] is not None)]
    return sum(source["opens"] for source in found)


def folder(context, name):
    path = os.path.join(real(context.folder), name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def exchange(path):
    """A new file takes the place of another, as all careful programs write."""
    shutil.copyfile(BUNDLE, path + ".new")
    os.rename(path + ".new", path)


def replaced(context):
    path = os.path.join(folder(context, "replaced"), "ca.pem")
    exchange(path)
    with context.top("--watch", path) as top, Opener(context, top) as opener:
        opener.open_until_seen(path, path)
        for _ in range(3):
            exchange(path)
            opener.open_until_seen(path, path)


def swapped(context):
    """Kubernetes: the file is a link to ..data/ca.pem, and ..data is the link that is exchanged."""
    base = folder(context, "swapped")
    for name in ("one", "two"):
        os.makedirs(os.path.join(base, name))
        shutil.copyfile(BUNDLE, os.path.join(base, name, "ca.pem"))
    os.symlink("one", os.path.join(base, "..data"))
    os.symlink("..data/ca.pem", os.path.join(base, "ca.pem"))
    path = os.path.join(base, "ca.pem")
    with context.top("--watch", path) as top, Opener(context, top) as opener:
        opener.open_until_seen(path, os.path.join(base, "one/ca.pem"))
        os.symlink("two", os.path.join(base, "new"))
        os.rename(os.path.join(base, "new"), os.path.join(base, "..data"))
        opener.open_until_seen(path, os.path.join(base, "two/ca.pem"))


def hashed(context):
    """openssl verify looks issuers up in a hashed directory whose links lead elsewhere; and somebody lists it."""
    base = folder(context, "hashed")
    files, links = os.path.join(base, "files"), os.path.join(base, "links")
    os.makedirs(files), os.makedirs(links)
    for name in ("one", "two"):
        make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                "/dev/null"]
        subprocess.run([*make, "-out", f"{files}/{name}.pem", "-subj", f"/CN={name}"], check=True, capture_output=True)
        os.symlink(f"../files/{name}.pem", f"{links}/{name}.pem")
    subprocess.run(["openssl", "rehash", links], check=True)
    log = os.path.join(context.folder, "strace.log")
    with context.top("--watch", links) as top:
        script = (f"ls {links}; for name in one two one; do openssl verify -no-CAfile -no-CAstore -CApath {links} "
                  f"{files}/$name.pem; done")
        subprocess.run([*strace.command(log), "sh", "-c", script], check=True, stdout=subprocess.DEVNULL)
        snapshot = top.end()
    # Who ended too soon is in no row with a number; the source has all of it.
    source = next(source for source in snapshot["sources"] if source["path"] == links)
    counted, _ = strace.opens(log)
    # Each certificate is opened by name, and found by its hash.
    expected = sum(counted[f"{files}/{name}.pem"] for name in ("one", "two"))
    assert (source["opens"], source["listings"]) == (expected, counted[links]), (source, counted)
    assert expected == 6 and counted[links] == 1, counted
    assert source["files"] == 2 and source["kind"] == "directory", source


def grows(context):
    """A file that is new in a watched directory, behind a link or not, is seen."""
    base = folder(context, "grows")
    links = os.path.join(base, "links")
    os.makedirs(links)
    with context.top("--watch", links) as top, Opener(context, top) as opener:
        exchange(os.path.join(links, "0a0a0a0a.0"))
        opener.open_until_seen(os.path.join(links, "0a0a0a0a.0"), links)
        exchange(os.path.join(base, "elsewhere.pem"))
        os.symlink("../elsewhere.pem", os.path.join(links, "0b0b0b0b.0"))
        opener.open_until_seen(os.path.join(links, "0b0b0b0b.0"), links)
        exchange(os.path.join(base, "elsewhere.pem"))
        opener.open_until_seen(os.path.join(links, "0b0b0b0b.0"), links)


def container(context):
    """Another mount namespace with files of its own, made while top runs."""
    script = f'mount -t tmpfs none /mnt && cp {BUNDLE} /mnt/ && mount --bind /mnt /etc/ssl/certs && exec "$@"'
    with context.top() as top, Opener(context, top, ["unshare", "--mount", "sh", "-c", script, "sh"]) as opener:
        before = count(top.wait_for("a line", lambda snapshot: snapshot), BUNDLE)
        opener.open_until_seen(BUNDLE, BUNDLE, namespace=True)
        row = top.wait_for_row(opener.program.process.pid, lambda row: row["command"])
        source = next(source for source in row["sources"] if source["path"] == BUNDLE and source["mount_namespace"])
        number = int(os.readlink(f"/proc/{opener.program.process.pid}/ns/mnt")[5:-1])
        assert source["mount_namespace"] == number, (source, number)
        assert before is not None, row


def chroot(context):
    base = folder(context, "chroot")
    # Everything of the machine, but its own bundle. The mounts go with the namespace.
    script = (f'mount --bind / {base} && mount -t tmpfs none {base}/etc/ssl/certs && cp {BUNDLE} {base}/etc/ssl/certs/ '
              f'&& mount -t proc none {base}/proc && exec chroot {base} "$@"')
    with context.top() as top, Opener(context, top, ["unshare", "--mount", "sh", "-c", script, "sh"]) as opener:
        opener.open_until_seen(BUNDLE, BUNDLE, namespace=True)


def overflow(context):
    """While top is stopped, one process opens more files than the kernel keeps events."""
    base = folder(context, "overflow")
    limit = int(open("/proc/sys/fs/fanotify/max_queued_events", encoding="ascii").read())
    assert limit < 100_000, "this machine keeps more events than this case has files"
    names = [os.path.join(base, str(number)) for number in range(limit + 100)]
    for name in names:
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o644))
    with context.top("--watch", base) as top:
        top.process.send_signal(signal.SIGSTOP)
        # The signal stops nothing by itself: it takes effect when the process next runs.
        os.waitid(os.P_PID, top.process.pid, os.WSTOPPED)
        for name in names:
            os.close(os.open(name, os.O_RDONLY))
        top.process.send_signal(signal.SIGCONT)
        missed = top.wait_for("an overflow", lambda snapshot: snapshot["missed"]["overflows"])
        snapshot = top.end()
    assert missed == 1 and snapshot["totals"]["opens"] >= limit // 2, (missed, snapshot["totals"])


def hostile(context):
    """Names and arguments of strangers reach neither the terminal nor break the JSON."""
    base = folder(context, "hostile")
    program = os.path.join(os.fsencode(base), b"evil\x1b[31m\n\xff")
    shutil.copyfile("/bin/cat", program)
    os.chmod(program, 0o755)
    path = os.path.join(os.fsencode(base), b"ca\x1b[2J\xfe.pem")
    shutil.copyfile(BUNDLE, path)
    command = [context.windlass, "top", "--watch", path]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as top:
        top.stderr.readline()
        subprocess.run([program, path], stdout=subprocess.DEVNULL, check=True)
        top.send_signal(signal.SIGTERM)
        shown = top.stdout.read()
        assert top.wait() == 0
    assert b"\x1b" not in shown and b"\\u{1b}[2J" in shown, shown
    assert not shown.startswith(b"0 opens"), shown
    with context.top("--watch", os.fsdecode(path)) as top:
        subprocess.run([program, path], stdout=subprocess.DEVNULL, check=True)
        source = next(source for source in top.end()["sources"] if source["why"] == "--watch")
    assert source["opens"] == 1, source


def many_places(context):
    """Who has them loses what is too much, and nobody else loses anything."""
    base = folder(context, "many-places")
    home, passwd = os.path.join(base, "home"), os.path.join(base, "passwd")
    for number in range(1100):
        os.makedirs(os.path.join(home, f".dotnet/corefx/cryptography/x509stores/s{number}"))
    with open(passwd, "w", encoding="ascii") as file:
        file.write(f"root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::{home}:/bin/sh\n")
    script = f'mount --bind {passwd} /etc/passwd && exec prlimit --nofile=1024:1024 "$@"'
    command = [context.windlass, "top", "--json", "--interval", "0.2"]
    with Top(["unshare", "--mount", "sh", "-c", script, "sh", *command]) as top, Opener(context, top) as opener:
        for _ in range(5):
            opener.open_until_seen(BUNDLE, BUNDLE)
        snapshot = top.end()
    assert snapshot["missed"]["left_out"]["places"] == 1100 - 64, snapshot["missed"]
    assert snapshot["missed"]["overflows"] == 0 and snapshot["missed"]["failed"] is None, snapshot["missed"]
    stores = [source for source in snapshot["sources"] if source["path"].startswith(home)]
    assert len(stores) == 64, stores


def waiting_passwd(context):
    """A container's /etc/passwd is a file of the kernel, which is used up by reading, and waits for more."""
    script = (f'mount -t tmpfs none /mnt && cp {BUNDLE} /mnt/ && mount --bind /mnt /etc/ssl/certs && mount --bind '
              f'/proc/kmsg /etc/passwd && exec "$@"')
    with context.top() as top, Opener(context, top, ["unshare", "--mount", "sh", "-c", script, "sh"]) as opener:
        opener.open_until_seen(BUNDLE, BUNDLE, namespace=True)


def holes(context):
    """A terabyte of nothing is not read to find a TLS library in it; and nobody says that there is none."""
    program = os.path.join(folder(context, "holes"), "program")
    shutil.copyfile("/bin/cat", program)
    os.chmod(program, 0o755)
    os.truncate(program, 1 << 40)
    with context.top() as top, held(program, [program]) as pid:
        row = top.wait_for_row(pid, lambda row: row["windlass"]["reason"] == "unread")
        assert row["windlass"]["served"] is None and row["libraries"] == [], row
        assert top.end()["missed"]["unread"] == 1


@contextlib.contextmanager
def held(beside, command):
    """A cat that has opened the bundle, and waits for the end of another file."""
    fifo = beside + ".fifo"
    os.mkfifo(fifo)
    with subprocess.Popen([*command, BUNDLE, fifo], stdout=subprocess.DEVNULL) as running:
        # Opening waits until it is there.
        with open(fifo, "w", encoding="ascii"):
            yield running.pid
        assert running.wait() == 0


def same_path(context):
    """The opens of windlass itself are left out; those of another program at its path are not."""
    base = folder(context, "same-path")
    script = f'mount --bind /bin/cat {context.windlass} && exec {context.windlass} "$@"'
    with context.top() as top, held(os.path.join(base, "x"), ["unshare", "--mount", "sh", "-c", script, "sh"]) as pid:
        row = top.wait_for_row(pid, lambda row: row["opens"])
        assert row["exe"] == context.windlass, row
        # It is there to be looked at until somebody reads what it has to say.
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        os.write(writer, b"x" * 4096)
        with subprocess.Popen([context.windlass, "ls", BUNDLE], stdout=writer) as own, open(reader, "rb") as said:
            os.close(writer)
            try:
                assert top.wait_for("an open of its own", lambda snapshot: snapshot["missed"]["own_opens"]) > 0
                assert len(said.read()) > 4096 and own.wait() == 0
            finally:
                own.kill()


def missing(context):
    result = subprocess.run([context.windlass, "top", "--once", "--watch", "/nowhere/ca.pem"], capture_output=True,
                            text=True, check=False)
    assert result.returncode == 3 and result.stdout == "", result
    assert "/nowhere/ca.pem" in result.stderr and "help:" in result.stderr, result.stderr


def documented(context):
    """Each name of the JSON is in the help."""
    help_text = subprocess.run([context.windlass, "top", "--help"], capture_output=True, text=True, check=True).stdout
    _, text = help_text.split("Output of --json")
    words = set("".join(character if character.isalnum() or character == "_" else " " for character in text).split())
    with context.top() as top, Program([context.programs["dynamic"], "1", BUNDLE]) as program:
        program.line()
        top.wait_for_row(program.process.pid, lambda row: row["libraries"])
        program.say()
        program.end()
        snapshot = top.end()

    def names(value):
        if isinstance(value, dict):
            return set(value).union(*(names(inner) for inner in value.values()))
        return set().union(*(names(inner) for inner in value)) if isinstance(value, list) else set()

    assert not names(snapshot) - words, names(snapshot) - words
