"""Builds the programs of bench/peers/, each toolchain by itself: what is missing is said, the rest is measured."""

import os
import pathlib
import shutil
import subprocess
import sys

PEERS = pathlib.Path(__file__).resolve().parent.parent / "peers"
OPENSSL = ("3.5.5", "3.6.3", "4.0.3")
PACKAGES = {"go": "golang-go", "node": "nodejs", "javac": "default-jdk-headless", "cargo": "cargo", "cc": "gcc"}


class Missing(Exception):
    """Why the programs of one toolchain are left out, and what to do."""


def build(out):
    """({name of a program or tool: path}, {toolchain: why it is left out})"""
    out.mkdir(parents=True, exist_ok=True)
    built, missing = {}, {}
    for name, builder in BUILDERS.items():
        try:
            built |= builder(out)
        except Missing as why:
            missing[name] = str(why)
            print(f"peers: {name}: left out: {why}", file=sys.stderr, flush=True)
    return built, missing


def tool(name):
    found = shutil.which(name)
    if not found:
        raise Missing(f"no `{name}` in PATH: install it, in Debian with `apt-get install {PACKAGES[name]}`")
    return found


def call(*argv, folder=None):
    """With the caller's own PATH: toolchains need not be the system's."""
    done = subprocess.run([str(word) for word in argv], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", timeout=3600)
    if done.returncode:
        name = pathlib.Path(argv[0]).name
        raise Missing(f"`{name}` failed with status {done.returncode}: {done.stdout[-600:].strip()}")


def compiled(out, source, name, *flags):
    cc, program = tool("cc"), out / name
    call(cc, "-O2", "-Wall", "-o", program, PEERS / "c" / source, *flags)
    return {name: program}


def system_openssl(out):
    return compiled(out, "openssl.c", "openssl-system", "-lssl", "-lcrypto")


def newer_openssl(out):
    """With upstream's optimisation, which `make openssl` does without."""
    tool("cargo")
    call(PEERS / "openssl" / "build.sh", out / "openssl")
    built = {}
    for version in OPENSSL:
        at = out / "openssl" / version
        built |= compiled(out, "openssl.c", f"openssl-{version}", f"-I{at / 'include'}", f"-L{at / 'lib'}",
                          f"-Wl,-rpath,{at / 'lib'}", "-lssl", "-lcrypto")
    return built


def gnutls(out):
    return compiled(out, "gnutls.c", "gnutls", "-lgnutls")


def libcurl(out):
    return compiled(out, "libcurl.c", "libcurl", "-lcurl")


def rust(out):
    call(tool("cargo"), "build", "--release", "--locked", "--quiet", "--manifest-path", PEERS / "rust" / "Cargo.toml",
         "--target-dir", out / "rust")
    return {"rust": out / "rust" / "release" / "peers-rust"}


def go(out):
    call(tool("go"), "build", "-trimpath", "-o", out / "peers-go", ".", folder=PEERS / "go")
    return {"go": out / "peers-go"}


def node(_out):
    return {"node": tool("node")}


def java(out):
    javac = tool("javac")
    call(javac, "-d", out / "java", PEERS / "java" / "Peer.java")
    return {"java": pathlib.Path(javac).with_name("java"), "classes": out / "java"}


def python(out):
    return {"python": packages(PEERS / "python" / "requirements.txt", out / "venv")}


def packages(wanted, folder):
    """An interpreter with packages of these versions and hashes: the system's, since its OpenSSL is the system's."""
    stamp = folder / "stamp"
    if not stamp.exists() or stamp.read_bytes() != wanted.read_bytes():
        shutil.rmtree(folder, ignore_errors=True)
        try:
            call("/usr/bin/python3", "-m", "venv", folder)
            call(folder / "bin" / "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "-r",
                 wanted)
        except Missing as why:
            raise Missing(f"{why}; in Debian: `apt-get install python3-venv`") from why
        stamp.write_bytes(wanted.read_bytes())
    return folder / "bin" / "python3"


def p11_kit(_out):
    if os.geteuid() != 0:
        raise Missing("mount namespaces need root")
    if not list(pathlib.Path("/usr/lib").glob("*/pkcs11/p11-kit-trust.so")):
        raise Missing("no p11-kit-trust.so: `apt-get install p11-kit-modules`")
    return {"p11-kit": True}


BUILDERS = {"OpenSSL": system_openssl, "OpenSSL 3.5, 3.6 and 4.0": newer_openssl, "GnuTLS": gnutls, "p11-kit": p11_kit,
            "libcurl": libcurl, "Python": python, "Node": node, "Go": go, "rustls": rust, "Java": java}
