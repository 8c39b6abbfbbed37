"""The cases, one module per program."""

from suites import compiled, crystal, curl, gnutls, guest, nginx, openssl, php, python, reach, ruby, run

MODULES = (python, ruby, php, crystal, curl, nginx, openssl, reach, guest, run, compiled, gnutls)


def all_cases(world):
    return [case for module in MODULES for case in module.cases(world)]
