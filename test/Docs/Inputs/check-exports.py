"""Compares what a library exports with what its headers say: check-exports.py LIBRARY INCLUDE

A symbol is foreign if it is neither a function `hocket_*` nor of namespace hocket. One of hocket is in a header if
the first name below the namespaces is a word there.
"""
import pathlib
import re
import subprocess
import sys

NAMESPACES = {"hocket"}


def exported(path):
    """Demangled. Local symbols of the dynamic table, which GNU ld keeps where another library has their name, do not
    count: nothing can be bound to them."""
    names = subprocess.run(["llvm-nm", "-D", "--extern-only", "--defined-only", path], capture_output=True, text=True,
                           check=True).stdout
    mangled = [line.split()[-1] for line in names.splitlines()]
    return subprocess.run(["llvm-cxxfilt"], input="\n".join(mangled), capture_output=True, text=True,
                          check=True).stdout.splitlines()


def declared_name(symbol):
    """The first name below the namespaces: a class, a function or a variable."""
    qualified = re.sub(r"^(vtable|VTT|typeinfo|typeinfo name|(non-virtual|virtual) thunk) (for|to) ", "", symbol)
    for name in re.findall(r"[A-Za-z_]\w*", re.split(r"[(\[<]", qualified)[0]):
        if name not in NAMESPACES:
            return name
    return None


symbols = exported(sys.argv[1])
headers = [path.read_text() for path in pathlib.Path(sys.argv[2]).rglob("*.h")]
code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", "\n".join(headers), flags=re.S)
NAMESPACES.update(part for names in re.findall(r"namespace ([\w:]+)", code) for part in names.split("::"))
words = set(re.findall(r"\w+", code))

of_c = {symbol for symbol in symbols if re.fullmatch(r"hocket_\w+", symbol)}
of_cpp = {symbol for symbol in symbols if re.match(r"((vtable|VTT|typeinfo|typeinfo name) for |"
                                                   r"(non-virtual|virtual) thunk to )?hocket::", symbol)}
declared_c = set(re.findall(r"\b(hocket_\w+)\(", code))
needed = ["hocket::attention::Planner::plan(", "hocket::attention::LaunchPlan::run(", "hocket::jit::makePlanner(",
          "hocket::jit::Jit::compile(", "hocket::runtime::openDevice(", "hocket::manifest::parseManifest(",
          "hocket::sim::registerSimulator(", "vtable for hocket::runtime::Stream"]
absent = [name for name in needed if not any(symbol.startswith(name) for symbol in of_cpp)]


def report(what, names):
    print(f"{what}:", ", ".join(sorted(names)) or "none")


assert declared_c and of_cpp
report("foreign", set(symbols) - of_c - of_cpp)
report("not in a header", {s for s in of_cpp if declared_name(s) not in words} | (of_c - declared_c))
report("functions of C that are missing", declared_c - of_c)
print("declared and used by the examples:", ", ".join(absent) or "all there")
