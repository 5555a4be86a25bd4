"""The argument offsets of a manifest and of its code object's metadata are the same."""
import json
import re
import subprocess
import sys

manifest = json.load(open(sys.argv[1]))
notes = subprocess.run(["llvm-readelf", "-n", sys.argv[2]], capture_output=True, text=True, check=True).stdout
explicit = [int(m.group(1)) for m in re.finditer(r"\.offset:\s+(\d+)\s+\.size:\s+\d+\s+\.value_kind:\s+(?!hidden)\w+", notes)]
if not explicit:
    sys.exit("the metadata lists no explicit argument")
wanted = [argument["offset"] for argument in manifest["arguments"]]
if explicit != wanted:
    sys.exit(f"metadata has offsets {explicit}, the manifest {wanted}")
