# How lit finds and runs Hocket's tests. Paths come from lit.site.cfg.py in the build tree.
import os

import lit.formats

config.name = "Hocket"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".s", ".c"]
config.excludes = ["Inputs", "unit", "CMakeLists.txt", "lib"]
config.test_source_root = os.path.join(config.hocket_source_dir, "test")
config.test_exec_root = os.path.join(config.hocket_build_dir, "test")

# Ours first, then LLVM's: FileCheck, not, llvm-objdump, clang-22 for kernels compiled from C.
config.environment["PATH"] = os.pathsep.join(
    [config.hocket_tools_dir, config.llvm_tools_dir, os.environ.get("PATH", "")]
)
config.environment["HOME"] = config.test_exec_root
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%kernels", os.path.join(config.hocket_source_dir, "kernels")))
config.substitutions.append(("%inputs", os.path.join(config.hocket_source_dir, "test", "Inputs")))
config.substitutions.append(
    ("%clang-gfx950", "clang-22 -target amdgcn-amd-amdhsa -mcpu=gfx950 -nogpulib -O2 -ffp-contract=off")
)
if config.hocket_sanitizers:
    config.available_features.add("sanitizers")
