# GoogleTest programs: every test in them is one test of lit's.
import lit.formats
import os

config.name = "Hocket-Unit"
config.suffixes = []
config.test_format = lit.formats.GoogleTest(".", "Tests")
config.test_source_root = os.path.join(config.hocket_build_dir, "test", "unit")
config.test_exec_root = config.test_source_root

# Compiled kernels are shared by the tests of one build; the compiler is part of the key.
config.environment["HOCKET_CACHE_DIR"] = os.path.join(config.hocket_build_dir, "test", "kernel-cache")

# Reproduces a random test; each prints its seed.
if "HOCKET_TEST_SEED" in os.environ:
    config.environment["HOCKET_TEST_SEED"] = os.environ["HOCKET_TEST_SEED"]

# LLVM's headers poison the slabs of their allocators when they are compiled with AddressSanitizer;
# Debian's LLVM, which is not, then hands out memory that our half believes poisoned.
config.environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "allow_user_poisoning=0")
config.environment["UBSAN_OPTIONS"] = os.environ.get("UBSAN_OPTIONS", "print_stacktrace=1")
