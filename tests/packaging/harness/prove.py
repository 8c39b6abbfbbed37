"""That the cases can fail: each broken package must be noticed by the case that is there for it."""

import subprocess

import cases
import services
import token_module
import units


def replaced(name, old, new):
    """A change of one file of the package."""
    def change(root):
        path = root / name
        text = path.read_text()
        assert old in text, f"{name} has no {old!r}"
        path.write_text(text.replace(old, new))
    return change


def empty_library(root):
    """A library that can be loaded, and does nothing."""
    [path] = root.glob("usr/lib/*/windlass/libwindlass_preload.so")
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", path, "-x", "c", "/dev/null"], check=True)


HOOK = cases.HOOK.lstrip("/")
WATCH = f"usr/lib/systemd/system/{units.WATCH}"
COMPILE = f"usr/lib/systemd/system/{units.COMPILE}"

BROKEN = [
    ("the hook compiles nothing", replaced(HOOK, "/usr/bin/windlass compile >/dev/null", "true"), cases.hook),
    ("the hook fails as windlass does", replaced(HOOK, "exit 0\n", "exit 1\n"), cases.hook_never_fails),
    ("postinst compiles nothing", replaced("DEBIAN/postinst", "/usr/bin/windlass compile >/dev/null", "true"),
     cases.compiled_at_once),
    ("postinst fails as windlass does", replaced("DEBIAN/postinst", "/usr/bin/windlass compile >/dev/null ||",
                                                 "false\n    true ||"),
     cases.install_and_purge),
    ("prerm leaves the name in the list", replaced("DEBIAN/prerm", '"$1" = remove', '"$1" = never'),
     cases.machine_and_remove),
    ("prerm does not look at the list", replaced("DEBIAN/prerm", ' -ef ', " = /nowhere -a x = "), cases.named_by_hand),
    ("prerm leaves the token where p11-kit looks", replaced("DEBIAN/prerm", 'rm -f "$module"', ":"),
     token_module.same_trust),
    ("postrm leaves the compiled stores", replaced("DEBIAN/postrm", "rm -rf /var/cache/windlass", ":"),
     cases.install_and_purge),
    ("postinst believes the environment", replaced("DEBIAN/postinst", "env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin ", ""),
     cases.environment_of_others),
    ("the hook believes the environment", replaced(HOOK, "env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin ", ""),
     cases.environment_of_others),
    ("the path unit watches something else", replaced(WATCH, "/etc/ssl/certs", "/etc/nothing"), units.watches),
    ("the service can't write", replaced(COMPILE, "CacheDirectory=windlass\n", ""), units.watches),
    ("the service can't read", replaced(COMPILE, "PrivateTmp=yes\n", "PrivateTmp=yes\nInaccessiblePaths=/etc/ssl\n"),
     units.watches),
    ("a unit has a setting that systemd does not know", replaced(COMPILE, "PrivateTmp=", "PrivateTemp="),
     units.verified),
    ("postinst starts nothing", replaced("DEBIAN/postinst", "deb-systemd-invoke start", "true"), units.watches),
    ("prerm stops the path unit only", replaced("DEBIAN/prerm", " windlass-compile.service >", " >"), units.removed),
    ("postrm leaves a failed unit", replaced("DEBIAN/postrm", "systemctl --system reset-failed", "true"),
     units.removed),
    ("the library serves nothing", empty_library, services.activated),
    ("postrm leaves the unit enabled", replaced("DEBIAN/postrm", "deb-systemd-helper purge", "true"),
     cases.install_and_purge),
]


def prove(package, roots):
    from main import run
    unnoticed = 0
    for name, change, case in BROKEN:
        said = []
        broken = package.changed(change)
        noticed = run(case, broken, roots, say=lambda text, flush: said.append(text)) == "failed"
        broken.path.unlink()
        unnoticed += not noticed
        print(f"{'ok     noticed' if noticed else 'FAILED not noticed'}: {name}", flush=True)
        if noticed:
            print("       " + said[0].splitlines()[1].strip()[:140])
    print(f"packaging, broken on purpose: {len(BROKEN) - unnoticed} passed, {unnoticed} failed")
    return 1 if unnoticed else 0
