"""The oldest Rust: what Cargo.toml states against what the dependencies ask for, then a check with that compiler.

Without that toolchain (`rustup toolchain install VERSION --profile minimal`) only the first is done, and said.
With --compile that is a failure.
"""

import json
import os
import subprocess
import sys
import tomllib


def main(arguments):
    cargo = os.environ.get("CARGO") or "cargo"
    with open("Cargo.toml", "rb") as file:
        stated = tomllib.load(file)["workspace"]["package"]["rust-version"]
    listed = subprocess.run([cargo, "metadata", "--format-version", "1", "--locked"], check=True, capture_output=True)
    others = [package for package in json.loads(listed.stdout)["packages"] if package["source"]]
    wanted = max(number(package["rust_version"]) for package in others)
    asking = [f"{p['name']} {p['version']}" for p in others if number(p["rust_version"]) == wanted]
    shown = ".".join(map(str, wanted[:2]))
    print(f"Cargo.toml states {stated}; the dependencies ask for {shown} ({', '.join(sorted(asking))})")
    if wanted[:2] > number(stated)[:2]:
        print(f"msrv: Cargo.toml's rust-version is {stated}, but a dependency needs {shown}", file=sys.stderr)
        return 1
    names = [stated, f"{stated}.0"]
    there = [name for name in names if not subprocess.run(["rustup", "run", name, "rustc", "--version"],
                                                          capture_output=True).returncode]
    if not there:
        print(f"Rust {stated} is not installed: only the dependencies were looked at. "
              f"`rustup toolchain install {stated} --profile minimal` gets it.", file=sys.stderr)
        return 1 if "--compile" in arguments else 0
    folder = os.path.join(os.environ.get("CARGO_TARGET_DIR") or "target", "msrv")
    command = ["rustup", "run", there[0], "cargo", "check", "--workspace", "--all-targets",
               "--all-features", "--locked"]
    return subprocess.run(command, env={**os.environ, "CARGO_TARGET_DIR": folder}).returncode


def number(version):
    return tuple(int(part) for part in (version or "0").split("."))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except FileNotFoundError as error:
        sys.exit(f"msrv: {error.filename} is not installed; it needs cargo and rustup")
