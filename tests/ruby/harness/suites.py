"""The cases: a name, and what is done."""

import os
import pathlib
import shutil
import socket
import subprocess
import time

from ruby import PROGRAMS


def program(name, *arguments):
    return lambda ruby: ruby.run(name, *arguments) and None


def disabled(ruby):
    ruby.run("says.rb", "disabled", "WINDLASS_DISABLE", WINDLASS_DISABLE=1)
    # WINDLASS_AUTO=0: only what asks for it attaches.
    say = "p Windlass.status.state, Windlass.attach, Windlass.status.state"
    said = ruby.run("-rwindlass", "-e", say, WINDLASS_AUTO=0)
    assert said == '"not loaded"\n"attached"\n"attached"\n', said
    assert ruby.run("-rwindlass", "-e", say, WINDLASS_AUTO=1).startswith('"attached"\n"already"')


def taken(ruby):
    """What finds functions by name was there before Windlass: an OpenSSL that was there as well is left alone."""
    say = 'require "windlass"; require "openssl"; OpenSSL::X509::Store.new.set_default_paths; now = Windlass.status; ' \
          "p now.libraries.map(&:from_before).uniq, now.served.size, now.reason"
    for before, served in (("openssl", 1), ("fiddle", 1), ("openssl fiddle", 0)):
        said = ruby.run(*(f"-r{name}" for name in before.split()), "-e", say).splitlines()
        assert said[:2] == [str([not served]).lower(), str(served)], (before, said)
        assert ("fiddle" in said[2]) == (not served), (before, said)


def audited(ruby):
    # The linker says that it can't load this auditor, and goes on.
    said = ruby.run("-rwindlass", "-e", "print Windlass.attach", silent=False, LD_AUDIT="/nonexistent/auditor.so")
    assert said == "audited", said


def secure_execution(ruby):
    """A copy of the interpreter with a capability, run by another user."""
    interpreter = pathlib.Path(ruby.run("-e", "print RbConfig.ruby"))
    if os.geteuid() != 0 or not interpreter.exists():
        return "not tried: needs root, and a Ruby of this machine"
    copy = ruby.fresh("secure") / "ruby"
    shutil.copyfile(os.path.realpath(interpreter), copy)
    copy.chmod(0o755)
    subprocess.run(["setcap", "cap_net_raw+ep", copy], check=True)
    said = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", copy,
                           f"-r{ruby.lib()}/windlass.rb", "-e", "print Windlass.attach"], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={"PATH": "/usr/bin:/bin"})
    assert said.stdout == "secure-execution", said
    return None


def damaged(ruby):
    """A file of the gem is damaged: a clear answer, and the program runs as before."""
    home = ruby.install("damaged")
    for name in ("libwindlass_preload.so", "native.so"):
        library = ruby.lib(home) / "windlass" / name
        whole = library.read_bytes()
        # The linker maps a file that is cut off, and the process would die of SIGBUS.
        for content in (b"", b"not a library\n", whole[:64], whole[:len(whole) // 2], whole[:-1],
                        b"\x7fELF" + bytes(1000), None):
            library.unlink(missing_ok=True)
            if content is not None:
                library.write_bytes(content)
            ruby.run("says.rb", "unavailable", str(library), home=home)
        # Another library in its place.
        other = "native.so" if name != "native.so" else "libwindlass_preload.so"
        shutil.copyfile(ruby.lib(home) / "windlass" / other, library)
        ruby.run("says.rb", "unavailable", home=home)
        library.write_bytes(whole)
    ruby.run("says.rb", "already", home=home)


def verdicts(ruby):
    """The same output with and without Windlass, whichever of openssl and windlass is required first."""
    bundle = ruby.fresh("verdicts") / "bundle.pem"
    said = {}
    for name, variables in (("stock", {"WINDLASS_AUTO": "0"}), ("first", {"FIRST": "windlass"}), ("last", {})):
        shutil.copyfile(ruby.authority.bundle, bundle)
        said[name], count = ask(ruby, "verdicts.rb", bundle=bundle, **variables)
        assert (count > 10) == (name != "stock"), (name, count)
    assert said["stock"] == said["first"] == said["last"], said
    lines = said["stock"].splitlines()
    assert len(lines) > 40 and sum("accepted" in line for line in lines) > 8, lines
    assert sum("verify failed" in line for line in lines) > 8, lines
    return f"{len(lines)} verdicts"


def ask(ruby, *arguments, **variables):
    """What a program says, and how often it was served, which it says on standard error."""
    ended = subprocess.run([ruby.interpreter, PROGRAMS / arguments[0], *map(str, arguments[1:])],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=120, env=ruby.environment(ruby.home, **variables))
    assert ended.returncode == 0, ended
    return ended.stdout, int(ended.stderr.splitlines()[-1])


def library_of_many_stores(name, feature, answers, more):
    def case(ruby):
        if not ruby.has(feature):
            return f"not tried: this Ruby has no {feature}"
        folder = ruby.fresh(feature)
        stock, _ = ask(ruby, name, folder, WINDLASS_AUTO=0)
        said, count = ask(ruby, name, folder)
        assert said == stock == answers and count >= more, (stock, said, count)
        return f"served {count} default stores"
    return case


def options_of_ruby(ruby):
    """RUBYOPT reaches children; an absolute path needs no RubyGems; two copies of the gem are one."""
    say = ("require 'openssl'; require 'rbconfig'; print Windlass.status.served.size;"
           "print `#{RbConfig.ruby} -e 'print Windlass.attach'`")
    assert ruby.run("-e", say, RUBYOPT="-rwindlass") == "1already"
    path = f"-r{ruby.lib()}/windlass.rb"
    assert ruby.run("--disable-gems", "-e", say, RUBYOPT=path) == "1already"
    assert ruby.run("-w", "-e", say, RUBYOPT=path) == "1already"
    other = ruby.lib(ruby.install("second")) / "windlass.rb"
    assert ruby.run("-w", f"-r{other}", "-e", "print Windlass.attach", RUBYOPT=path) == "already"
    # What the program itself prints and returns stays as it is.
    assert ruby.run("-e", "print 7; exit 3", RUBYOPT="-rwindlass", status=3) == "7"


def bundler(ruby):
    """A program whose bundle names no windlass starts as before, and one that names it finds it."""
    folder = ruby.fresh("bundler")
    gemfile = folder / "Gemfile"
    for text, first in (("", ["-e", "require 'bundler/setup'"]), ('gem "windlass"\n', ["-rbundler/setup", "-e", ""])):
        gemfile.write_text(text)
        for lock in folder.glob("*.lock"):
            lock.unlink()
        first[-1] += "; require 'openssl' ; print Windlass.attach, Windlass.status.served.size"
        options = {"RUBYOPT": f"-r{ruby.lib()}/windlass.rb"} if not text else {}
        extra = ["-rwindlass"] if text else []
        said = ruby.run(*first[:-2], *extra, *first[-2:], BUNDLE_GEMFILE=gemfile, **options)
        assert said == "already1", said


def openssl_inside(ruby):
    """An extension openssl with OpenSSL linked in is told as such."""
    folder = ruby.fresh("inside")
    (folder / "openssl.c").write_text("int SSL_CTX_new(void) { return 0; }\nvoid Init_openssl(void) {}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "openssl.so", folder / "openssl.c"], check=True)
    said = ruby.run("-rwindlass", f"-r{folder}/openssl.so", "-e", "print Windlass.status.reason")
    assert said == f"{folder}/openssl.so has OpenSSL linked in statically", said


def puma(ruby):
    """Workers that are forked after a store was made, and make stores themselves."""
    if not ruby.has("puma"):
        return "not tried: this Ruby has no puma"
    address = ruby.fresh("puma") / "socket"
    process = subprocess.Popen([ruby.interpreter, "-S", "puma", "-C", PROGRAMS / "puma.rb"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env=ruby.environment(ruby.home, SOCKET=address))
    try:
        for _ in range(20):
            said = asked(address, process)
            assert said.endswith("already true false 2"), said
    finally:
        process.terminate()
        said, _ = process.communicate(timeout=60)
    assert process.returncode in (0, -15), (process.returncode, said)
    return None


def asked(address, process):
    """What the server at this socket answers, as soon as it does."""
    while process.poll() is None:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(60)
                connection.connect(str(address))
                connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
                return b"".join(iter(lambda: connection.recv(4096), b"")).decode()
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.1)
    raise AssertionError(process.communicate()[0])


def ractors(ruby):
    if ruby.run("-e", "print defined?(Ractor)", silent=False) == "":
        return "this Ruby has none"
    return f"{ruby.run('-W:no-experimental', 'ractors.rb')} stores made in them"


CASES = [
    ("attached", program("attached.rb")),
    ("attached in the middle, detached", program("attached_late.rb")),
    ("addresses taken before", taken),
    ("with LD_PRELOAD", lambda ruby: ruby.run("says.rb", "already", LD_PRELOAD=ruby.library) and None),
    ("switched off", disabled),
    ("LD_AUDIT", audited),
    ("secure execution", secure_execution),
    ("a damaged library", damaged),
    ("verdicts", verdicts),
    ("fork, children", program("processes.rb")),
    ("threads", program("threads.rb", 40)),
    ("Ractors", ractors),
    ("RUBYOPT", options_of_ruby),
    ("Bundler", bundler),
    ("OpenSSL inside openssl.so", openssl_inside),
    ("Puma", puma),
    ("Faraday", library_of_many_stores("faraday.rb", "faraday", "ok\nok\nok\nok\nrefused\nok\nok\n", 6)),
    ("Puppet", library_of_many_stores("puppet.rb", "puppet", "ok\nok\nok\nok\nok\nok\nrefused\n", 6)),
]
