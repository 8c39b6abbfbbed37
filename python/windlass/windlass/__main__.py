"""python -m windlass run [-m] PROGRAM [ARGUMENT ...] and python -m windlass doctor [--json]"""

import argparse
import os
import runpy
import sys

from . import __version__, attach


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m windlass", description="Serve OpenSSL from one shared root store per CA bundle."
    )
    parser.add_argument("--version", action="version", version=f"windlass {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run", help="attach, then run a Python program", usage="%(prog)s [-m] PROGRAM [ARGUMENT ...]"
    )
    run.add_argument("-m", dest="is_module", action="store_true", help="PROGRAM is the name of a module")
    run.add_argument("program", metavar="PROGRAM", help="a Python file")
    run.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="its arguments")
    doctor = commands.add_parser("doctor", help="which TLS modules of this environment are reached, and why not")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    if options.command == "doctor":
        from . import _doctor

        return _doctor.main(options.json)
    attach()
    if not options.is_module and not os.path.exists(options.program):
        run.error(f"{options.program}: no such file")
    sys.argv = [options.program, *options.arguments]
    try:
        if options.is_module:
            runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        else:
            # As `python PROGRAM` does.
            sys.path[0] = os.path.dirname(os.path.abspath(options.program))
            runpy.run_path(options.program, run_name="__main__")
    except (ImportError, OSError) as error:
        if _has_run(error):
            raise
        print(f"{sys.executable}: {error}", file=sys.stderr)
        return 1
    return 0


def _has_run(error: BaseException) -> bool:
    """Whether code of the program was running, or there was none to run."""
    step = error.__traceback__
    # A program's __name__ is "__main__", too.
    while step and any(step.tb_frame.f_globals is own for own in (globals(), vars(runpy))):
        step = step.tb_next
    return step is not None


if __name__ == "__main__":
    sys.exit(main())
