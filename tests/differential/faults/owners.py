"""Whom a reader believes: root, and itself in a directory that WINDLASS_STORE names; and only where nobody else may
write."""

import os
import socket

from .lab import DISTRUSTED, OVERFLOW, STRANGER, USER

BOTH = ("driver", "python3")


def run(lab):
    with lab.place() as place:
        modes(place)
        kinds(place)
        users(lab, place)
        caches(place)
        secure(lab, place)


def with_lie(place, change):
    def arrange():
        place.put(place.lie)
        change()
    return arrange


def modes(place):
    for mode in (0o600, 0o644, 0o444, 0o755):
        place.moved(f"store of mode {mode:04o}", with_lie(place, lambda: place.store.chmod(mode)))
    for mode in (0o664, 0o646, 0o620, 0o602, 0o666):
        place.unmoved(f"store that others may write ({mode:04o})", with_lie(place, lambda: place.store.chmod(mode)),
                      DISTRUSTED)
    for mode in (0o775, 0o757, 0o1777, 0o2775):
        place.unmoved(f"directory that others may write ({mode:04o})",
                      with_lie(place, lambda: place.stores.chmod(mode)), DISTRUSTED)
    place.unmoved("store that others may write", with_lie(place, lambda: place.store.chmod(0o666)), DISTRUSTED,
                  ("python3",))


def kinds(place):
    real = place.folder / "real"

    def instead(make):
        def change():
            place.store.unlink()
            make()
        return with_lie(place, change)

    def link():
        real.write_bytes(place.lie)
        place.store.symlink_to(real)

    def sparse():
        with open(place.store, "wb") as file:
            file.truncate((2 << 30) + 1)

    def unix_socket():
        # By a relative name: those of sockets are short.
        here = os.getcwd()
        os.chdir(place.stores)
        try:
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(place.store.name)
        finally:
            os.chdir(here)

    place.unmoved("a link to a store", instead(link), DISTRUSTED, BOTH)
    place.unmoved("a link to itself", instead(lambda: place.store.symlink_to(place.store)), DISTRUSTED)
    place.unmoved("a broken link", instead(lambda: place.store.symlink_to("/nowhere/store")), DISTRUSTED)
    place.unmoved("a FIFO", instead(lambda: os.mkfifo(place.store)), DISTRUSTED, BOTH)
    place.unmoved("a directory", instead(place.store.mkdir), DISTRUSTED)
    place.unmoved("a socket", instead(unix_socket), DISTRUSTED)
    place.unmoved("a device without end", instead(lambda: os.mknod(place.store, 0o20644, os.makedev(1, 5))), DISTRUSTED)
    place.unmoved("a file larger than any store", instead(sparse), DISTRUSTED)

    def no_directory():
        place.store.unlink()
        place.stores.rmdir()
        place.stores.write_text("a file\n")

    def clean(arrange):
        def cleaned():
            if place.stores.is_file():
                place.stores.unlink()
            arrange()
        return cleaned

    place.unmoved("a file in place of the directory", clean(with_lie(place, no_directory)))
    place.stores.unlink()


def users(lab, place):
    """As (owner of the file, owner of the directory), and who runs."""
    place.folder.chmod(0o755)

    def owned(file, directory):
        def change():
            os.chown(place.store, file, file)
            os.chown(place.stores, directory, directory)
        return with_lie(place, change)

    for user, others in ((None, (USER, STRANGER)), (USER, (STRANGER,))):
        who = "root" if user is None else "a user"
        own = 0 if user is None else user
        for file, directory in ((0, 0), (own, own), (own, 0), (0, own)):
            place.moved(f"{who}, store of {file} in a directory of {directory}", owned(file, directory), user=user)
        for other in others:
            for file, directory in ((other, other), (other, 0), (0, other), (own, other), (other, own)):
                programs = BOTH if file == directory else BOTH[:1]
                place.unmoved(f"{who}, store of {file} in a directory of {directory}", owned(file, directory),
                              DISTRUSTED, programs, user=user)
    for file, directory in ((OVERFLOW, OVERFLOW), (OVERFLOW, 0), (0, OVERFLOW)):
        place.unmoved(f"user {OVERFLOW}, store of {file} in a directory of {directory}", owned(file, directory),
                      DISTRUSTED, user=OVERFLOW)
    place.unmoved("a user, store that only root may read", with_lie(place, lambda: place.store.chmod(0o600)),
                  DISTRUSTED, user=USER)
    # A process that gives up its rights for a while believes what it then may.
    script = f"as {USER}\n" + place.script(0)
    place.unmoved("root as a user, store of another user", owned(STRANGER, STRANGER), script=script)
    place.unmoved("root as a user, but the bundle is not readable any more",
                  with_lie(place, lambda: place.bundle.chmod(0o600)), script=script, programs=("driver",))
    place.bundle.chmod(0o644)


def caches(place):
    """Whoever can write to a user's cache (a build, a restore, a synchronised home) must not add a CA to root's
    bundle."""
    for who, user in (("root", None), ("a user", USER)):
        def arrange(owner=user or 0):
            place.put(place.lie)
            os.chown(place.store, owner, owner)
            os.chown(place.stores, owner, owner)
        for program in BOTH:
            place.moved(f"{who}, own store in the directory that WINDLASS_STORE names", arrange, program, user=user)
        place.unmoved(f"{who}, own store in the cache of HOME and XDG_CACHE_HOME", arrange, None, BOTH, user=user,
                      named=False)


def secure(lab, place):
    """A set-user-ID program with the library from /etc/ld.so.preload: WINDLASS_STORE is not believed, nor anything
    else."""
    from process import preload_everywhere
    setuid = place.folder / "driver-setuid"
    setuid.write_bytes(lab.driver.read_bytes())
    place.put(place.lie)
    who = {"user": USER, "group": USER}
    for program, owner, mode, believes in ((lab.driver, 0, 0o755, True), (setuid, STRANGER, 0o4755, False)):
        os.chown(program, owner, owner)
        program.chmod(mode)
        stock = place.run([program, "script"], False, user=USER, script=place.script(0, 1) + "secure\n")
        env = {"WINDLASS_STORE": str(place.stores)}
        now = preload_everywhere(lab.library, place.folder, program, env, who)
        # The page of counters is a descriptor of the one and not of the other.
        same = without_descriptors(now) == without_descriptors(stock.text)
        good = not same if believes else same and "secure execution 1" in now
        lab.check(f"{program.name} with the library everywhere: WINDLASS_STORE "
                  f"is{' ' if believes else ' not '}believed",
                  good, f"stock:\n{stock.text}\nnow:\n{now}")


def without_descriptors(text):
    return [line for line in text.splitlines() if " descriptors " not in line]
