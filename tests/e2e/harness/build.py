"""Builds the compiled test programs; a program is built again only when its source is newer."""

import pathlib
import subprocess

from sides import environment

WARNINGS = ("-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations")
COMMANDS = {
    "client.cr": lambda source, out: ["crystal", "build", "--no-color", "-o", out, source],
    "stores.c": lambda source, out: ["cc", *WARNINGS, "-pthread", "-o", out, source, "-lssl", "-lcrypto"],
    "reach.c": lambda source, out: ["cc", *WARNINGS, "-pthread", "-o", out, source, "-lssl", "-lcrypto"],
    "guest.c": lambda source, out: ["cc", *WARNINGS, "-pthread", "-o", out, source, "-lssl", "-lcrypto"],
    "direct.c": lambda source, out: ["cc", *WARNINGS, "-o", out, source, "-ldl"],
    "gnutls_client.c": lambda source, out: ["cc", *WARNINGS, "-o", out, source, "-lgnutls"],
    # Only the library has to be there: its headers' package replaces OpenSSL's.
    "curl_gnutls.c": lambda source, out: ["cc", *WARNINGS, "-o", out, source, "-l:libcurl-gnutls.so.4"],
    "local.c": lambda source, out: ["cc", *WARNINGS, "-o", out, source, "-ldl"],
}


def build(sources, out):
    """{"client.cr": path of the executable, …}"""
    out.mkdir(parents=True, exist_ok=True)
    built = {}
    for name, command in COMMANDS.items():
        source, target = sources / name, out / pathlib.Path(name).stem
        newest = max(file.stat().st_mtime for file in (source, *(sources.glob("*.h") if name.endswith(".c") else ())))
        if not target.exists() or target.stat().st_mtime <= newest:
            env = environment({"CRYSTAL_CACHE_DIR": out / "crystal-cache"})
            done = subprocess.run(list(map(str, command(source, target))), env=env, timeout=3600,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
            if done.returncode:
                raise SystemExit(f"building {name} failed:\n{done.stdout}")
        built[name] = target
    return built
