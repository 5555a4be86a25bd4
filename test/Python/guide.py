"""Runs the Python of the README and of the guides, block after block, each page in a namespace of its own."""
import pathlib
import re

source = pathlib.Path(__file__).resolve().parents[2]
block_of = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
for page, least in (("README.md", 1), ("docs/Python.md", 6), ("docs/PythonKernels.md", 3)):
    text = (source / page).read_text()
    namespace = {"kernels": str(source / "kernels")}
    blocks = list(block_of.finditer(text))
    for block in blocks:
        first = text[: block.start(1)].count("\n")
        exec(compile("\n" * first + block.group(1), page, "exec"), namespace)
    print(f"{len(blocks)} blocks of {page} ran")
    assert len(blocks) >= least and len(text.splitlines()) < 150, f"{page} should have examples, and be short"
