"""The package and `windlass install` in a minimal system."""

import json
import os
import random
import shutil
import signal
import subprocess
import time

from root import assert_same, mounted

LIST = "/etc/ld.so.preload"
HOOK = "/etc/ca-certificates/update.d/windlass"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
STORES = "/var/cache/windlass"
SERVICE = "[Unit]\nDescription=A service\n[Service]\nEnvironment=LD_PRELOAD=/usr/lib/other.so\nExecStart=/bin/true\n"
# Programs that would all print an error if the list named a library that can't be loaded.
PROGRAMS = (("true",), ("ls", "/"), ("openssl", "version"), ("perl", "-e", "1"))


def same_bytes(root, package):
    """the same input makes the same package"""
    os.utime(package.windlass)
    again = package.build(package.target / "packaging/again")
    assert again.read_bytes() == package.path.read_bytes()
    shutil.rmtree(again.parent)


def contents(root, package):
    """the package depends on what its programs need, and has its files in the right places"""
    assert "libc6 (>=" in package.field("Depends"), package.field("Depends")
    package.install(root)
    listed = root.run("dpkg", "-L", "windlass").stdout.split()
    for name in ("/usr/bin/windlass", library(root), library(root).replace("_preload", "_trace"), HOOK,
                 "/usr/lib/systemd/system/windlass-compile.path",
                 "/usr/share/man/man1/windlass-install.1.gz", "/usr/share/bash-completion/completions/windlass",
                 library(root).replace("windlass/libwindlass_preload", "pkcs11/libwindlass_pkcs11"),
                 "/usr/share/windlass/p11-kit/p11-kit-trust.module",
                 "/usr/share/doc/windlass/changelog.Debian.gz", "/usr/share/doc/windlass/copyright",
                 "/usr/share/doc/windlass/README.md", "/usr/share/doc/windlass/SECURITY.md",
                 "/usr/share/doc/windlass/docs/doctor.md"):
        assert name in listed, f"{name} is missing"
    # A phrase and an address. The domain is reserved (RFC 2606): there is no public address yet, and none of a stranger
    # is named.
    maintainer = package.field("Maintainer")
    assert maintainer == "Windlass maintainers <maintainers@windlass.invalid>", maintainer
    assert root.run("dpkg", "--verify", "windlass").stdout == ""
    root.run("bash", "-n", "/usr/share/bash-completion/completions/windlass")
    # Help is wrapped at the width of the terminal, also within this phrase.
    values = " ".join(root.quiet("windlass", "man", "-h").split()).split("possible values: ")[1].split("]")[0]
    own = set(values.replace(",", " ").split())
    pages = {name.split("windlass-")[1].split(".")[0] for name in listed if "/man1/windlass-" in name}
    assert own == pages, own ^ pages


def libraries_load_everywhere(root, package):
    """the libraries need no glibc newer than 2.17, in the package and in the release build"""
    check = [package.source / "packaging/needs.sh"]
    unpacked = root / "srv/unpacked"
    subprocess.run(["dpkg-deb", "-x", package.path, unpacked], check=True)
    shipped = [path for path in unpacked.rglob("*") if path.is_file() and not path.is_symlink()
               and path.read_bytes()[:4] == b"\x7fELF" and path != unpacked / "usr/bin/windlass"]
    built = sorted((package.target / "release").glob("libwindlass_*.so"))
    assert len(shipped) == 3 and len(built) >= 3, (shipped, built)
    done = subprocess.run(check + shipped + built, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    # What each rule is there for.
    source = root / "srv/needs.c"
    source.write_text("int NAME(void); int f(void) { return NAME(); }\n")
    for name, flags, why in (("_dl_find_object", (), "needs GLIBC_2.35"), ("dlsym", (), "needs GLIBC_2.34"),
                             ("nowhere", (), "needs nowhere, which"),
                             ("getpid", ("-Wl,--no-as-needed", "-lm"), "needs libm.so.6")):
        library = source.with_suffix(".so")
        subprocess.run(["gcc", "-w", "-shared", "-fPIC", f"-DNAME={name}", "-o", library, source, *flags], check=True)
        done = subprocess.run(check + [library], capture_output=True, text=True)
        assert done.returncode == 1 and why in done.stderr, (name, done.stderr)


def install_and_purge(root, package):
    """installing and purging leaves the tree as it was"""
    before = root.tree()
    result = package.install(root)
    assert result.stderr == "", result.stderr
    assert is_enabled(root)
    assert_used(root)
    root.run("dpkg", "--remove", "windlass")
    assert os.path.exists(root / HOOK), "a configuration file stays until the purge"
    update(root)
    root.run("dpkg", "--purge", "windlass")
    assert_same(before, root.tree())


def compiled_at_once(root, package):
    """after the installation the compiled store is fresh, and programs are served from it"""
    package.install(root)
    root.quiet("windlass", "compile", "--check")
    stats = json.loads(root.run("windlass", "run", "--stats=json", "--", "openssl", "verify", BUNDLE,
                                code=None).stderr.splitlines()[-1])
    assert stats["summary"]["served"] >= 1, stats
    assert stats["counters"].get("cache", {}).get("compiled", 0) >= 1, stats["counters"]


def hook(root, package):
    """update-ca-certificates leaves a fresh compiled store, with the new root in it"""
    package.install(root)
    before = anchors(root)
    add_root(root)
    root.run("windlass", "compile", "--check")
    said = update(root)
    assert "1 added" in said, said
    root.quiet("windlass", "compile", "--check")
    assert anchors(root) == before + 1


def hook_never_fails(root, package):
    """a hook that can't compile is no failure of update-ca-certificates"""
    package.install(root)
    shutil.rmtree(root / STORES)
    (root / STORES).write_text("in the way")
    add_root(root)
    result = root.run("update-ca-certificates")
    assert "E:" not in result.stdout + result.stderr and "1 added" in result.stdout, result.stdout + result.stderr
    assert "not renewed" in result.stderr, result.stderr
    (root / "/usr/bin/windlass").unlink()
    result = root.run("update-ca-certificates", "--fresh")
    assert "E:" not in result.stdout + result.stderr and "windlass" not in result.stderr, result.stdout + result.stderr


def no_certificates(root, package):
    """a system without certificates is no reason for the installation to fail"""
    shutil.rmtree(root / "/etc/ssl/certs")
    package.install(root)
    assert root.run("dpkg-query", "-W", "-f", "${Status}", "windlass").stdout == "install ok installed"


def machine_and_remove(root, package):
    """removing the package takes its library out of /etc/ld.so.preload first"""
    before = root.tree()
    package.install(root)
    said = root.quiet("windlass", "install", "--machine", "--dry-run")
    assert f"{HOOK} is there already" in said and not os.path.exists(root / LIST), said
    said = root.run("windlass", "install", "--machine", "--yes").stdout
    assert (root / LIST).read_text() == library(root) + "\n"
    assert_quiet(root)
    assert library(root) in root.run("cat", "/proc/self/maps").stdout, "every program loads it"
    assert "Nothing to do" in root.quiet("windlass", "install", "--machine")
    package.install(root)
    assert library(root) in (root / LIST).read_text(), "an upgrade leaves it active"
    assert_quiet(root)
    root.run("dpkg", "--remove", "windlass")
    assert not os.path.exists(root / LIST)
    assert_quiet(root)
    root.run("dpkg", "--purge", "windlass")
    assert_same(before, root.tree())


def service_and_purge(root, package):
    """purging takes back what was installed for a service, and keeps the list's other lines"""
    (root / "/usr/lib/systemd/system/a.service").write_text(SERVICE)
    (root / LIST).write_text("# nothing yet")
    before = root.tree()
    package.install(root)
    root.run("windlass", "install", "--machine", "--service", "a", "--yes")
    drop_in = (root / "/etc/systemd/system/a.service.d/windlass.conf").read_text()
    assert f'"LD_PRELOAD={library(root)}:/usr/lib/other.so"' in drop_in, drop_in
    assert (root / LIST).read_text() == f"# nothing yet\n{library(root)}\n"
    root.run("dpkg", "--purge", "windlass")
    assert_same(before, root.tree())


def named_by_hand(root, package):
    """a package whose library somebody has named by hand, by whatever name, is not removed"""
    package.install(root)
    (root / "/srv/packages/link.so").symlink_to(library(root))
    by_lib = "/usr/$LIB/windlass/libwindlass_preload.so"
    for line in (library(root), library(root).replace("/usr/lib", "/lib"), "/srv/packages/link.so", by_lib,
                 f"# x\n/no.so:{library(root)}"):
        (root / LIST).write_text(line + "\n")
        result = root.run("dpkg", "--remove", "windlass", code=1)
        assert "take that line out first" in result.stderr, f"{line}: {result.stderr}"
    (root / LIST).write_text(f"# {library(root)}\n")
    root.run("dpkg", "--remove", "windlass")
    (root / LIST).unlink()
    assert_quiet(root)


def environment_of_others(root, package):
    """variables of whoever installs the package, or runs update-ca-certificates, say nothing of what is compiled
    where"""
    others = ["WINDLASS_STORE=/srv/packages/elsewhere", "OPENSSL_CONF=/srv/packages/none",
              "XDG_CACHE_HOME=/srv/packages/cache"]
    root.run("dpkg", "--install", package.put(root), environment=others)
    root.quiet("windlass", "compile", "--check")
    add_root(root)
    root.run("update-ca-certificates", environment=others)
    root.quiet("windlass", "compile", "--check")
    assert not os.path.exists(root / "/srv/packages/elsewhere")


def without_package(root, package):
    """`windlass install` from a build tree, and back, leaves the tree as it was"""
    unpacked(root, package)
    before = root.tree()
    root.run("/srv/packages/windlass", "install", "--machine", "--yes")
    assert (root / LIST).read_text() == "/usr/local/lib/windlass/libwindlass_preload.so\n"
    assert_quiet(root)
    assert_used(root)
    assert "/usr/local/bin/windlass compile" in (root / HOOK).read_text()
    shutil.rmtree(root / STORES)
    add_root(root)
    update(root)
    root.quiet("windlass", "compile", "--check")
    assert "Nothing to do" in root.quiet("windlass", "install", "--machine")
    root.run("windlass", "uninstall", "--yes")
    assert_quiet(root)
    shutil.rmtree(root / "/usr/local/share/ca-certificates")
    (root / "/usr/local/share/ca-certificates").mkdir()
    update(root, "--fresh")
    assert_same(before, root.tree())


def over_an_installation(root, package):
    """the package installs over `windlass install` without a question, both go again, and leave the tree as it was"""
    unpacked(root, package)
    before = root.tree()
    root.run("/srv/packages/windlass", "install", "--machine", "--yes")
    result = package.install(root)
    assert "onfiguration file" not in result.stdout + result.stderr, result.stdout + result.stderr
    assert "/usr/bin/windlass compile" in (root / HOOK).read_text()
    assert root.run("dpkg", "--verify", "windlass").stdout == ""
    assert_quiet(root)
    root.run("windlass", "uninstall", "--yes")
    assert root.run("dpkg", "--verify", "windlass").stdout == "", "the hook is the package's now"
    assert os.path.exists(root / HOOK)
    assert_quiet(root)
    root.run("dpkg", "--purge", "windlass")
    assert_same(before, root.tree())


def edited_hook(root, package):
    """a hook that somebody has edited is kept over the package's installation, as dpkg is told to"""
    unpacked(root, package)
    root.run("/srv/packages/windlass", "install", "--yes")
    with open(root / HOOK, "a", encoding="utf-8") as hook_file:
        hook_file.write("# mine\n")
    edited = (root / HOOK).read_text()
    root.run("dpkg", "--force-confold", "--install", package.put(root))
    assert (root / HOOK).read_text() == edited
    root.run("dpkg", "--force-confold", "--purge", "windlass")


def wrong_library(root, package):
    """a library that programs can't load is never named"""
    unpacked(root, package)
    before = root.tree()
    # A relocation against a symbol that nobody has: well formed, but not loadable.
    subprocess.run(["gcc", "-shared", "-nostdlib", "-Wl,-z,now", "-o", root / "/srv/packages/libwindlass_preload.so",
                    "-x", "c", "-"],
                   input=b"extern int nobody_has_this; int *p = &nobody_has_this;", check=True)
    result = root.run("/srv/packages/windlass", "install", "--machine", "--yes", code=1)
    assert "can't use the library" in result.stderr and "symbol" in result.stderr, result.stderr
    assert not os.path.exists(root / LIST)
    root.run("/srv/packages/windlass", "uninstall", "--yes")
    assert_same(before, root.tree())


def read_only(root, package):
    """a read-only file system is said to be one, and nothing is changed"""
    package.install(root)
    before = root.tree()
    subprocess.run(["mount", "--bind", root / "/etc", root / "/etc"], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", root / "/etc"], check=True)
    try:
        result = root.run("windlass", "install", "--machine", "--yes", code=1)
    finally:
        subprocess.run(["umount", root / "/etc"], check=True)
    assert "can't write /etc/ld.so.preload: Read-only file system" in result.stderr, result.stderr
    assert "remount" in result.stderr, result.stderr
    root.run("windlass", "uninstall", "--yes")
    assert_same(before, root.tree())


def full_disk(root, package):
    """a full file system leaves nothing half written"""
    unpacked(root, package)
    before = root.tree()
    with mounted("tmpfs", root / "/usr/local", "-o", "size=64k,mode=755"):
        result = root.run("/srv/packages/windlass", "install", "--yes", code=1)
        assert "No space left on device" in result.stderr and "make room" in result.stderr, result.stderr
        left = [name for name in os.listdir(root / "/usr/local/bin") if "windlass" in name]
        assert not left, left
        root.run("/srv/packages/windlass", "uninstall", "--yes")
        assert not os.listdir(root / "/usr/local")
    assert_same(before, root.tree())


def killed(root, package):
    """an installation or removal that is killed anywhere is completed, or undone without a trace"""
    unpacked(root, package)
    (root / "/usr/lib/systemd/system/a.service").write_text(SERVICE)
    (root / LIST).write_text("# nothing yet")
    before = root.tree()
    install = ("/srv/packages/windlass", "install", "--machine", "--service", "a", "--yes")
    start = time.monotonic()
    root.run(*install)
    whole = time.monotonic() - start
    after = root.tree()
    uninstall = ("/srv/packages/windlass", "uninstall", "--yes")
    root.run(*uninstall)
    assert_same(before, root.tree())
    moment, interrupted, states = random.Random(1), 0, set()
    # When a run is killed is the scheduler's choice: more of them until enough were, at enough different points.
    for number in range(200):
        if number >= 12 and interrupted > 5 and len(states) > 3:
            break
        interrupted += kill_after(root, install, moment.uniform(0, whole))
        assert_quiet(root)
        states.add(len(root.tree()))
        if number % 3 == 0:
            root.run(*install)
            assert_same(without_stores(after), without_stores(root.tree()))
            interrupted += kill_after(root, uninstall, moment.uniform(0, whole / 3))
            assert_quiet(root)
        root.run(*uninstall)
        assert_same(before, root.tree())
    assert interrupted > 5 and len(states) > 3, f"{interrupted} were interrupted, at {len(states)} different points"


def kill_after(root, command, seconds):
    """Runs a command and kills it; whether it was still running."""
    process = subprocess.Popen(["chroot", root.path, "/usr/bin/env", "-i", "PATH=/usr/bin:/bin:/usr/sbin", *command],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    time.sleep(seconds)
    running = process.poll() is None
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    # What it has started is killed as well, and has the lock until it is gone.
    while any(is_running_in(process.pid, name) for name in os.listdir("/proc") if name.isdigit()):
        time.sleep(0.01)
    return running


def is_running_in(group, process):
    """Whether a process is of this group, and no zombie: nobody may be there to wait for those."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            state, _parent, its_group = file.read().rpartition(")")[2].split()[:3]
    except OSError:
        return False
    return state not in "ZX" and int(its_group) == group


def without_stores(tree):
    """A compiled store records when its source was made, and the record what was there before."""
    return {path: kind for path, kind in tree.items() if not path.startswith((STORES[1:], "var/lib/windlass"))}


def library(root):
    return root.run("sh", "-c", "echo /usr/lib/*/windlass/libwindlass_preload.so").stdout.strip()


def unpacked(root, package):
    """The command and the library as a build leaves them, outside of /usr."""
    (root / "/srv/packages").mkdir()
    shutil.copy(package.windlass, root / "/srv/packages/windlass")
    shutil.copy(package.library, root / "/srv/packages/libwindlass_preload.so")


def assert_used(root):
    assert root.quiet("windlass", "ls", "--json").count("sha256_fingerprint") > 100
    assert root.quiet("windlass", "run", "--", "openssl", "version").startswith("OpenSSL ")


def assert_quiet(root):
    """No program prints an error of the loader."""
    for program in PROGRAMS:
        root.quiet(*program)


def is_enabled(root):
    return os.path.islink(root / "/etc/systemd/system/paths.target.wants/windlass-compile.path")


def update(root, *options):
    result = root.run("update-ca-certificates", *options)
    assert "E:" not in result.stdout + result.stderr, result.stdout + result.stderr
    return result.stdout


def anchors(root):
    return json.loads(root.quiet("windlass", "ls", "--json", BUNDLE))["summary"]["anchors"]


def add_root(root):
    """A new root, as an administrator adds one."""
    (root / "/usr/local/share/ca-certificates").mkdir(exist_ok=True)
    root.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
             "-keyout", "/dev/null", "-subj", "/CN=Packaging test root", "-addext", "basicConstraints=critical,CA:TRUE",
             "-out", "/usr/local/share/ca-certificates/packaging-test.crt")


ALL = [same_bytes, contents, libraries_load_everywhere, install_and_purge, compiled_at_once, hook, hook_never_fails,
       no_certificates, machine_and_remove, service_and_purge, named_by_hand, environment_of_others, without_package,
       over_an_installation, edited_hook, wrong_library, read_only, full_disk, killed]
