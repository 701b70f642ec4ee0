"""What pyproject.toml leaves to the build: levin's version, and as its dependency the torch that CMake finds."""

import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def levin_version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"^project\(levin VERSION ([0-9.]+)", text, re.MULTILINE).group(1)


def torch_version():
    """Returns the version of the torch that the build will find; raises where it is not a Python package."""
    cmake = shutil.which("cmake") or _cmake_of_the_build()
    found = subprocess.run(
        [cmake, "-DLEVIN_PYTHON=" + os.environ.get("LEVIN_PYTHON", ""), "-P", str(ROOT / "packaging/find_torch.cmake")],
        capture_output=True,
        text=True,
    )
    words = dict(line.split("=", 1) for line in found.stdout.splitlines() if "=" in line)
    if found.returncode != 0 or "config" not in words:
        raise RuntimeError(found.stderr.strip() or "cmake could not look for LibTorch")
    if not (pathlib.Path(words["config"]).parents[2] / "version.py").exists():
        raise RuntimeError(
            f"a wheel of levin belongs to the torch of a Python environment, and the LibTorch in {words['config']} is "
            "none: set LEVIN_PYTHON to a Python with torch"
        )
    return words["version"]


def _cmake_of_the_build():
    import cmake

    return os.path.join(cmake.CMAKE_BIN_DIR, "cmake")


def dynamic_metadata(settings, project):
    return {"version": levin_version(), "dependencies": ["torch==" + torch_version()]}


def dynamic_wheel(settings):
    return {"dependencies": True}
