"""Each hooked function behind a tail call, from programs that have no libcrypto of their own, the same, or another."""

import functions
from cases import Case
from objects import GNUTLS, OPENSSL, STYLES
from sides import Result

# Another library for a program whose plugin brings this one. Two of one soname would be one.
OTHERS = {"system": ("1.1.1w", "4.0.3"), "1.1.1w": ("system", "4.0.3-bsymbolic"), "3.5.5": ("1.1.1w", "4.0.3"),
          "4.0.3": ("system", "1.1.1w"), "1.1.1w-bsymbolic": ("system", "3.5.5"),
          "3.5.5-bsymbolic": ("1.1.1w-bsymbolic", "4.0.3"),
          "4.0.3-bsymbolic": ("system", "1.1.1w-bsymbolic")}
TELLING = ("system", "1.1.1w-bsymbolic", "4.0.3")
SHARED_STYLES = tuple(style for style in STYLES if "no-pie" not in style)
FLAGS = (("lazy", "local"), ("now", "local"), ("lazy", "global"), ("now", "global"), ("lazy", "deepbind"),
         ("now", "deepbind"), ("now", "newlm"))
COUNTED = {"openssl": ("openssl/stores", "openssl/certificates-registered"), "gnutls": ("gnutls/lists",)}
SHOWS = {"openssl": (r"(?m)^  good: 1 1 error 0 depth 0",), "gnutls": (r"(?m)^  good: 0 0, 0 0",)}


def cases(world):
    for kind in ("openssl", "gnutls"):
        yield Case(f"{kind}: every hooked function is in the list of functions",
                   lambda side, kind=kind: listed(kind), served=None, shows=("missing: none",)), True
    for build in OPENSSL:
        yield from linked(world, "openssl", build, build in TELLING)
        yield from opened(world, "openssl", build, build in TELLING)
    for build in GNUTLS:
        yield from linked(world, "gnutls", build, build == "system")
        yield from opened(world, "gnutls", build, build == "system")
    yield from renamed(world)


def listed(kind):
    known = {function.name for function in functions.functions(kind)}
    missing = [name for name in functions.hooked(kind) if name not in known]
    return Result(0, f"missing: {', '.join(missing) or 'none'}\n", "", {})


def of_host(world, name, library, host, arguments, served=True):
    """A case that is one run of a host; it is built when its turn comes."""
    counts = COUNTED[library.kind] if served else ()
    return Case(f"{library.kind} {name}", lambda side: side.run([host(), *arguments()], world.env()),
                shows=SHOWS[library.kind], counts=counts, served="served/" if served else None)


def linked(world, kind, build, telling):
    """The program calls: its static data, its own wrappers, or those of a library that it is linked against."""
    make, library = world.builder, world.builder.library(kind, build)
    served = is_served(build)
    for style in STYLES:
        yield of_host(world, f"{build}: addresses in static data, {style}", library,
                      lambda style=style: make.host(library, style, "DIRECT"), lambda: ["static"], served), \
            telling and (style == "no-pie" or build == "system")
        yield of_host(world, f"{build}: wrappers in the program, {style}", library,
                      lambda style=style: make.host(library, style, "WRAPPED"), lambda: ["static"], served), \
            telling and (style == "no-plt" or build == "system" and style == "ibt")
    for style in SHARED_STYLES:
        for own in owners(world, library):
            yield of_host(world, f"{build}: wrappers in a library, {style}, {of_owner(library, own)}", library,
                          lambda style=style, own=own: make.host(library, "lazy", "WRAPPED", own,
                                                                 make.wrappers(library, style)),
                          lambda: ["static"], served), telling and style == "now" and own != library


def opened(world, kind, build, telling):
    """The wrappers are in a plugin."""
    make, library = world.builder, world.builder.library(kind, build)
    for own in owners(world, library):
        for flags in flags_for(own):
            # A plugin's functions are reached when the program looks its symbols up. A namespace of its own has no
            # preloaded library, and the objects in it can't be seen from another.
            served = is_served(build) and "newlm" not in flags
            yield of_host(world, f"{build}: wrappers in a plugin, {' '.join(flags)}, {of_owner(library, own)}", library,
                          lambda own=own: make.host(library, "lazy", own=own),
                          lambda flags=flags: ["plugin", make.wrappers(library, "lazy" if "lazy" in flags else "now"),
                                               *flags],
                          served), telling and flags in (FLAGS[0], FLAGS[6]) and own != library


def renamed(world):
    """A plugin with its own copy of a library under other names, as a Python wheel has it, in programs that have
    another, or the same version."""
    make = world.builder
    for build, own_build in (("1.1.1w", "system"), ("1.1.1w-bsymbolic", "system"), ("3.5.5", "system"),
                             ("4.0.3", "1.1.1w"), ("system", "system"), ("3.5.5", "3.5.5"),
                             ("1.1.1w-bsymbolic", "1.1.1w-bsymbolic"), ("system", None)):
        library = make.library("openssl", build, renamed=True)
        own = make.library("openssl", own_build) if own_build else None
        for style in ("lazy", "no-plt"):
            yield of_host(world, f"{library.name}: wrappers in a library, {style}, {of_owner(library, own)}", library,
                          lambda library=library, own=own, style=style: make.host(library, "lazy", "WRAPPED", own,
                                                                                  make.wrappers(library, style)),
                          lambda: ["static"]), style == "lazy" and own is not None
        for flags in flags_for(own):
            yield of_host(world, f"{library.name}: wrappers in a plugin, {' '.join(flags)}, {of_owner(library, own)}",
                          library, lambda library=library, own=own: make.host(library, "lazy", own=own),
                          lambda library=library, flags=flags: ["plugin",
                                                                make.wrappers(library, "lazy" if "lazy" in flags
                                                                              else "now"), *flags],
                          "newlm" not in flags), flags == FLAGS[5] and build == own_build


def owners(world, library):
    """What the program itself is linked against."""
    yield None
    yield library
    if library.kind == "openssl":
        for other in OTHERS[library.build]:
            yield world.builder.library(library.kind, other)


def flags_for(own):
    """Two libcryptos in two namespaces would share a thread's slots of pthread_setspecific: such a program crashes,
    stock."""
    return FLAGS if own is None else FLAGS[:-1]


def of_owner(library, own):
    if own is None:
        return "program without any"
    return "program with the same" if own == library else f"program with {own.name}"


def is_served(build):
    """GnuTLS that is linked with -Bsymbolic-functions hides its calls of itself."""
    return build != "3.8-bsymbolic-functions"
