#!/usr/bin/env python3
"""check-diff.py SOURCE DIFF PAGE DIRECTORY: copies the files that DIFF changes into DIRECTORY; at most five, each named on PAGE."""
import pathlib
import re
import shutil
import sys

source, diff, page, directory = map(pathlib.Path, sys.argv[1:])
files = re.findall(r"^\+\+\+ b/(\S+)", diff.read_text(), re.MULTILINE)
if not 1 <= len(files) <= 5:
    sys.exit(f"{diff} changes {len(files)} files; at most 5 are wanted")
for name in files:
    if name not in page.read_text():
        sys.exit(f"{page} does not name '{name}', which {diff} changes")
    (directory / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / name, directory / name)
