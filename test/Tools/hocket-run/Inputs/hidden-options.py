"""Subcommands that share a table of options refuse those that others have, by name: hidden-options.py

Each subcommand's --help says which options it has. One that another's help lists and its own does not must end with
exit status 2 and a message that names both.
"""
import re
import subprocess
import sys

TABLES = [
    [["hocket-run", "fmha-fwd"], ["hocket-run", "fmha-bwd"], ["hocket-run", "compare"], ["hocket-run", "steady-state"],
     ["hocket-run", "steady-state", "fmha-bwd"], ["hocket-dev", "mutate"], ["hocket-dev", "mutate", "fmha-bwd"]],
    [["hocket-run", "gemm"], ["hocket-run", "steady-state", "gemm"], ["hocket-dev", "mutate", "gemm"]],
]


def output(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def options(command):
    """Each with whether it takes a value."""
    return dict(re.findall(r"^  (--[a-z][a-z-]*)(=?)", output(command + ["--help"])[1], re.M))


failures = checked = 0
for commands in TABLES:
    own = [options(command) for command in commands]
    every = {name: value for table in own for name, value in table.items()}
    for command, table in zip(commands, own):
        for name in sorted(set(every) - set(table)):
            status, text = output(command + [name + "=1" if every[name] else name])
            checked += 1
            if status != 2 or f"option '{name}' has no effect on '{' '.join(command[1:])}" not in text:
                failures += 1
                print(" ".join(command), name, "->", status, text)
print(f"{checked} refused, {failures} not")
sys.exit(failures != 0 or checked < 50)
