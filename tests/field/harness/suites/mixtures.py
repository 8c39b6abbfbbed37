"""Programs of which one part is seen and another is not: linked functions beside found ones, plugins that come late,
libraries that are closed again, providers, and other people's preloaded libraries."""

import dataclasses
import itertools
import re

import functions
from cases import Case
from objects import GNUTLS, OPENSSL
from suites.dlsym import versions
from suites.wrappers import COUNTED, SHOWS, TELLING, is_served

GOOD = (r"(?m)^good: 1 1 error 0",)
# What the sample takes of the single functions: the shadow, the load, the search, the enumeration and the list that is
# verified.
TELLING_FUNCTIONS = ("X509_STORE_add_cert", "X509_STORE_new", "X509_STORE_CTX_init", "X509_STORE_get0_objects",
                     "SSL_load_client_CA_file", "gnutls_x509_trust_list_verify_crt2", "gnutls_x509_trust_list_init")


def cases(world):
    for kind, builds in (("openssl", TELLING), ("gnutls", GNUTLS[:2])):
        for build in builds:
            yield from single_functions(world, world.builder.library(kind, build))
    for build in OPENSSL:
        yield from late_plugins(world, world.builder.library("openssl", build))
        if not build.startswith("1.1.1"):
            yield from providers(world, world.builder.library("openssl", build))
    yield from sequences(world)
    yield from exporting_program(world)
    yield from interposers(world)


def without(result, pattern):
    """The lines of a known difference are there, whatever they say."""
    return dataclasses.replace(result, stdout=re.sub(pattern, "(a list)", result.stdout, flags=re.MULTILINE))


def single_functions(world, library):
    """One function is found, the rest linked, and the other way round. `raw` is never seen by anybody: there it counts
    that nothing that was added is hidden, and nothing hides what was loaded."""
    make, top, name = world.builder, library.files[0], f"{library.kind} {library.build}"
    env = library_env(world, library)
    hooked = [function for function in functions.hooked(library.kind) if function in make.exports(library)]
    for function in hooked:
        telling = library.build == "system" and function in TELLING_FUNCTIONS
        for way, title in (("mixed", "only {} by dlsym"), ("except", "all but {} by dlsym")):
            yield Case(f"{name}: {title.format(function)}", lambda side, function=function, way=way: side.run(
                [make.host(library, "lazy", "DIRECT"), way, top, "dlsym", function], env),
                shows=SHOWS[library.kind], counts=COUNTED[library.kind] if is_served(library.build) else (),
                       served=None), telling
    for function in (("X509_STORE_add_cert", "X509_STORE_add_crl", "X509_STORE_CTX_init") if library.kind == "openssl"
                     else ()):
        yield Case(f"{name}: only {function} from the symbol table", lambda side, function=function: side.run(
            [make.host(library, "lazy", "DIRECT"), "mixed", top, "raw", function], env), shows=SHOWS[library.kind],
                   served=None), \
            library.build == "system"
    def everything(side):
        functions_of_kind = (function.name for function in functions.functions(library.kind))
        result = side.run([make.host(library, "lazy", "DIRECT"), "mixed", top, "raw", *functions_of_kind], env)
        # Such calls are not seen. What libcrypto loads for itself is, so that it lists what is in memory (Known
        # differences).
        return without(result, r"^ *(objects|certificates|copies): .*$")

    yield Case(f"{name}: everything from the symbol table", everything, shows=SHOWS[library.kind],
               served=None), library.build == "system"


def late_plugins(world, library):
    """A plugin that is opened when the host's store is loaded already, and acts in its constructor or later."""
    make, name = world.builder, f"openssl {library.build}"
    for act in ("add", "enumerate", "own"):
        for moment in ("constructor", "later", "first"):
            for ask in ("ask", "silent"):
                def run(side, act=act, moment=moment, ask=ask):
                    host, plugin = (make.linked("late.c", library, ["-rdynamic"]),
                                    make.linked("late_plugin.c", library, ["-shared", "-fPIC"]))
                    result = side.run([host, plugin, act, moment, ask], world.env())
                    # Before anybody calls dlsym its calls are not seen, and it sees only what is in memory (Known
                    # differences). What is asked comes after its constructor.
                    is_unseen = moment == "constructor" or moment == "later" and ask == "silent"
                    return without(result, r"^plugin: \d+ objects$") if is_unseen else result
                telling = library.build == "system" and (ask == "silent" or act == "enumerate")
                # A store that is made while there is a plugin that nobody has looked through is left to libcrypto.
                is_left = moment == "first" and (act, ask) != ("own", "ask")
                expected = {"served": None, "bypassed": "unknown-store"} if is_left else {"counts": COUNTED["openssl"]}
                yield Case(f"{name}: a late plugin, {act}, {moment}, {ask}", run, shows=GOOD, **expected), telling


def providers(world, library):
    """What can read the roots' keys comes after them, or goes."""
    for how in ("late", "late, then another store", "base first", "properties", "unloaded", "enumerated, then late"):
        yield Case(f"openssl {library.build}: a provider, {how}", lambda side, how=how: side.run(
            [world.builder.linked("provider.c", library), how], world.env()), shows=(r"(?m)^good: 1 ",),
                   served=None), library.build == "system"


def sequences(world):
    """Plugins that are closed, so that the next one, or its library, comes to lie where they were."""
    make = world.builder
    for kind, tags in (("openssl", ("1.1.1w", "4.0.3", "1.1.1w")),
                       ("openssl", ("system", "1.1.1w-bsymbolic", "system")),
                       ("openssl", ("3.5.5-bsymbolic", "4.0.3-bsymbolic", "1.1.1w-bsymbolic")),
                       ("gnutls", ("system", "3.8", "system"))):
        for renamed in (False, True):
            libraries = [make.library(kind, tag, renamed) for tag in tags]
            yield Case(f"{kind}: plugins opened and closed in turn, {', '.join(library.name for library in libraries)}",
                       lambda side, libraries=libraries: side.run([make.host(libraries[0], "lazy"), "sequence", *(
                           make.wrappers(library, "lazy") for library in libraries)], world.env()),
                       shows=SHOWS[kind], counts=COUNTED[kind]), kind == "gnutls" or "4.0.3" in tags


def exporting_program(world):
    """A program with an OpenSSL of its own inside, which it exports, as Node does: libssl and plugins bind to that."""
    library = world.builder.library("openssl", "system")
    for flags in (("lazy", "local"), ("now", "deepbind")):
        yield Case(f"openssl: a program that exports its own, wrappers in a plugin, {' '.join(flags)}", lambda side,
                   flags=flags: side.run(
            [world.builder.exporting(library), "plugin", world.builder.wrappers(library, "lazy"), *flags], world.env()),
            shows=SHOWS["openssl"], served=None), True
        yield Case(f"openssl: a program that exports its own, dlsym in a handle, {' '.join(flags)}", lambda side,
                   flags=flags: side.run(
            [world.builder.exporting(library), "handle", library.files[0], *flags], world.env()),
                   shows=SHOWS["openssl"], served=None), True


def interposers(world):
    """Somebody else's preloaded library, before ours or behind it: it gets what it got, and what it gets is right."""
    make = world.builder
    orders = {"before": 'LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"', "behind": 'LD_PRELOAD="$LD_PRELOAD:$0" exec "$@"'}
    for define in ("INTERPOSE_FUNCTIONS", "INTERPOSE_DLSYM"):
        for build in TELLING:
            library = make.library("openssl", build)
            ways = {"linked": ["static"], "dlsym": ["handle", library.files[0], "lazy", "local"],
                    "versioned": ["versioned", *versions(library)]}
            for (way, arguments), (order, shell) in itertools.product(ways.items(), orders.items()):
                def run(side, library=library, define=define, way=way, arguments=arguments, shell=shell):
                    interposer = make.compile(f"{define.lower()}.so", ["interposer.c"],
                                              [f"-D{define}", "-shared", "-fPIC"], ["-ldl"])
                    host = make.host(library, "lazy",
                                     "DIRECT") if way == "linked" else make.host(library, "lazy", own=library)
                    return side.run(["sh", "-c", shell, interposer, host, *arguments], library_env(world, library))
                yield Case(f"openssl {build}: a library that stands in front of {define.split('_')[1].lower()}, "
                           f"{order} ours, {way}", run,
                           shows=SHOWS["openssl"], served=None), build == "system" and way != "versioned"


def library_env(world, library):
    return world.env() if library.build == "system" else {**world.env(), "LD_LIBRARY_PATH": library.files[0].parent}
