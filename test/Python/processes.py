"""Runs a program in COUNT processes with what torch.distributed wants in their environment: processes.py COUNT PROGRAM."""
import os
import socket
import subprocess
import sys

count = int(sys.argv[1])
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
children = []
for rank in range(count):
    environment = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(count))
    children.append(subprocess.Popen([sys.executable, *sys.argv[2:]], env=environment))
sys.exit(max(abs(child.wait(timeout=120)) for child in children))
