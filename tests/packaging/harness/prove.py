"""That the cases can fail: each broken package must be noticed by the case that is there for it."""

import cases


def replaced(name, old, new):
    """A change of one file of the package."""
    def change(root):
        path = root / name
        text = path.read_text()
        assert old in text, f"{name} has no {old!r}"
        path.write_text(text.replace(old, new))
    return change


HOOK = cases.HOOK.lstrip("/")

BROKEN = [
    ("the hook compiles nothing", replaced(HOOK, "/usr/bin/windlass compile >/dev/null", "true"), cases.hook),
    ("the hook fails as windlass does", replaced(HOOK, "exit 0\n", "exit 1\n"), cases.hook_never_fails),
    ("postinst compiles nothing", replaced("DEBIAN/postinst", "/usr/bin/windlass compile >/dev/null", "true"), cases.compiled_at_once),
    ("postinst fails as windlass does", replaced("DEBIAN/postinst", "/usr/bin/windlass compile >/dev/null ||", "false\n    true ||"),
     cases.install_and_purge),
    ("prerm leaves the name in the list", replaced("DEBIAN/prerm", '"$1" = remove', '"$1" = never'), cases.machine_and_remove),
    ("prerm does not look at the list", replaced("DEBIAN/prerm", "grep -q -F", "false && grep"), cases.named_by_hand),
    ("postrm leaves the compiled stores", replaced("DEBIAN/postrm", "rm -rf /var/cache/windlass", ":"), cases.install_and_purge),
    ("postrm leaves the unit enabled", replaced("DEBIAN/postrm", "deb-systemd-helper purge", "true"), cases.install_and_purge),
]


def prove(package, roots):
    from main import run
    unnoticed = 0
    for name, change, case in BROKEN:
        said = []
        broken = package.changed(change)
        noticed = run(case, broken, roots, say=lambda text, flush: said.append(text))
        broken.path.unlink()
        unnoticed += not noticed
        print(f"{'ok     noticed' if noticed else 'FAILED not noticed'}: {name}", flush=True)
        if noticed:
            print("       " + said[0].splitlines()[1].strip()[:140])
    print(f"packaging, broken on purpose: {len(BROKEN) - unnoticed} passed, {unnoticed} failed")
    return 1 if unnoticed else 0
