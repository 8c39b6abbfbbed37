"""What a Python program sees of its trust store: store.py WHAT ARGUMENTS… (the functions below)."""

import hashlib
import os
import pathlib
import shutil
import socket
import ssl
import sys
import threading
import urllib.parse
import urllib.request


def describe(context, when):
    """Counts, and the certificates with their order."""
    stats = context.cert_store_stats()
    names = [entry["subject"][-1][0][1] + " " + entry["serialNumber"] for entry in context.get_ca_certs()]
    ders = context.get_ca_certs(binary_form=True)
    print(when, stats, len(ders), hashlib.sha256(b"".join(ders)).hexdigest())
    print(*names, sep="\n")


def get(context, url):
    return urllib.request.urlopen(url, context=context, timeout=300).status


def verdict(context, url):
    try:
        return get(context, url)
    except OSError as error:
        return error


def enumerate_store(url, **trust):
    """Before and after a handshake, of a context and of the next one."""
    for number in (1, 2):
        context = ssl.create_default_context(**trust)
        describe(context, f"context {number} before")
        print(verdict(context, url))
        describe(context, f"context {number} after")


def enumerate_after(url, **trust):
    """Only after a handshake: nothing has been asked for before it."""
    context = ssl.create_default_context(**trust)
    print(verdict(context, url))
    describe(context, "after")


def enumerate_mixed(url, cafile, capath, extra):
    """Everything at once, in this order, with the statistics after each step."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    print(context.cert_store_stats())
    context.load_verify_locations(cadata=pathlib.Path(extra).read_text())
    describe(context, "cadata")
    context.load_verify_locations(cafile=cafile)
    describe(context, "cafile")
    context.load_verify_locations(cafile=cafile)
    describe(context, "cafile again")
    context.load_verify_locations(capath=capath)
    describe(context, "capath")
    context.load_default_certs()
    describe(context, "defaults")
    print(verdict(context, url))
    describe(context, "handshake")


def changes(url, bundle, without, place):
    """A root removed is refused by the next context, a root added accepted; also with equal size and times."""
    live = pathlib.Path(place) / "bundle.pem"
    full, less = pathlib.Path(bundle).read_bytes(), pathlib.Path(without).read_bytes()
    padded = less + b"#" * (len(full) - len(less) - 1) + b"\n"
    padded = b"".join(line[:64] + b"\n" for line in split_comments(padded, len(less)))
    assert len(padded) == len(full), (len(padded), len(full))

    def step(title):
        context = ssl.create_default_context(cafile=str(live))
        print(title, verdict(context, url), context.cert_store_stats())

    live.write_bytes(full)
    step("present")
    live.write_bytes(less)
    step("removed, written in place")
    live.write_bytes(full)
    step("added, written in place")
    for number in range(20):
        live.write_bytes(full if number % 2 else less)
        step(f"written {number}")
    live.write_bytes(full)
    stamp = os.stat(live)
    step("present")
    for content, title in ((padded, "removed"), (full, "added"), (padded, "removed again")):
        live.write_bytes(content)
        os.utime(live, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        assert os.stat(live).st_size == stamp.st_size and os.stat(live).st_mtime_ns == stamp.st_mtime_ns
        step(title + ", same size and mtime, in place")
    for content, title in ((full, "added"), (padded, "removed")):
        new = live.with_suffix(".new")
        new.write_bytes(content)
        shutil.copystat(live, new)
        os.replace(new, live)
        step(title + ", same size and mtime, renamed")
    os.truncate(live, len(full) // 2)
    try_step(step, "truncated")
    os.unlink(live)
    try_step(step, "gone")
    live.write_bytes(full)
    step("back")
    first, second = live.with_name("first"), live.with_name("second")
    first.mkdir()
    second.mkdir()
    (first / "bundle.pem").write_bytes(full)
    (second / "bundle.pem").write_bytes(padded)
    data = live.with_name("data")
    data.symlink_to("first")
    live.unlink()
    live.symlink_to("data/bundle.pem")
    step("through two links")
    new = live.with_name("data.new")
    new.symlink_to("second")
    os.replace(new, data)
    step("inner link swapped")


def split_comments(padded, begin):
    """Lines of the padding short enough for any PEM reader, without a change of length."""
    yield from padded[:begin].splitlines()
    padding = len(padded) - begin
    while padding > 0:
        length = min(padding, 65)
        if padding - length == 1:
            length -= 2
        yield b"#" * (length - 1)
        padding -= length


def try_step(step, title):
    try:
        step(title)
    except OSError as error:
        print(title, type(error).__name__, error)


def directory_changes(url, root, place):
    """A hashed directory stays live, for subjects that were not found yet, within one context."""
    folder = pathlib.Path(place) / "capath"
    folder.mkdir()
    context = ssl.create_default_context(capath=str(folder))
    print("empty", verdict(context, url), context.cert_store_stats())
    name = os.popen(f"openssl x509 -hash -noout -in '{root}'").read().strip() + ".0"
    shutil.copy(root, folder / name)
    print("added", verdict(context, url), context.cert_store_stats())
    os.unlink(folder / name)
    print("removed, same context", verdict(context, url), context.cert_store_stats())
    context = ssl.create_default_context(capath=str(folder))
    print("removed, next context", verdict(context, url), context.cert_store_stats())


def errors(*paths):
    """The exception for each unusable cafile, twice: a failure must not be remembered."""
    for path in paths * 2:
        try:
            context = ssl.create_default_context(cafile=path)
            print(os.path.basename(path), "loaded", context.cert_store_stats())
        except OSError as error:
            print(os.path.basename(path), type(error).__name__, error.errno, error)


def threads(url, cafile):
    """Many threads, each with fresh contexts and a handshake with every second one."""
    lines = []

    def work(number):
        for turn in range(6):
            context = ssl.create_default_context(cafile=cafile)
            seen = get(context, url) if turn % 2 else len(context.get_ca_certs())
            lines.append(f"{number} {turn} {seen}")

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(*sorted(lines), sep="\n")


def forks(url, cafile):
    """A context made before a fork, and new ones after it, in parent and children."""
    context = ssl.create_default_context(cafile=cafile)
    for number in range(3):
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            print("child", number, get(context, url), context.cert_store_stats())
            fresh = ssl.create_default_context(cafile=cafile)
            print("child", number, "fresh", get(fresh, url), fresh.cert_store_stats())
            sys.stdout.flush()
            os._exit(number)
        print("ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print("parent", get(context, url), context.cert_store_stats())


def peer_chain(url, cafile):
    """The server's certificate as seen by the client, for a context that is used twice."""
    address = urllib.parse.urlsplit(url)
    context = ssl.create_default_context(cafile=cafile)
    for _ in range(2):
        with socket.create_connection((address.hostname, address.port), timeout=300) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as tls:
                print(tls.version(), hashlib.sha256(tls.getpeercert(True)).hexdigest(), tls.getpeercert()["issuer"])


def keywords(words):
    return dict(word.split("=", 1) for word in words)


what, *rest = sys.argv[1:]
if what in ("enumerate_store", "enumerate_after"):
    globals()[what](rest[0], **keywords(rest[1:]))
else:
    globals()[what](*rest)
