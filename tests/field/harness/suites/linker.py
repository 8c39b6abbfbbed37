"""What the dynamic linker writes into slots, where it looks for a function, and what a program can do with both.
What a program prints has to be what it prints without the library; how much was served is asked of few."""

from linked import BOTH, GOOD, LAZY, LISTED, PRELOADED, Linked, Parts
from objects import STYLES, SYSTEM
from suites.wrappers import TELLING

NO_PIE = STYLES["no-pie"]


def cases(world):
    parts = Parts(world)
    for group in (
        overwritten,
        unusual_slots,
        addresses,
        passed_on,
        interposed,
        lazily_bound,
        two_providers,
        own_definitions,
        versions,
        exporting,
        per_thread,
    ):
        for case in group(parts):
            yield from case.both(world)


def overwritten(parts):
    """overwritten.c"""
    for function, hows in (
        ("X509_STORE_new", ("own", "null")),
        ("X509_STORE_add_cert", ("own", "null", "patched")),
        ("dlsym", ("own", "null", "patched")),
    ):
        for how in hows:
            for where in ("program", "plugin"):

                def argv(function=function, how=how, where=where):
                    options = [f'-DNAME="{function}"', *LAZY, *(("-DPATCHED",) if how == "patched" else ())]
                    kind = f"{function}-patched" if how == "patched" else function
                    plugin = [
                        parts.shared(f"overwritten-{kind}", "overwritten.c", "-DPLUGIN", *options, library=parts.system)
                    ]
                    return [
                        parts.program(
                            f"overwritten-{kind}", "overwritten.c", "-rdynamic", *options, library=parts.system
                        ),
                        how,
                        parts.nothing(),
                        *(plugin if where == "plugin" else ()),
                    ]

                shows = (LISTED, r"(?m)^NULL$" if how == "null" else "the program's own")
                yield Linked(
                    f"{function} in a {where}, {'slot patched' if how == 'patched' else 'variable set to ' + how}",
                    argv,
                    shows,
                    how != "null" and where == "plugin",
                )


def unusual_slots(parts):
    """text.S, packed.c, copied.c"""

    def text(function):
        return parts.shared(f"text-{function}", "text.S", f"-DFUNCTION={function}", "-Wl,-z,notext")

    def packed():
        return parts.shared("packed", "packed.c")

    for title, make, after in (
        ("in code, X509_STORE_new", lambda: text("X509_STORE_new"), ("made", "count", "verify")),
        ("in code, dlsym", lambda: text("dlsym"), ("call", "store", "count", "verify")),
        ("unaligned, over two read-only pages", packed, ("made", "count", "verify")),
    ):
        yield Linked(
            f"slots {title}, opened",
            lambda make=make, after=after: parts.real_steps(f"open p lazy {make()}", "find p act", *after),
            (LISTED, GOOD),
            True,
        )
        yield Linked(
            f"slots {title}, linked",
            lambda make=make, after=after, title=title: parts.real_steps(
                "find default act", *after, links=[make()], name=f"steps-{make().stem}"
            ),
            (LISTED, GOOD),
        )
    for build in TELLING:
        library = parts.make.library("openssl", build)
        for style in ("pie", "no-pie"):

            def argv(library=library, style=style):
                table = parts.shared(f"copied-{library.tag}", "copied.c", "-DLIBRARY", library=library)
                return [
                    parts.program(
                        f"copied-{library.tag}-{style}",
                        "copied.c",
                        *(NO_PIE if style == "no-pie" else ("-fPIE", "-pie")),
                        links=[table],
                        library=library,
                    )
                ]

            yield Linked(
                f"a table of functions that is copied, {build}, {style}", argv, (LISTED, GOOD), build == "system"
            )


def addresses(parts):
    """addresses.c"""
    for style in ("no-pie", "no-pie, now", "lazy"):

        def argv(style=style):
            name = f"addresses-{style.replace(', ', '-')}"
            library = parts.shared("addresses", "addresses.c", "-DLIBRARY", library=None)
            return [
                parts.program(name, "addresses.c", *STYLES[style], links=[library, *parts.system.files]),
                *(("libcrypto",) if "no-pie" in style else ()),
            ]

        yield Linked(
            f"addresses of functions, {style}",
            argv,
            ("(?m)^library's: same$", "(?m)^set and got: same$"),
            style == "no-pie",
        )


def passed_on(parts):
    """passing.c"""
    for build in TELLING:
        library = parts.make.library("openssl", build)
        for style, options in (("pie", ("-rdynamic",)), ("no-pie", NO_PIE)):
            yield Linked(
                f"a program that defines a function, {build}, {style}",
                lambda library=library, style=style, options=options: [
                    parts.program(
                        f"passing-{library.tag}-{style}", "passing.c", "-DPROGRAM_OWN", *options, library=library
                    )
                ],
                (LISTED, GOOD),
                build == "system",
            )
        for found in ((), ("-DFOUND",)):

            def argv(library=library, found=found):
                name = f"{library.tag}-{'found' if found else 'next'}"
                passing = parts.shared(f"passing-{name}", "passing.c", "-DLIBRARY", *found)
                return [parts.program(f"passing-by-{name}", "passing.c", links=[passing], library=library)]

            yield Linked(
                f"a library that asks for {'dlsym and then ' if found else ''}a function by RTLD_NEXT, {build}",
                argv,
                (LISTED, GOOD),
                build == "system",
            )
    for handle in ("default", "next"):
        yield Linked(
            f"two libcryptos, and dlsym of {handle}",
            lambda handle=handle: parts.real_steps(
                f"open o now {parts.make.library('openssl', '1.1.1w').files[1]}",
                "store",
                f"find {handle} X509_STORE_get0_objects",
                "list",
                "verify",
            ),
            (r"(?m)^listed: 14 objects$", GOOD),
            handle == "default",
        )


def interposed(parts):
    """interposing.c"""
    orders = {"before": 'LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"', "behind": 'LD_PRELOAD="$LD_PRELOAD:$0" exec "$@"'}
    kinds = {
        "plain": (),
        "sysv": ("-Wl,--hash-style=sysv",),
        "ifunc": ("-DIFUNC",),
        "anchor": ("-DANCHOR",),
        "anchor, sysv": ("-DANCHOR", "-Wl,--hash-style=sysv"),
        "hidden": ("-DHIDDEN",),
    }
    for kind, options in kinds.items():
        for order, shell in orders.items():

            def argv(kind=kind, options=options, shell=shell):
                versions = [
                    parts.make.symbol_versions("OPENSSL_3.0.0 { global: X509_STORE_load_locations; local: *; };\n")
                ]
                interposing = parts.shared(
                    f"interposing-{kind.replace(', ', '-')}",
                    "interposing.c",
                    *options,
                    *(versions if kind == "hidden" else ()),
                )
                return [
                    "sh",
                    "-c",
                    shell,
                    interposing,
                    *parts.real_steps("store", "count", "verify", "ask", "store", "count", "leave"),
                ]

            yield Linked(
                f"lazily bound, an interposer {order} ours, {kind}",
                argv,
                (r"(?m)^interposed: [1-9]", LISTED, GOOD),
                order == "behind",
                ways=BOTH if order == "before" else (PRELOADED,),
            )


def lazily_bound(parts):
    """A plugin that is not linked against what it calls: the linker searches the global scope at the first call."""
    calls = ("find p act", "call", "call")
    yield Linked(
        "lazily bound, the library global",
        lambda: parts.steps(f"open l lazy,global {parts.toy('one')}", f"open p lazy {parts.caller()}", *calls),
        ("made by one",),
    )
    yield Linked(
        "lazily bound, the library local",
        lambda: parts.steps(f"open l lazy {parts.toy('one')}", f"open p lazy {parts.caller()}", *calls),
        ("undefined symbol: X509_STORE_new",),
        True,
        status=127,
    )
    yield Linked(
        "lazily bound, another libcrypto local",
        lambda: parts.steps(
            f"open l lazy {parts.toy('one')}",
            f"open p lazy {parts.caller()}",
            "find p act",
            f"open m lazy,global {parts.toy('two')}",
            "call",
        ),
        ("made by two",),
        True,
    )
    yield Linked(
        "lazily bound, the real library comes later",
        lambda: parts.steps(
            f"open p lazy {parts.plugin('store-plugin-unlinked')}",
            "find p act",
            f"open l lazy,global {parts.system.files[1]}",
            "call",
            "ask",
            "call",
        ),
        (LISTED, GOOD),
        True,
    )
    yield Linked(
        "lazily bound, the real library local and another global",
        lambda: parts.steps(
            f"open l lazy {parts.make.library('openssl', '1.1.1w').files[1]}",
            f"open p lazy {parts.plugin('store-plugin-unlinked')}",
            "find p act",
            f"open m lazy,global {parts.system.files[1]}",
            "call",
            "ask",
            "call",
        ),
        (LISTED, GOOD),
    )


def two_providers(parts):
    """Which of two libraries the linker takes, where one has no GNU hash table (DT_HASH only)."""
    for style, options in (("gnu", ()), ("sysv", ("-Wl,--hash-style=sysv",))):
        yield Linked(
            f"lazily bound, the program's libcrypto has a {style} hash table",
            lambda style=style, options=options: parts.steps(
                f"open l now {parts.toy('two')}",
                f"open p lazy {parts.caller()}",
                "find p act",
                "call",
                name=f"steps-{style}",
                links=[parts.toy(f"first-{style}", *options)],
            ),
            (f"made by first-{style}",),
            style == "sysv",
        )


def own_definitions(parts):
    """A plugin that defines a function and calls it through its slot, which leads to the first in scope."""
    for kind in ("OWN", "OWN_IFUNC", "OWN_PROTECTED"):
        for style in ("gnu", "sysv"):
            for scope, is_own in (("global", kind == "OWN_PROTECTED"), ("local", True)):

                def argv(kind=kind, style=style, scope=scope):
                    toy = parts.toy("one")
                    plugin = parts.caller(
                        f"-D{kind}", f"-Wl,--hash-style={style}", name=f"caller-{kind.lower()}-{style}", links=[toy]
                    )
                    return parts.steps(
                        f"open l lazy,{scope} {toy}", f"open p lazy {plugin}", "find p act", "call", "ask", "call"
                    )

                yield Linked(
                    f"a plugin with {kind.lower().replace('_', ', ')}, {style} hash table, library {scope}",
                    argv,
                    ("caller's own: add" if is_own else "one: add", "made by one"),
                    kind == "OWN" and scope == "local",
                )


OLD_VERSIONS = "OPENSSL_1.1.0 { global: *; };\n"
BOTH_VERSIONS = """OPENSSL_1.1.0 {
    global: X509_STORE_add_cert; X509_STORE_new; ERR_clear_error; X509_STORE_get0_objects;
};
OPENSSL_3.0.0 { global: X509_STORE_add_cert; local: *; } OPENSSL_1.1.0;
"""


def versions(parts):
    """A function in two versions: a program linked against an older library has the older (elf/dl-lookup.c,
    do_lookup_x), as has one that was linked against a library without versions."""

    def toy():
        return parts.toy(
            "versions", "-DOLD", "-Wl,-soname,linker-toy-versions.so", parts.make.symbol_versions(BOTH_VERSIONS)
        )

    for title, options in (
        ("older version", lambda: [parts.make.symbol_versions(OLD_VERSIONS)]),
        ("no version", lambda: []),
    ):

        def argv(title=title, options=options):
            toy()
            name = title.replace(" ", "-")
            older = parts.toy(name, "-Wl,-soname,linker-toy-versions.so", *options())
            return [parts.program(f"caller-{name}", "caller.c", "-DPROGRAM", *LAZY, links=[older])]

        yield Linked(f"lazily bound, {title} needed", argv, ("made by versions", "versions: add, old"), True)
    for handle in ("default", "next"):
        yield Linked(
            f"dlvsym of {handle}, two versions",
            lambda handle=handle: parts.steps(
                *(f"version {handle} {name} NONE_9.9" for name in ("X509_STORE_new", "dlsym", "dlvsym")),
                f"version {handle} X509_STORE_add_cert OPENSSL_1.1.0",
                "call",
                f"version {handle} X509_STORE_add_cert OPENSSL_3.0.0",
                "call",
                name="steps-versions",
                links=[toy()],
            ),
            (r"X509_STORE_new: not found\ndlsym: not found", "versions: add, old\n.*\nversions: add\n"),
            True,
        )
        yield Linked(
            f"dlvsym of {handle}, the real library",
            lambda handle=handle: parts.real_steps(
                f"version {handle} X509_STORE_get0_objects OPENSSL_9.9.9",
                "error",
                "store",
                f"version {handle} X509_STORE_get0_objects OPENSSL_3.0.0",
                "list",
                "verify",
            ),
            ("X509_STORE_get0_objects: not found", "listed: 14 objects", GOOD),
        )


def exporting(parts):
    """An executable that exports OpenSSL without versions, and a lazily bound plugin that was linked against one with
    versions: the executable's fits, and comes first."""

    def toy():
        return parts.toy("versioned", parts.make.symbol_versions("OPENSSL_3.0.0 { global: *; };\n"))

    yield Linked(
        "a program that exports toys, a plugin linked against another",
        lambda: [
            parts.program("caller-exporting", "caller.c", "-DPROGRAM", "-DPROGRAM_OWN", "-rdynamic", *LAZY),
            parts.caller(name="caller-linked", links=[toy()]),
        ],
        ("made by caller",),
        True,
    )

    # Of another release: a mixture of both libraries' objects ends badly.
    other = parts.make.library("openssl", "1.1.1w")

    def real():
        whole = ["-Wl,--whole-archive", str(SYSTEM / "libcrypto.a"), "-Wl,--no-whole-archive", "-ldl", "-pthread"]
        header = f'-DFUNCTIONS="{parts.make.header(parts.system)}"'
        program = parts.make.compile("linker-steps-exporting", ["steps.c"], ["-rdynamic", *LAZY, header], whole)
        plugin = parts.plugin("store-plugin-other", other)
        return [program, f"open p lazy {plugin}", "find p act", "call", "store", "count", "enumerate", "verify"]

    def module():
        header = f'-DFUNCTIONS="{parts.make.header(other)}"'
        options = ["-shared", "-fPIC", *LAZY, header]
        return parts.make.compile("linker-module.node", ["store_plugin.c"], options, other.link())

    yield Linked(
        "a program that exports OpenSSL, a plugin linked against another",
        real,
        (LISTED, "(?m)^plugin: good: 1 1 error 0"),
        True,
    )
    yield Linked(
        "node, and a module linked against OpenSSL",
        lambda: ["node", "-e", "require(process.argv[1])", module()],
        (LISTED, "(?m)^plugin: good: 1 1 error 0"),
        True,
        ways=(PRELOADED,),
    )


def per_thread(parts):
    """Thread-local zeroes take no addresses in their object: what comes behind them in the file is not thread-local.
    What begins as something else takes them."""
    for style in ("lazy", "now", "no-pie"):
        for title, kind in (("zeroes", ""), ("ones", "={1}")):
            yield Linked(
                f"a program with 4096 thread-local {title}, {style}",
                lambda style=style, title=title, kind=kind: [
                    parts.program(
                        f"steps-{title}-{style}",
                        "steps.c",
                        *STYLES[style],
                        f"-DPER_THREAD=[4096]{kind}",
                        library=parts.system,
                    ),
                    *("store", "count", "verify"),
                ],
                (LISTED, GOOD),
                style == "lazy",
                counts=("openssl/stores", "openssl/certificates-registered"),
            )
