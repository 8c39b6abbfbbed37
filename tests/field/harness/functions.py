"""The functions that the scripts call, and the C that is made of their list (programs/*.functions)."""

import dataclasses
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
# What Windlass stands in front of: the tables of each adapter.
TABLES = {"openssl": ROOT / "adapters/preload/src/openssl/hooks.rs",
          "gnutls": ROOT / "adapters/preload/src/gnutls/hooks.rs"}


@dataclasses.dataclass(frozen=True)
class Function:
    type: str
    name: str
    parameters: str
    arguments: str


def functions(kind):
    lines = (HERE / "programs" / f"{kind}.functions").read_text().splitlines()
    return [parse(line) for line in lines if line and not line.startswith("#")]


def parse(line):
    """One declaration. A parameter that is a function pointer has its name in a parenthesis."""
    type_, name, parameters = re.fullmatch(r"(.*?)(\w+)\((.*)\)", line).groups()
    arguments = []
    for parameter in split(parameters):
        pointer = re.search(r"\(\*(\w+)\)", parameter)
        if parameter != "void":
            arguments.append(pointer.group(1) if pointer else re.search(r"(\w+)$", parameter).group(1))
    return Function(type_.strip(), name, f"({parameters})", f"({', '.join(arguments)})")


def split(parameters):
    """At the commas outside of parentheses."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", parameters)]


def hooked(kind):
    """The functions of the adapter's table."""
    return re.findall(r"^ {4}fn (\w+)\(", TABLES[kind].read_text(), re.MULTILINE)


def exported(library):
    """The functions that a library defines, without their versions."""
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in out.splitlines()}


def header(kind, present):
    """`struct functions` has all; only those that the library has are declared, and wrapped."""
    everything = functions(kind)
    here = [function for function in everything if function.name in present]
    lines = ["#include <stddef.h>", "struct functions {"]
    lines += [f"    {function.type} (*{function.name}){function.parameters};" for function in everything]
    lines += ["};"]
    for function in here:
        lines += [f"{function.type} {prefix}{function.name}{function.parameters};" for prefix in ("", "wrap_")]
    # What STATIC_TABLE may be.
    lines += ["#define DIRECT(name) name", "#define WRAPPED(name) wrap_##name"]
    lines += ["#define EACH_FUNCTION(F) " + " ".join(f"F({function.name})" for function in everything)]
    lines += ["#define EACH_PRESENT(F) " + " ".join(f"F({function.name})" for function in here)]
    lines += ["#define EACH_WRAPPER(F) " + " ".join(
        f"F({function.type}, {function.name}, {function.parameters}, {function.arguments})" for function in here)]
    return "\n".join(lines) + "\n"


def not_jumps(library, present, kind):
    """The wrappers of a shared object that are no plain jump: they would not show what they are for."""
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    bodies = dict(re.findall(r"^[0-9a-f]+ <wrap_(\w+)>:\n((?:.+\n)*)", code, re.MULTILINE))
    wrong = []
    for function in functions(kind):
        if function.name in present:
            instructions = [line.split(":", 1)[1].strip()
                            for line in bodies.get(function.name, "").splitlines() if ":" in line]
            words = [instruction.split()[0] for instruction in instructions if instruction]
            # Padding follows the jump; a landing pad of IBT comes before it.
            while words and words[0] in ("endbr64", "nop"):
                words.pop(0)
            if not words or words[0] not in ("jmp", "notrack", "bnd"):
                wrong.append(function.name)
    return wrong
