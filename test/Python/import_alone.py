"""Imports the package from the directory that is given, and sees that nothing else comes along."""
import os
import sys

import hocket

assert os.path.dirname(os.path.dirname(hocket.__file__)) == sys.argv[1], hocket.__file__
assert hocket.__version__.count(".") == 2, hocket.__version__
assert os.path.exists(os.path.join(os.path.dirname(hocket.__file__), "py.typed"))
others = {"numpy", "torch", "pybind11", "asyncio", "unittest"} & set(sys.modules)
assert not others, f"importing hocket imports {others}"
