#!/usr/bin/env python3
"""check-diff.py SOURCE DIFF PAGE DIRECTORY [MOST]: copies the files that DIFF changes into DIRECTORY; at most MOST (5), each
named on PAGE. Files that DIFF makes count, too."""
import pathlib
import re
import shutil
import sys

source, diff, page, directory = map(pathlib.Path, sys.argv[1:5])
most = int(sys.argv[5]) if len(sys.argv) > 5 else 5
files = re.findall(r"^--- (\S+)\n\+\+\+ b/(\S+)", diff.read_text(), re.MULTILINE)
if not 1 <= len(files) <= most:
    sys.exit(f"{diff} changes {len(files)} files; at most {most} are wanted")
for before, name in files:
    if name not in page.read_text():
        sys.exit(f"{page} does not name '{name}', which {diff} changes")
    (directory / name).parent.mkdir(parents=True, exist_ok=True)
    if before != "/dev/null":
        shutil.copy(source / name, directory / name)
