#!/usr/bin/env python3
"""check-compiles.py SOURCE BUILD FILE...: whether FILE.., changed copies of files of SOURCE by the same names below the
current directory, compile as BUILD compiles those of SOURCE, with the other changed copies around them."""
import json
import pathlib
import shlex
import subprocess
import sys

source, build = map(pathlib.Path, sys.argv[1:3])
entries = json.loads((build / "compile_commands.json").read_text())


def command(name):
    """That of the file; where several are compiled at a time, that of any in its library."""
    own = [entry for entry in entries if pathlib.Path(entry["file"]) == source / name]
    parent = pathlib.Path(name).parent
    while not own:
        own = [entry for entry in entries if f" -o {parent}/CMakeFiles/" in entry["command"]]
        if parent == parent.parent:
            sys.exit(f"{build}/compile_commands.json says nothing of '{name}'")
        parent = parent.parent
    words = shlex.split(own[0]["command"])
    return own[0]["directory"], words[: words.index("-o")]


here = pathlib.Path.cwd()
for name in sys.argv[3:]:
    directory, words = command(name)
    words[1:1] = [flag for root in ("include", "lib", "dialects") for flag in ("-I", str(here / root))]
    words += ["-iquote", str(source / pathlib.Path(name).parent), "-fsyntax-only", str(here / name)]
    if subprocess.run(words, cwd=directory).returncode != 0:
        sys.exit(f"'{name}' does not compile")
    print(f"{name} compiles")
