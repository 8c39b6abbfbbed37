"""Puts the built library into the wheel, and its platform into the wheel's name. Run by hatchling.

WINDLASS_LIBRARY names libwindlass_preload.so; WINDLASS_PLATFORM is the platform tag it was built for.
"""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Library(BuildHookInterface):
    def initialize(self, version, build_data):
        library = os.environ.get("WINDLASS_LIBRARY")
        if not library or not os.path.isfile(library):
            raise SystemExit(f"WINDLASS_LIBRARY names no file: {library!r}. Build the wheel with `make wheel`")
        build_data["force_include"][library] = "windlass/libwindlass_preload.so"
        build_data["pure_python"] = False
        # One library for all versions and implementations of Python: it uses no function of Python.
        build_data["tag"] = f"py3-none-{os.environ['WINDLASS_PLATFORM']}"
