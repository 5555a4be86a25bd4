"""Runs the Python of README.md and of docs/Python.md, block after block, in one namespace."""
import pathlib
import re
import sys

source = pathlib.Path(__file__).resolve().parents[2]
text = (source / "docs" / "Python.md").read_text()
namespace = {"kernels": str(source / "kernels")}
block_of = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
for block in block_of.finditer((source / "README.md").read_text()):
    exec(compile(block.group(1), "README.md", "exec"), dict(namespace))
blocks = list(block_of.finditer(text))
for block in blocks:
    first = text[: block.start(1)].count("\n")
    exec(compile("\n" * first + block.group(1), "docs/Python.md", "exec"), namespace)
print(f"{len(blocks)} blocks of docs/Python.md ran")
assert len(blocks) > 5 and len(text.splitlines()) < 150, "the guide should have examples, and be short"
sys.exit(0)
