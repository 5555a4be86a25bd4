"""Hocket as a kernel of Hugging Face's hub: `python -m hocket.integrations.kernels_hub DIR` writes the repository's files.

`attn_implementation="ORGANISATION/hocket"` then loads it: a hub kernel has flash-attn's names, and this package has them. It
is a copy of the installed package under a name of its own, for the same Python, torch and LLVM libraries.
"""
import argparse
import hashlib
import json
import pathlib
import platform
import shutil
import sys

from .. import __version__, _hocket
from .._errors import InvalidInput

_PACKAGE = pathlib.Path(__file__).absolute().parent.parent


def variant():
    """What the hub calls a build for the torch that is imported: torchXY-cxx11-rocmNN-x86_64-linux, or without ROCm cpu."""
    import torch

    number = "".join(torch.__version__.partition("+")[0].split(".")[:2])
    hip = getattr(torch.version, "hip", None)
    device = "cpu" if hip is None else "rocm" + "".join(hip.split(".")[:2])
    return f"torch{number}-cxx11-{device}-{platform.machine()}-{sys.platform}"


def write(directory, name="hocket", build=None):
    """Writes build/VARIANT into `directory`, with metadata.json. Returns the folder of the build."""
    folder = pathlib.Path(directory) / "build" / (variant() if build is None else build)
    if folder.exists():
        raise InvalidInput(f"'{folder}' exists; remove it, or give another directory")
    shutil.copytree(_PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    metadata = {"id": f"{name}_{_digest(folder)[:16]}", "name": name, "version": __version__,
                "license": "Apache-2.0 WITH LLVM-exception", "digest": _digest(folder),
                "backend": {"type": "rocm", "archs": sorted(_hocket.architectures)}}
    (folder / "metadata.json").write_text(json.dumps(metadata, indent=2) + "\n")
    return folder


def _digest(folder):
    """Of all files, by their names."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            total.update(str(path.relative_to(folder)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m hocket.integrations.kernels_hub", description=__doc__.partition("\n")[0])
    parser.add_argument("directory", help="of the repository")
    parser.add_argument("--name", default="hocket", help="of the kernel (default: hocket)")
    parser.add_argument("--variant", help="of the build (default: that of the torch which is installed)")
    given = parser.parse_args(arguments)
    print(write(given.directory, given.name, given.variant))


if __name__ == "__main__":
    main()
