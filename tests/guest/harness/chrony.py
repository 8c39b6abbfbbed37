"""Debian's chronyd with NTS and its system call filter: a server and a client on the loopback interface of a network
namespace, each in a filter (`-F 1` kills, `-F 2` traps). The client must come to an established NTS-KE session, with
the library as without."""

import functools
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

CHRONYD, CHRONYC = "/usr/sbin/chronyd", "/usr/bin/chronyc"
SECONDS = 60
SERVER = """port 11123
cmdport 0
bindaddress 127.0.0.1
bindcmdaddress {folder}/server.sock
pidfile {folder}/server.pid
allow 127.0.0.1
local stratum 1
ntsserverkey {key}
ntsservercert {chain}
ntsport 14460
ntsprocesses {processes}
ntsdumpdir {folder}
"""
CLIENT = """server 127.0.0.1 port 11123 ntsport 14460 nts iburst minpoll -2 maxpoll -2
port 0
cmdport 0
bindcmdaddress {folder}/client.sock
pidfile {folder}/client.pid
{trust}
driftfile {folder}/drift
"""


def cases(world):
    for level in (1, 2, -1, -2):
        for trust in ("ntstrustedcerts", "system", "refused"):
            yield f"chronyd: -F {level} {trust}", functools.partial(one, world, level, trust)


def one(world, level, trust):
    assert os.geteuid() == 0, "needs root: sudo tests/guest/run.sh"
    stock, here = (states(world, level, trust, library) for library in (None, world.library))
    assert ("established" in stock) == (trust != "refused"), stock
    assert here == stock, f"stock {stock}\nhere  {here}"


def states(world, level, trust, library):
    """What came of it: whether each daemon lives, and whether the client has keys and cookies of the server."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="chrony-", dir=world.folder))
    folder.chmod(0o750)
    shutil.chown(folder, "_chrony", "_chrony")
    pki = world.pki
    key, chain = folder / "key.pem", folder / "chain.pem"
    key.write_bytes(pki.path("good.key").read_bytes())
    chain.write_bytes(pki.path("good.pem").read_bytes())
    shutil.chown(key, "_chrony", "_chrony")
    key.chmod(0o600)
    # More certificates than those of the machine: all of a bundle. What "refused" trusts does not issue anything here.
    bundle = folder / "trusted.pem"
    bundle.write_bytes((pki.path("other.crt") if trust == "refused" else pki.bundle).read_bytes())
    line = f"ntstrustedcerts {bundle}\nnosystemcert" if trust != "system" else f"ntstrustedcerts {pki.path('root.crt')}"
    (folder / "root.crt").write_bytes(pki.path("root.crt").read_bytes())
    (folder / "server.conf").write_text(SERVER.format(folder=folder, key=key, chain=chain,
                                                      processes=0 if level < 0 else 1))
    (folder / "client.conf").write_text(CLIENT.format(folder=folder, trust=line))
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "WINDLASS_STORE": "", "LC_ALL": "C.UTF-8"}
    preload = [f"LD_PRELOAD={library}"] if library else []
    script = 'set -e; ip link set lo up; cd "$0"; "$@" -f server.conf >server.log 2>&1 & first=$!; ' \
             '"$@" -f client.conf >client.log 2>&1 & second=$!; while sleep 0.1; do :; done'
    command = ["unshare", "-n", "sh", "-c", script, folder, "env", *preload, CHRONYD, "-d", "-x", "-F", str(level)]
    process = subprocess.Popen(list(map(str, command)), env=env, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return watch(folder)
    finally:
        daemons = [folder / f"{name}.pid" for name in ("server", "client")]
        numbers = [path.read_text().strip() for path in daemons if path.exists()]
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=SECONDS)
        end = time.monotonic() + SECONDS
        while any(pathlib.Path(f"/proc/{number}").exists() for number in numbers) and time.monotonic() < end:
            time.sleep(0.05)


def watch(folder):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        log = "".join(path.read_text() for path in folder.glob("*.log"))
        cookies = subprocess.run([CHRONYC, "-h", folder / "client.sock", "-n", "-c", "authdata"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 encoding="utf-8", check=False, timeout=SECONDS).stdout
        fields = cookies.strip().split(",")
        # Name, mode, key, algorithm, key length, last, attempts, NAK, cookies, cookie length.
        if len(fields) == 10 and fields[4] != "0" and int(fields[8]) > 0:
            return "established"
        if "TLS handshake with" in log and "failed" in log:
            return [line.split("chronyd")[-1] for line in log.splitlines() if "failed" in line][0].split("failed", 1)[1]
        if not all(alive(folder / f"{name}.pid") for name in ("server",
                                                              "client")) and time.monotonic() > end - SECONDS + 5:
            return "a daemon has ended"
        time.sleep(0.05)
    return "nothing within a minute"


def alive(pid_file):
    try:
        return pathlib.Path(f"/proc/{int(pid_file.read_text())}").exists()
    except (FileNotFoundError, ValueError):
        return False
