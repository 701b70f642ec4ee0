"""What the scripts install from package indexes stands in scripts/pinned, in one version and with digests.

Usage: pinned_test.py ROOT
"""

import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1])
mistakes = []

# What is looked at: the version of torch is a setting of scripts/setup, and so is what a LibTorch with CUDA needs.
ALLOWED = re.compile(r"--no-deps --require-hashes|torch==|nvidia-cuda-|\$\(\.venv/bin/python -c")

for script in sorted((root / "scripts").iterdir()):
    if script.is_dir() or script.name == "pin":
        continue
    for number, line in enumerate(script.read_text().splitlines(), 1):
        if re.search(r"pip install", line) and not line.lstrip().startswith("#") and not ALLOWED.search(line):
            mistakes.append(f"scripts/{script.name}:{number}: installs what scripts/pinned does not have: {line.strip()}")
    for name in re.findall(r"(?:install|has)_pinned ([a-z]+)\b", script.read_text()):
        if not (root / f"scripts/pinned/{name}.txt").exists():
            mistakes.append(f"scripts/{script.name}: there is no scripts/pinned/{name}.txt")

pinned = sorted((root / "scripts/pinned").glob("*.txt"))
for file in pinned:
    for number, line in enumerate(file.read_text().splitlines(), 1):
        is_whole = re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.+-]*( ; [^#]+?)?( --hash=sha256:[0-9a-f]{64})+", line)
        if not line.startswith("#") and not is_whole:
            mistakes.append(f"scripts/pinned/{file.name}:{number}: has no version with digests: {line[:80]}")
        if "://" in line:
            mistakes.append(f"scripts/pinned/{file.name}:{number}: names a host")

# A wheel with another digest is refused, without a look at a network. This one is empty.
with tempfile.TemporaryDirectory() as folder:
    wheel = pathlib.Path(folder) / "levin_nothing-1.0-py3-none-any.whl"
    wheel.write_bytes(b"PK\x05\x06" + bytes(18))
    wanted = pathlib.Path(folder) / "wanted.txt"
    wanted.write_text(f"{wheel} --hash=sha256:{'0' * 64}\n")
    refused = subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--dry-run", "--no-deps", "--require-hashes",
                              "--only-binary=:all:", "-r", wanted], capture_output=True, text=True)
if refused.returncode == 0 or "HASHES" not in refused.stderr:
    mistakes.append(f"pip takes a file with another digest: {refused.stdout}{refused.stderr}")

print("\n".join(mistakes))
sys.exit(1 if mistakes or len(pinned) < 6 else 0)
