"""Writes an offload bundle as clang-offload-bundler does: bundle.py OUT TARGET=FILE..."""
import struct
import sys

entries = [("host-x86_64-unknown-linux-gnu", b"")]
for argument in sys.argv[2:]:
    target, _, path = argument.partition("=")
    with open(path, "rb") as file:
        entries.append((target, file.read()))

ALIGNMENT = 4096
header = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
body = b""
for target, content in entries:
    header += struct.pack("<QQQ", ALIGNMENT + len(body), len(content), len(target)) + target.encode()
    body += content + bytes(-len(content) % ALIGNMENT)
with open(sys.argv[1], "wb") as file:
    file.write(header + bytes(ALIGNMENT - len(header)) + body)
