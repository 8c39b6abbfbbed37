#!/usr/bin/env python3
"""layer.py WINDLASS WHEELS ZIP [--root DIR] [SOURCE ...]: the packages and compiled stores as a layer of AWS Lambda.

Lambda unpacks a layer in /opt: the packages come to /opt/python, compiled stores to /opt/windlass. They are those of
the image in DIR, or of this machine; SOURCE names what to compile, else its default sources.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

# The same input gives the same file; zip knows no earlier time than 1980.
TIME = (2020, 1, 1, 0, 0, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("windlass", type=pathlib.Path, help="the command `windlass`")
    parser.add_argument("wheels", type=pathlib.Path, help="the folder that python/build.py filled")
    parser.add_argument("zip", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path, help="the unpacked image of the function")
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help="a bundle or directory, as the function names it")
    given = parser.parse_intermixed_args()
    if given.root and not given.root.is_dir():
        sys.exit(f"layer.py: {given.root} is no directory. ROOT is the function's image, unpacked")
    given.zip.parent.mkdir(parents=True, exist_ok=True)
    # With --root, the command writes within that directory only.
    stores = pathlib.Path(tempfile.mkdtemp(prefix=".windlass-layer-", dir=given.root))
    try:
        where = ["--root", given.root, "--store", f"/{stores.name}"] if given.root else ["--store", stores]
        done = subprocess.run([given.windlass, "compile", *where, *given.sources])
        if done.returncode:
            sys.exit(done.returncode)  # it has said why
        compiled = sorted(stores.glob("*.store"))
        if not compiled:
            sys.exit("layer.py: no source could be compiled")
        with zipfile.ZipFile(given.zip, "w", zipfile.ZIP_DEFLATED) as layer:
            folders = set()
            for package in ("windlass", "windlass_auto"):
                wheel, = given.wheels.glob(f"{package}-*.whl")
                with zipfile.ZipFile(wheel) as files:
                    for name in sorted(files.namelist()):
                        add(layer, folders, f"python/{name}", files.read(name), 0o644)
            for store in compiled:
                add(layer, folders, f"windlass/{store.name}", store.read_bytes(), store.stat().st_mode & 0o777)
    finally:
        shutil.rmtree(stores)
    print(given.zip)


def add(layer, folders, name, content, mode):
    """A file after its folders: a compiled store counts only if neither group nor others may write to its folder."""
    for folder in reversed(pathlib.PurePosixPath(name).parents[:-1]):
        if folder not in folders:
            folders.add(folder)
            layer.writestr(entry(f"{folder}/", 0o40755), b"")
    layer.writestr(entry(name, 0o100000 | mode), content)


def entry(name, mode):
    made = zipfile.ZipInfo(name, TIME)
    made.create_system = 3  # Unix, whose modes these are
    made.compress_type = zipfile.ZIP_STORED if name.endswith("/") else zipfile.ZIP_DEFLATED
    made.external_attr = mode << 16
    return made


if __name__ == "__main__":
    main()
