"""Imported by windlass_auto.pth whenever Python starts. WINDLASS_AUTO=0 switches it off."""

import os


def start() -> None:
    if os.environ.get("WINDLASS_AUTO", "1") == "0":
        return
    try:
        import windlass

        windlass.attach()
    except Exception:
        # Python must start whatever is wrong with this package. `python -m windlass doctor` tells.
        pass


start()
