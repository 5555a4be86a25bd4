"""Compares what two libraries define: compare-symbols.py REFERENCE OURS

Prints the functions of REFERENCE that OURS lacks, and those that OURS defines without being HIP's. The debugger's
interface (amd_dbgapi_*) is not HIP's.
"""
import re
import subprocess
import sys


def symbols(path):
    text = subprocess.run(["llvm-readelf", "--dyn-syms", "--wide", path], capture_output=True, text=True,
                          check=True).stdout
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[6] != "UND" and fields[3] == "FUNC" and fields[4] != "LOCAL":
            yield fields[7]


def readable(name):
    return re.sub(r"^_ZN8hip_impl22hipLaunchKernelGGLImpl[^@]*", "hip_impl::hipLaunchKernelGGLImpl", name)


reference, ours = set(symbols(sys.argv[1])), set(symbols(sys.argv[2]))
assert reference and ours
missing = sorted(readable(name) for name in reference - ours if not name.startswith("amd_dbgapi_"))
foreign = sorted(name for name in ours if not re.match(r"(_Z\d+)?(__)?hip", name))
print("missing:", ", ".join(missing) or "none")
print("foreign:", ", ".join(foreign) or "none")
