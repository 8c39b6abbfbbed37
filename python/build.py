#!/usr/bin/env python3
"""build.py LIBRARY FOLDER: the wheels of windlass and windlass-auto, in FOLDER.

Builds with what requirements.txt pins, in an environment of its own, and checks with auditwheel that the library runs
on the oldest system that the wheel's name promises.
"""

import os
import pathlib
import re
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
PLATFORM = f"manylinux_2_17_{os.uname().machine}"


def main():
    library, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    check_versions()
    tools = folder.parent / "python" / "build-tools"
    python = tools / "bin" / "python"
    wanted = (HERE / "requirements.txt").read_bytes()
    installed = tools / "requirements.txt"
    if not installed.is_file() or installed.read_bytes() != wanted:
        venv.create(tools, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
        installed.write_bytes(wanted)
    for old in folder.glob("windlass*.whl"):
        old.unlink()
    environment = {**os.environ, "WINDLASS_LIBRARY": str(library), "WINDLASS_PLATFORM": PLATFORM,
                   # The same input gives the same file.
                   "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", "1577836800")}
    for package in ("windlass", "windlass-auto"):
        subprocess.run([python, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-cache-dir",
                        "-w", folder, HERE / package], check=True, env=environment)
    wheel, = folder.glob(f"windlass-*-{PLATFORM}.whl")
    shown = subprocess.run([python, "-m", "auditwheel", "show", wheel], check=True, stdout=subprocess.PIPE, text=True)
    # auditwheel breaks its lines anywhere.
    text = " ".join(shown.stdout.split())
    promised = re.search(r'is consistent with the following platform tag: "([^"]+)"', text)
    if promised is None or promised[1] != PLATFORM:
        sys.exit(f"{wheel.name}: the library does not run on {PLATFORM}:\n{shown.stdout}")
    for built in sorted(folder.glob("windlass*.whl")):
        print(built)


def check_versions():
    """All versions are those of the workspace."""
    version = re.search(r'^version = "([^"]+)"', (HERE.parent / "Cargo.toml").read_text(), re.M)[1]
    for file, pattern in (("windlass/pyproject.toml", '^version = "{}"$'),
                          ("windlass/windlass/__init__.py", '^__version__ = "{}"$'),
                          ("windlass-auto/pyproject.toml", '^version = "{}"$'),
                          ("windlass-auto/pyproject.toml", '"windlass=={}"')):
        if not re.search(pattern.format(re.escape(version)), (HERE / file).read_text(), re.M):
            sys.exit(f"python/{file}: the version is not {version}, that of Cargo.toml")


if __name__ == "__main__":
    main()
