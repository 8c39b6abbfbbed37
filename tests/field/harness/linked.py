"""A program whose output is compared, with the library preloaded, and with the library loaded at the start of main; and
what such programs are made of."""

import dataclasses
import os
import pathlib

from cases import Case
from objects import STYLES
from sides import Side

PRELOADED, ATTACHED = "preloaded", "loaded by the program"
BOTH = (PRELOADED, ATTACHED)
# What a store shows that was loaded from the bundle, stock.
LISTED, GOOD = r"(?m): 14 objects$", r"(?m)good: 1 1 error 0"
LAZY = STYLES["lazy"]


@dataclasses.dataclass
class Linked:
    """One program: `argv` makes its parts and gives its command line."""

    name: str
    argv: object
    shows: tuple
    is_telling: bool = False
    status: int = 0
    ways: tuple = BOTH
    env: dict = dataclasses.field(default_factory=dict)
    # What must have been counted where the library was preloaded.
    counts: tuple = ()

    def both(self, world):
        for way in self.ways:

            def run(side, way=way):
                env = {**world.env(), **self.env}
                if way == ATTACHED and side.name != "stock":
                    side, env = Side(), {**env, "FIELD_ATTACH": preload_library(side)}
                return side.run(self.argv(), env)

            yield Case(
                f"linker: {self.name}, {way}", run, self.status, self.shows, served=None,
                counts=self.counts if way == PRELOADED else ()
            ), self.is_telling and way == PRELOADED


def preload_library(side):
    return os.environ.get("WINDLASS_PRELOAD_LIBRARY") or pathlib.Path(side.windlass).resolve().with_name(
        "libwindlass_preload.so"
    )


class Parts:
    """The programs and shared objects; each is built when a case first needs it."""

    def __init__(self, world):
        self.world, self.make = world, world.builder
        self.system = self.make.library("openssl", "system")

    def program(self, name, source, *options, links=(), library=None):
        """Linked against a library of OpenSSL, if there is one, for its own sake."""
        more = [f'-DFUNCTIONS="{self.make.header(library)}"'] if library else []
        return self.make.compile(
            f"linker-{name}", [source], [*more, *options], [*search(links), *(library.link() if library else ())]
        )

    def shared(self, name, source, *options, links=(), library=None):
        return self.program(f"{name}.so", source, "-shared", "-fPIC", *options, links=links, library=library)

    def nothing(self, number=1):
        """A shared object with nothing in it."""
        return self.make.compile(
            f"linker-nothing{number}.so", ["/dev/null"], ["-shared", f"-DNUMBER={number}", "-x", "c"], []
        )

    def toy(self, name, *options):
        return self.shared(f"toy-{name}", "toy.c", f'-DTAG="{name}"', *options)

    def caller(self, *options, links=(), name="caller"):
        return self.shared(name, "caller.c", *LAZY, *options, links=links)

    def plugin(self, name="store-plugin", library=None):
        """Of the real library; where that is not named it is not linked against any."""
        header = () if library else (f'-DFUNCTIONS="{self.make.header(self.system)}"',)
        return self.shared(name, "store_plugin.c", *LAZY, *header, library=library)

    def steps(self, *steps, library=None, links=(), name="steps"):
        return [self.program(name, "steps.c", "-rdynamic", *LAZY, links=links, library=library), *steps]

    def real_steps(self, *steps, **named):
        return self.steps(*steps, **{"name": "steps-real", "library": self.system, **named})


def search(links):
    """Options that link against these files, and find them again when the program starts."""
    return [
        word
        for link in links
        for word in ("-Wl,--no-as-needed", str(link), f"-Wl,-rpath,{link.parent}", "-Wl,--as-needed")
    ]
