"""Builds the package's wheel with CMake, for pip (PEP 517).

The build directory is HOCKET_BUILD_DIR, or `build` of the checkout, which is configured (preset `quickstart`) if it is
not yet. What scripts/quickstart.sh or scripts/build.sh have built there is used.

With the setting `relocatable` (docs/Wheels.md) LLVM is inside the module, and the wheel's tag names the glibc it needs.
"""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def _run(*command):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], cwd=SOURCE, check=True)


def _version():
    text = (SOURCE / "CMakeLists.txt").read_text()
    return re.search(r"project\(Hocket VERSION ([0-9.]+)", text).group(1)


def _build_directory():
    given = os.environ.get("HOCKET_BUILD_DIR")
    directory = pathlib.Path(given or SOURCE / "build").resolve()
    if not (directory / "CMakeCache.txt").exists():
        if given:
            raise SystemExit(f"hocket: HOCKET_BUILD_DIR is '{given}', which is no configured build")
        _run("cmake", "--preset", "quickstart")
    return directory


def _add_relocatable(directory, stage, module):
    """Puts the module with LLVM inside in the place of the one that is linked with its shared library."""
    names = subprocess.run(["cmake", "--build", str(directory), "--target", "help"],
                           stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    if "hocket-python-relocatable" not in names:
        raise SystemExit(
            f"hocket: '{directory}' cannot link LLVM statically: its archives, libLLVM*.a and libMLIR*.a, are missing; "
            "install them and configure again, or leave out the setting 'relocatable'"
        )
    _run("cmake", "--build", directory, "--target", "hocket-python-relocatable")
    shutil.copyfile(directory / "python-relocatable" / module, stage / "hocket" / module)


def _install(directory, stage, relocatable):
    """Builds and installs into `stage`; the module must be for the Python that asks. Returns its path."""
    _run("cmake", "--build", directory, "--target", "hocket-python")
    _run("cmake", "--install", directory, "--component", "python", "--prefix", stage)
    wanted = sysconfig.get_config_var("EXT_SUFFIX")
    built = [path.name for path in (stage / "hocket").glob("_hocket.*") if path.suffix == ".so"]
    if f"_hocket{wanted}" not in built:
        raise SystemExit(
            f"hocket: '{directory}' builds {', '.join(built)}, this Python loads _hocket{wanted}; "
            f"configure with 'cmake -B {directory} -DPython_EXECUTABLE={sys.executable}'"
        )
    if relocatable:
        _add_relocatable(directory, stage, f"_hocket{wanted}")
    return stage / "hocket" / f"_hocket{wanted}"


def _glibc(module):
    """The newest version of glibc that the module's symbols ask for, such as (2, 36)."""
    versions = subprocess.run(["readelf", "-W", "--version-info", str(module)],
                              stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    return max(tuple(map(int, found)) for found in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", versions))


def _tag(module, relocatable):
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    if relocatable:
        platform = "manylinux_{}_{}_".format(*_glibc(module)) + sysconfig.get_platform().split("-")[-1]
    else:
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}-{platform}"


def _is_relocatable(settings):
    """The one setting there is: `pip wheel --config-settings relocatable=yes`."""
    unknown = sorted(set(settings or {}) - {"relocatable"})
    if unknown:
        raise SystemExit(f"hocket: the setting '{unknown[0]}' is not known; there is 'relocatable'")
    value = (settings or {}).get("relocatable", "no")
    if value not in ("yes", "no"):
        raise SystemExit(f"hocket: the setting 'relocatable' is '{value}'; it takes 'yes' or 'no'")
    return value == "yes"


def _record(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


def _metadata(info, tag):
    return {
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: hocket\n"
        f"Version: {_version()}\nSummary: Attention kernels for AMD GPUs, compiled, run and checked anywhere\n"
        "License: Apache-2.0 WITH LLVM-exception\nRequires-Python: >=3.9\n",
        f"{info}/entry_points.txt": "[vllm.general_plugins]\nhocket = hocket.integrations.vllm:register\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: hocket\nRoot-Is-Purelib: false\nTag: {tag}\n",
    }


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    relocatable = _is_relocatable(config_settings)
    info = f"hocket-{_version()}.dist-info"
    with tempfile.TemporaryDirectory() as temporary:
        stage = pathlib.Path(temporary)
        tag = _tag(_install(_build_directory(), stage, relocatable), relocatable)
        contents = {str(path.relative_to(stage)): path.read_bytes()
                    for path in sorted((stage / "hocket").rglob("*")) if path.is_file()}
    contents.update((name, text.encode()) for name, text in _metadata(info, tag).items())
    records = [_record(name, content) for name, content in contents.items()]
    contents[f"{info}/RECORD"] = "\n".join([*records, f"{info}/RECORD,,", ""]).encode()
    wheel = f"hocket-{_version()}-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("hocket: there is no source distribution; install from a checkout")
