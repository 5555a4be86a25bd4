#!/usr/bin/env python3
"""Checks which rooms of the tree include which: check-includes.py SOURCE_DIRECTORY

A room is a directory of lib/ with its headers in include/hocket/, a directory of dialects/, the runtime, or tools/.
MAY says whom each may include beside itself, so that dependencies point one way and a leaf stays one. What lies in a
folder of a conversion is the conversion's own: others include the headers of lib/Conversion itself.

Enumerations of installed headers have int's width: where g++ passes a narrower one, it leaves the rest of the register
as it is, and what clang has compiled reads all of it.

Prints one line for each finding and exits 1 if there are any.
"""
import pathlib
import re
import sys

NARROW_ENUM = re.compile(r'^enum class (\w+) : (?:std::)?u?int(?:8|16)_t', re.MULTILINE)
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)
#: What has no MLIR and knows no problem; and with it what has MLIR, and knows none either.
BASE = {"Support", "Layout", "Target/Arch"}
IR = BASE | {"Attn", "Tile"}
MAY = {
    "Support": set(),
    "Layout": {"Support"},
    "Target/Arch": {"Support", "Layout"},
    "Hardening": {"Support"},
    "Runtime": {"Support", "Target/Arch"},
    "Target/AMDGPU": {"Support", "Target/Arch", "Runtime"},
    "Target/HSACO": {"Support", "Target/Arch", "Hardening", "Target/AMDGPU"},
    "Grid": {"Support", "Target/Arch"},
    "Manifest": {"Support", "Runtime"},
    "Simulator": BASE | {"Grid", "Runtime", "Target/AMDGPU"},
    "Hip": {"Grid", "Support", "Runtime", "Simulator", "Target/Arch"},
    "Attn": BASE,
    "Tile": BASE,
    "Conversion": IR | {"Grid", "Manifest"},
    "Attention": {"Support", "Layout", "Target/Arch", "Grid", "Manifest", "Runtime"},
    "Gemm": {"Support", "Manifest"},
    "Verify": {"Support", "Target/Arch", "Attention", "Gemm", "Manifest", "Runtime", "Simulator"},
    "Reference": {"Support", "Attn", "Attention", "Verify"},
    "Registration": {"Attn", "Tile", "Conversion"},
    "Pipelines": IR | {"Attention", "Conversion", "Hardening", "Manifest", "Registration", "Runtime", "Target/AMDGPU",
                       "Target/HSACO"},
    "Jit": {"Support", "Target/Arch", "Attention", "Pipelines"},
    "Tune": IR | {"Attention", "Conversion", "Manifest", "Pipelines", "Registration", "Runtime", "Simulator", "Verify"},
    "Hocket": {"Simulator"},
}
#: Where a room's files lie; the first that fits.
PLACES = [("include/hocket/", 1), ("runtime/", 0), ("lib/Target/", 2), ("lib/", 1), ("dialects/", 1)]


def room_of_file(name):
    for prefix, depth in PLACES:
        if not name.startswith(prefix):
            continue
        if depth == 0:
            return "Runtime"
        parts = name[len(prefix):].split("/")
        return "Target/" + parts[0] if depth == 2 else parts[0]
    return None


def room_of_include(path):
    """The room of a header as it is included; None: one beside the source, or of LLVM."""
    parts = path.split("/")
    if parts[0] == "hocket":
        parts = parts[1:]
    if len(parts) == 1:
        return None
    if parts[0] == "Target" and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0] if parts[0] in MAY else None


def is_private(includer, path):
    """Whether a header is a conversion's own and the includer lies elsewhere."""
    parts = path.split("/")
    return parts[0] == "Conversion" and len(parts) > 2 and not includer.startswith("lib/" + "/".join(parts[:2]) + "/")


def check_file(name, text):
    room = room_of_file(name)
    if name.startswith(("include/", "runtime/include/")):
        for enum in NARROW_ENUM.findall(text):
            yield f"{name}: '{enum}' is narrower than an int, which g++ and clang pass differently; leave its type out"
    for path in INCLUDE.findall(text):
        other = room_of_include(path)
        if is_private(name, path):
            yield f"{name}: includes '{path}', which is its conversion's own; include a header of lib/Conversion"
        if room in MAY and other and other != room and other not in MAY[room]:
            yield (f"{name}: includes '{path}', and {room} may include {', '.join(sorted(MAY[room])) or 'no other room'}; "
                   "move what both need to a room that it may include")


def main(arguments):
    root = pathlib.Path(arguments[0]).resolve()
    findings = []
    for top in ("include", "lib", "dialects", "runtime", "tools"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in {".h", ".cpp", ".c", ".td", ".def", ".inc"} and path.is_file():
                name = path.relative_to(root).as_posix()
                findings += check_file(name, path.read_text(encoding="utf-8", errors="replace"))
    print("\n".join(findings) if findings else f"{root.name}: no findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
