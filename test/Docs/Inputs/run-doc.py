#!/usr/bin/env python3
"""Runs the commands of a page: run-doc.py PAGE.md

In the current directory. A block ```LANGUAGE FILE writes FILE. In a block ```console each line "$ COMMAND" is run by
the shell, with the next line where it ends with a backslash; the lines below it are its output, both streams together,
where "..." is any number of lines, or any text within a line, and a last line "[exit N]" the status if it is not 0. A
page shows no patterns but these: "{{" in expected output is an error.
"""
import re
import subprocess
import sys


def blocks(text):
    for match in re.finditer(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", text, re.M | re.S):
        yield match.groups()


def pattern(lines):
    parts = []
    for line in lines:
        if line == "...":
            parts.append(r"(?:.*\n)*?")
            continue
        if "{{" in line:
            sys.exit(f"'{line}' shows readers a pattern; write '...' for what may differ")
        parts.append(".*".join(re.escape(piece) for piece in line.split("...")) + r"\n")
    return "".join(parts)


def run(command, expected):
    status = 0
    if expected and (match := re.fullmatch(r"\[exit (\d+)\]", expected[-1])):
        status = int(match.group(1))
        expected = expected[:-1]
    done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wanted = re.compile(pattern(expected))
    if done.returncode == status and wanted.fullmatch(done.stdout):
        return True
    print(f"$ {command}\nexit status {done.returncode}, expected {status}; output:\n{done.stdout}")
    print("expected:\n" + "\n".join(expected))
    return False


def main(page):
    commands = failures = 0
    for language, name, body in blocks(open(page, encoding="utf-8").read()):
        if name:
            open(name, "w", encoding="utf-8").write(body)
        if language != "console":
            continue
        for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
            command, *expected = part.rstrip("\n").split("\n")
            while command.endswith("\\") and expected:
                command += "\n" + expected.pop(0)
            commands += 1
            failures += not run(command, expected)
    print(f"{commands} commands, {failures} failed")
    return failures != 0 or commands == 0


sys.exit(main(sys.argv[1]))
