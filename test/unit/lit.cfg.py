# GoogleTest programs: every test in them is one test of lit's.
import lit.formats
import os

config.name = "Hocket-Unit"
config.suffixes = []
config.test_format = lit.formats.GoogleTest(".", "Tests")
config.test_source_root = os.path.join(config.hocket_build_dir, "test", "unit")
config.test_exec_root = config.test_source_root
