"""Objects that come and go, and who asks the dynamic linker meanwhile: other threads, children, resolvers, auditors.
What a program prints has to be what it prints without the library."""

from linked import GOOD, LISTED, PRELOADED, Linked, Parts


def cases(world):
    parts = Parts(world)
    for group in (closed, asked_in_between, threads, children, audited):
        for case in group(parts):
            yield from case.both(world)


def closed(parts):
    """A library stays as long as an object of which a slot was bound to it (elf/dl-lookup.c, add_dependency)."""
    for title, options in (("libcrypto", ()), ("libcrypto and libssl in one", ("-DWITH_SSL",))):
        yield Linked(
            f"{title}, closed while a lazily bound plugin uses it",
            lambda title=title, options=options: parts.steps(
                f"open l lazy,global {parts.toy('closed', *options) if not options else parts.toy('both', *options)}",
                f"open p lazy {parts.caller()}",
                "find p act",
                "call",
                "close l",
                f"loaded {parts.toy('both', *options) if options else parts.toy('closed')}",
                "call",
            ),
            ("closed: 0\nloaded: 1\n",),
            bool(options),
        )

    # What is known of a libcrypto must not be asked of one that comes to lie in its place, or would have without us
    # (ARCHITECTURE.md, Copies stay).
    def successor():
        old, new = parts.toy("before", "-DWITH_SSL"), parts.toy("behind", "-DWITH_SSL", "-DMOVED")
        uses = [
            word
            for name in ("X509_STORE_new", "X509_STORE_add_cert", "X509_STORE_get0_objects")
            for word in (f"find l {name}", "call")
        ]
        return parts.steps(
            *(word for library in (old, new, old) for word in (f"open l lazy {library}", *uses, "close l"))
        )

    yield Linked(
        "closed, and another that is laid out alike opened",
        successor,
        ("before: objects\nclosed: 0\n(.*\n)*behind: moved\n",),
        True,
    )
    for title, options, arguments in (
        ("", (), ()),
        (", a program with environ in it", ("-DUSES_ENVIRON", "-no-pie"), ()),
        (", an empty environment", (), ("cleared",)),
    ):
        yield Linked(
            f"GnuTLS closed and opened elsewhere{title}",
            lambda options=options, arguments=arguments: [
                parts.program("reopened" + "".join(options), "reopened.c", *options),
                "libgnutls.so.30",
                *arguments,
            ],
            (r"loaded: \d+\nend\n$",),
            True,
        )
    # The linker's list has become shorter: who remembers how much of it was looked through must begin again.
    two = ("ask", "close a", "close b")
    for when in ("before", "behind"):
        yield Linked(
            f"closed, and then a plugin that enumerates, store {when}",
            lambda when=when: parts.real_steps(
                *(("store",) if when == "before" else ()),
                f"open a now {parts.nothing(1)}",
                f"open b now {parts.nothing(2)}",
                *two,
                f"open p now {parts.plugin('store-plugin-linked', parts.system)}",
                *(("store",) if when == "behind" else ("ask",)),
                "enumerate",
                "verify",
            ),
            (r"(?m)^plugin: 14 objects$", GOOD),
            when == "behind",
        )


def asked_in_between(parts):
    """dlsym where little is allowed: on the smallest stack, in a resolver while an object is being relocated, and
    beside an error that is still to be read."""
    for handle, name in (("p", "act"), ("default", "X509_STORE_new"), ("next", "X509_STORE_new")):
        yield Linked(
            f"dlsym on the smallest stack, {handle}",
            lambda handle=handle, name=name: parts.real_steps(
                "store",
                f"open p now {parts.plugin('store-plugin-linked', parts.system)}",
                f"small {handle} {name}",
                "enumerate",
                "verify",
            ),
            (r"(?m)^plugin: 14 objects$", GOOD),
            handle == "p",
        )

    def resolver(function):
        return parts.shared("resolver-" + function, "resolver.c", f"-DFUNCTION={function}", "-Wl,-z,now")

    for function in ("X509_STORE_new", "dlsym"):
        yield Linked(
            f"dlsym in a resolver, in an object that imports {function}",
            lambda function=function: parts.real_steps(
                f"open p now {resolver(function)}", "find p act", "call", "store", "count", "verify"
            ),
            ("(?m)^chosen: 5$", LISTED, GOOD),
            True,
        )
    for first in ("store", "ask"):
        yield Linked(
            f"an error that is read after others have called, {first}",
            lambda first=first: parts.real_steps(
                "ready",
                *(("ask",) if first == "ask" else ()),
                "fail /nonexistent/library.so",
                "store",
                "error",
                "verify",
            ),
            ("error: /nonexistent/library.so: cannot open",),
            first == "store",
        )


def threads(parts):
    """closing.c, waiting.c"""
    yield Linked(
        "one thread closes a libcrypto, others ask",
        lambda: [parts.program("closing", "closing.c", "-pthread"), parts.toy("stays"), parts.toy("comes", "-DLARGE")],
        ("(?m)^end$",),
        True,
    )
    yield Linked(
        "a constructor waits for another thread's first call",
        lambda: [
            parts.program("waiting", "waiting.c", "-rdynamic", "-pthread", library=parts.system),
            parts.shared("waiting", "waiting.c", "-DPLUGIN"),
        ],
        (LISTED, GOOD, "(?m)^end$"),
        True,
    )


def children(parts):
    """A child of a process with several threads has one, and maybe locks of those that are gone."""

    def linked():
        return parts.plugin("store-plugin-linked", parts.system)

    for title, before in (
        ("threads", ("thread", "fork")),
        ("one thread", ("fork",)),
        ("a thread with the linker's lock", ("lock", "fork")),
    ):
        # Stock, too, a dlopen would wait for that lock.
        if "lock" not in before:
            yield Linked(
                f"a child of {title} opens a plugin that enumerates",
                lambda before=before: parts.real_steps(
                    *before, f"open p now {linked()}", "ask", "store", "enumerate", "verify"
                ),
                (r"(?m)^plugin: 14 objects$", GOOD, "status of the child: 0"),
                title == "threads",
            )
        yield Linked(
            f"a child of {title} asks for the next",
            lambda before=before: parts.real_steps(
                *before,
                "find next malloc",
                "find default malloc",
                "store",
                "find next X509_STORE_get0_objects",
                "list",
                "verify",
            ),
            ("listed: 14 objects", GOOD, "status of the child: 0"),
            True,
        )
    yield Linked(
        "a child of threads enumerates the parent's store",
        lambda: parts.real_steps("store", "thread", "fork", f"open p now {linked()}", "ask", "enumerate", "verify"),
        (r"(?m)^plugin: 14 objects$", GOOD),
    )
    yield Linked(
        "a child of threads closes a libcrypto and opens another",
        lambda: parts.steps(
            "thread",
            f"open a now {parts.toy('comes', '-DLARGE')}",
            "find a X509_STORE_new",
            "fork",
            "close a",
            f"open b now {parts.toy('stays')}",
            "find b X509_STORE_new",
            "call",
        ),
        ("stays: new", "status of the child: 0"),
        True,
    )
    yield Linked(
        "a child of threads imports python's ssl",
        lambda: ["/usr/bin/python3", "-B", parts.world.programs / "fork_import.py", parts.world.pki.few],
        ("'x509': 14", "status of the child: 0"),
        True,
        ways=(PRELOADED,),
    )


def audited(parts):
    """auditor.c"""
    yield Linked(
        "an auditor that redirects",
        lambda: [
            "sh",
            "-c",
            'LD_AUDIT="$0" exec "$@"',
            parts.shared("auditor", "auditor.c"),
            *parts.real_steps("store", "ask", "store", "count", "verify"),
        ],
        ("audited\nload: 1", LISTED, GOOD),
        True,
    )
