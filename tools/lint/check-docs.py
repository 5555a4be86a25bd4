#!/usr/bin/env python3
"""Checks what the documentation points at: check-docs.py SOURCE_DIRECTORY

 - relative links in Markdown files lead to files that exist;
 - pages that sources, tools' help and tests name ("docs/Gemm.md") exist;
 - sections of docs/Hardware.md that sources and pages cite ("docs/Hardware.md 2.3") exist;
 - no file names a path of some developer's machine;
 - no page has a place left that was to be filled in ("@@" + word + "@@");
 - lines of Markdown have at most 120 columns, but for tables, code and addresses;
 - guides (docs/*.md) have at most 150 lines, but for those that LONG names with a reason.

Prints one line for each finding and exits 1 if there are any.
"""
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CITATION = re.compile(r"docs/Hardware\.md (\d+(?:\.\d+)?)")
PAGE = re.compile(r"(?<![\w/.])docs/[\w/]+\.md\b")
HEADING = re.compile(r"^#+ (\d+(?:\.\d+)?)\.? ", re.MULTILINE)
# Assembled, so that this file does not find itself.
PRIVATE = re.compile("|".join("/" + name + "/" for name in ("work", "home", "root")))
COLUMNS, LINES = 120, 150
# Not held to a width: made by commands, or by others.
UNSHAPED = ("docs/generated/", "docs/published/", "docs/measurements/")
LONG = {
    "docs/Hardware.md": "a table of facts, cited by section",
}
PLACEHOLDER = re.compile(r"@@\w+@@")
TEXT = {".md", ".h", ".cpp", ".td", ".mlir", ".py", ".sh", ".txt", ".cmake", ".json", ".test", ".in", ".c", ".s"}


def tracked_files(root):
    """The files of the tree: git's where this is a checkout, else all but build directories."""
    result = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=False)
    if result.returncode == 0 and (root / ".git").exists():
        return [root / name for name in result.stdout.splitlines()]
    return [path for path in root.rglob("*") if not path.relative_to(root).parts[0].startswith("build")]


def wide_lines(text):
    """Numbers of the lines of Markdown that are too long."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif len(line) > COLUMNS and not in_code and not line.startswith("|") and "://" not in line:
            yield number, len(line)


def check_shape(name, text):
    for number, width in wide_lines(text):
        yield f"{name}:{number}: {width} columns, at most {COLUMNS} are wanted"
    lines = text.count("\n")
    if re.fullmatch(r"docs/[^/]+\.md", name) and lines > LINES and name not in LONG:
        yield f"{name}: {lines} lines, a guide has at most {LINES}; divide it"


def check_file(path, root, sections):
    text = path.read_text(encoding="utf-8", errors="replace")
    name = path.relative_to(root)
    if path.suffix == ".md":
        if not name.as_posix().startswith(UNSHAPED):
            yield from check_shape(name.as_posix(), text)
        for target in LINK.findall(text):
            if "://" not in target and not (path.parent / target).exists():
                yield f"{name}: link to '{target}', which does not exist"
        for place in PLACEHOLDER.findall(text):
            yield f"{name}: '{place}' was never filled in"
    if path.suffix in (".td", ".cpp", ".h", ".py"):
        for page in PAGE.findall(text):
            if not (root / page).exists():
                yield f"{name}: names {page}, which does not exist"
    for section in CITATION.findall(text):
        if section not in sections:
            yield f"{name}: cites docs/Hardware.md {section}, which has no such section"
    for private in PRIVATE.findall(text):
        yield f"{name}: names a path under '{private}'"


def main(arguments):
    root = pathlib.Path(arguments[0]).resolve()
    hardware = root / "docs" / "Hardware.md"
    sections = set(HEADING.findall(hardware.read_text(encoding="utf-8"))) if hardware.exists() else set()
    findings = []
    for path in tracked_files(root):
        if path.suffix in TEXT and path.is_file():
            findings += check_file(path, root, sections)
    print("\n".join(sorted(findings)) if findings else f"{root.name}: no findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
