"""Imports the package from the directory that is given, and sees that nothing else comes along."""
import os
import sys

before = set(sys.modules)
import hocket  # noqa: E402

assert os.path.dirname(os.path.dirname(hocket.__file__)) == sys.argv[1], hocket.__file__
assert hocket.__version__.count(".") == 2, hocket.__version__
assert os.path.exists(os.path.join(os.path.dirname(hocket.__file__), "py.typed"))
# What takes as long to import as the rest of the package, and is for few calls.
others = {"numpy", "torch", "pybind11", "asyncio", "unittest", "inspect", "json", "random", "traceback"} & set(sys.modules)
assert not others, f"importing hocket imports {others}"
# An import takes 0.1 s, most of it for the libraries of the compiler, while there is little to read.
count = len([name for name in sys.modules if name not in before])
assert count <= 60, f"importing hocket imports {count} modules"
