"""Whole programs, from the moment when their own code begins: what they call of the kernel with the library, they call
without.

What the library does when it is loaded is before that moment, and is listed here: nothing else may be made then."""

import functools
import re
import subprocess

import calls
from servers import nginx_config, reserve_port, wait_for_port

# How often stock runs: what it calls depends on the network, too.
RUNS = 3
# For the page that tells forks apart; for file systems, each looked at by its path; who this is.
AT_START = {"mmap MAP_ANONYMOUS|MAP_PRIVATE", "madvise 0xffffffff /* MADV_??? */", "madvise MADV_WIPEONFORK",
            "newfstatat 0", "statfs", "geteuid", "futex FUTEX_WAKE_PRIVATE",
            # The dynamic linker's, for one more library.
            "openat O_RDONLY", "read", "newfstatat AT_EMPTY_PATH", "mmap MAP_DENYWRITE|MAP_PRIVATE", "mprotect",
            "close", "munmap", "mmap MAP_DENYWRITE|MAP_FIXED|MAP_PRIVATE", "mmap MAP_ANONYMOUS|MAP_FIXED|MAP_PRIVATE",
            "write"}
PYTHON = ("import ssl, urllib.request, sys\nfor _ in range(3):\n  print(urllib.request.urlopen(sys.argv[1], "
          "context=ssl.create_default_context()).read())")
RUBY = ("require 'net/http'; require 'uri'; u = URI(ARGV[0]); 3.times { Net::HTTP.start(u.host, u.port, use_ssl: true) "
        "{ |h| puts h.get('/').body } }")
PHP = "for ($i = 0; $i < 3; $i++) echo file_get_contents($argv[1]);"


def cases(world):
    for name, of in PROGRAMS.items():
        for host in ("good", "untrusted"):
            for source in ("file", "directory", "compiled"):
                yield f"program: {name} {host} {source}", functools.partial(one, world, of, host, source)
    yield "program: nginx proxy_ssl_verify", functools.partial(proxy, world)
    yield "program: /bin/true, what the library does when it is loaded", functools.partial(loading, world)


PROGRAMS = {
    "curl": lambda world, url, file, folder: ["curl", "-sS", "--max-time", "60", url, url]
    + (["--cacert", file] if file else ["--capath", folder]),
    "openssl s_client": lambda world, url, file, folder:
        ["openssl", "s_client", "-verify_return_error", "-brief", "-connect", url.removeprefix("https://").rstrip("/")]
    +
        (["-CAfile", file] if file else ["-CApath", folder, "-no-CAfile", "-no-CAstore"]),
    "python3": lambda world, url, file, folder: ["python3", "-B", "-c", PYTHON, url],
    "ruby": lambda world, url, file, folder: ["ruby", "-e", RUBY, url],
    "php": lambda world, url, file, folder: ["php", "-n", "-d", "extension=openssl", "-r", PHP, url],
    "wget": lambda world, url, file, folder:
        ["wget", "-q", "-O", "-", "--no-hsts", "--ca-certificate" if file else "--ca-directory", file or folder, url],
    "gnutls-cli": lambda world, url, file, folder:
        ["gnutls-cli", "--x509cafile", file or world.pki.bundle, "-p", url.rsplit(":", 1)[1].rstrip("/"), "localhost"],
    "git": lambda world, url, file, folder:
        ["git", "-c", f"http.sslCAInfo={file or ''}", "-c", f"http.sslCAPath={folder or ''}", "ls-remote", url
         + "x.git"],
}


def one(world, of, host, source):
    bundle, folder = world.pki.bundle, world.pki.capath
    file = bundle if source != "directory" else None
    command = of(world, world.hosts.url(host), file, folder)
    env = {"HOME": str(world.folder), "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin",
           "SSL_CERT_FILE": str(file or "/proc/none"),
           "SSL_CERT_DIR": str(folder if not file else "/proc/none"),
           "WINDLASS_STORE": str(world.compiled_of(bundle)) if source == "compiled" else ""}
    if source == "file":
        # As on a machine where nothing was set: the machine's compiled stores, which the tests don't have, and the
        # user's.
        del env["WINDLASS_STORE"]
    judge(world, lambda library: traced(world, command, env, library))


def judge(world, run):
    stock = [run(None) for _ in range(RUNS)]
    allowed = set().union(*(made for _, made, _ in stock))
    shown, here, _ = run(world.library)
    assert shown == stock[0][0], f"stock {stock[0][0]}\nhere  {shown}"
    more = {call for call in here - allowed if not is_as_good(call, allowed)}
    assert not more, ", ".join(sorted(more))


def is_as_good(call, allowed):
    name = calls.name_of(call)
    # How often the network has to be waited for is not the library's.
    if name in {"pselect6", "select", "poll", "ppoll", "epoll_wait", "restart_syscall"}:
        return True
    # Memory is taken and given back at other moments, and threads meet at others: by calls that stock makes, too.
    return name in calls.HEAP or name in calls.MEMORY | {"futex"} and any(calls.name_of(other) == name
                                                                          for other in allowed)


def traced(world, command, env, library):
    """What it showed, its calls after the mark, and those before it."""
    preload = " ".join(map(str, filter(None, (world.main_mark(), library))))
    done, lines = calls.trace(command, env | {"LD_PRELOAD": preload}, world.folder / "strace")
    return (done.returncode, normal(done.stdout), normal(done.stderr)), *after_mark(lines)


def normal(text):
    """Without what is another one in each run: sessions, ports and times."""
    lines = [re.sub("^[0-9A-F]{16}:", "", line) for line in text.splitlines()]
    return [line for line in lines if not any(word in line for word in ("Session", "Peer Temp", "Connecting to"))]


def after_mark(lines):
    """The calls of all processes after their marks, and before. What is forked goes on as its parent."""
    running, after, before = {}, set(), set()
    for process, name, arguments in calls.calls(lines):
        if name == "write" and arguments.startswith('999, "begin program"'):
            running[process] = True
            continue
        if name in ("execve", "execveat") and arguments.rstrip().endswith("= 0"):
            running[process] = False
        (after if running.get(process) else before).add(calls.key(name, arguments))
        if name in ("clone", "clone3", "fork", "vfork"):
            child = arguments.rsplit("= ", 1)[-1].split()[0]
            # The child may have been seen before its parent's call came back.
            if child.isdigit():
                running.setdefault(int(child), running.get(process))
    return after, before


def proxy(world):
    """nginx verifies what it passes requests on to: loads when it starts, verifies in its worker."""
    def run(library):
        port, folder = reserve_port(), world.folder / "proxy"
        folder.mkdir(exist_ok=True)
        servers = "".join(f"""  server {{
            listen 127.0.0.1:{port + 0};
            location /{host}/ {{
              proxy_pass {world.hosts.url(host)};
              proxy_ssl_verify on; proxy_ssl_name localhost; proxy_ssl_server_name on;
              proxy_ssl_trusted_certificate {world.pki.bundle};
            }}
          }}\n""" for host in ("good",))
        config = folder / "nginx.conf"
        config.write_text(nginx_config(folder, servers, log=folder / "error.log", workers=False))
        preload = " ".join(map(str, filter(None, (world.main_mark(), library))))
        log = world.folder / "strace-nginx"
        command = ["/usr/bin/strace", "-f", "-qq", "-s", "96", "-o", log, "-E", f"LD_PRELOAD={preload}", "-E",
                   "WINDLASS_STORE=", "/usr/sbin/nginx", "-e", folder / "error.log", "-p", folder, "-c", config]
        process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin"},
                                   start_new_session=True)
        try:
            wait_for_port(port, process)
            done = subprocess.run(["curl", "-sS", f"http://127.0.0.1:{port}/good/", f"http://127.0.0.1:{port}/good/"],
                                  check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                                  timeout=60)
        finally:
            subprocess.run(["kill", "-QUIT", (folder / "nginx.pid").read_text().strip()], check=True)
            process.wait(timeout=60)
        assert "hello from good" in done.stdout, done
        return (done.returncode, done.stdout,
                done.stderr), *after_mark(log.read_text(errors="backslashreplace").splitlines())
    judge(world, run)


def loading(world):
    env = {"HOME": str(world.folder), "PATH": "/usr/bin:/bin"}
    (_, _, stock), (_, _, here) = (traced(world, ["/bin/true"], env, library) for library in (None, world.library))
    assert here - stock <= AT_START, (here - stock) - AT_START
