# How lit finds and runs Hocket's tests. Paths come from lit.site.cfg.py in the build tree.
import glob
import importlib.util
import os
import platform
import shutil
import sys
import sysconfig

import lit.formats

config.name = "Hocket"

sys.path.insert(0, os.path.join(config.hocket_source_dir, "test"))
from sanitized_tests import SanitizedTests  # noqa: E402

sanitized = bool(config.hocket_sanitizers)
config.test_format = (SanitizedTests if sanitized else lit.formats.ShTest)(execute_external=False)
config.suffixes = [".mlir", ".test", ".s", ".c"]
config.excludes = ["Inputs", "unit", "CMakeLists.txt", "lib"]
config.test_source_root = os.path.join(config.hocket_source_dir, "test")
config.test_exec_root = os.path.join(config.hocket_build_dir, "test")

# Ours first, then LLVM's: FileCheck, not, llvm-objdump, clang-22 for kernels compiled from C.
config.environment["PATH"] = os.pathsep.join(
    [config.hocket_tools_dir, config.llvm_tools_dir, os.environ.get("PATH", "")]
)
config.environment["HOME"] = config.test_exec_root
# Compiled kernels are shared by the tests of one build; the compiler's identity is part of the key.
config.environment["HOCKET_CACHE_DIR"] = os.path.join(config.test_exec_root, "kernel-cache")
# The first for the reason given in unit/lit.cfg.py.
config.environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "allow_user_poisoning=0")
config.environment["UBSAN_OPTIONS"] = os.environ.get("UBSAN_OPTIONS", "print_stacktrace=1")

config.substitutions.append(("%kernels", os.path.join(config.hocket_source_dir, "kernels")))
config.substitutions.append(("%scripts", os.path.join(config.hocket_source_dir, "scripts")))
config.substitutions.append(("%build", config.hocket_build_dir))
config.substitutions.append(("%tblgen-doc", " ".join([
    "mlir-tblgen", "-I", os.path.join(config.llvm_tools_dir, os.pardir, "include"),
    "-I", os.path.join(config.hocket_source_dir, "dialects"), "-I", os.path.join(config.hocket_source_dir, "include")])))
config.substitutions.append(("%source", config.hocket_source_dir))
config.substitutions.append(("%build", config.hocket_build_dir))
config.substitutions.append(("%llvm-bin", config.llvm_tools_dir))
config.substitutions.append(("%python", sys.executable))
# The Python package as it lies in the build tree.
python_package = os.path.join(config.hocket_build_dir, "python")
config.substitutions.append(("%hocket-python", f"env PYTHONPATH={python_package} {sys.executable}"))
config.substitutions.append(("%inputs", os.path.join(config.hocket_source_dir, "test", "Inputs")))
config.substitutions.append(
    ("%clang-gfx950", "clang-22 -target amdgcn-amd-amdhsa -mcpu=gfx950 -nogpulib -O2 -ffp-contract=off")
)
config.substitutions.append(
    ("%simulator-objects", os.path.join(config.hocket_build_dir, "lib", "Simulator", "CMakeFiles"))
)
# libhocket_hip under the names of AMD's library, and, where they are installed, HIP's own headers and library.
hip_simulator_dir = os.path.join(config.hocket_build_dir, "lib", "hocket", "hip")
config.substitutions.append(("%hip-simulator-dir", hip_simulator_dir))
config.substitutions.append(("%hip-simulated", "env LD_LIBRARY_PATH=" + hip_simulator_dir))
config.substitutions.append(("%hip-planted", "env LD_LIBRARY_PATH=" + os.path.join(config.hocket_build_dir, "test", "planted-hip")))
config.substitutions.append(("%hip-sdk-library", config.hip_sdk_library))
config.substitutions.append(("%hip-sdk-flags", "-D__HIP_PLATFORM_AMD__ -I" + config.hip_sdk_include))
if os.path.exists(config.hip_sdk_library) and os.path.exists(config.hip_sdk_include):
    config.available_features.add("hip-sdk")
if config.hocket_sanitizers:
    config.available_features.add("sanitizers")
if glob.glob(os.path.join(python_package, "hocket", "_hocket*" + sysconfig.get_config_var("EXT_SUFFIX"))):
    config.available_features.add("python-package")
if os.path.exists(os.path.join(config.llvm_tools_dir, os.pardir, "lib", "libMLIRIR.a")):
    config.available_features.add("llvm-archives")
for module in ("numpy", "torch", "pip"):
    if importlib.util.find_spec(module):
        config.available_features.add(module)
if shutil.which("pkg-config"):
    config.available_features.add("pkg-config")
if shutil.which("node"):
    config.available_features.add("node")
if platform.machine() in ("x86_64", "AMD64"):
    config.available_features.add("x86")
