"""levin's program, C++ library and CMake package. PREFIX is their folder, for CMAKE_PREFIX_PATH."""

import importlib.metadata
import os
import re
import sys

PREFIX = os.path.dirname(os.path.abspath(__file__))
__version__ = importlib.metadata.version("levin")


def _wanted_torch():
    """Returns the version of torch that this levin was built with: the one it requires."""
    for requirement in importlib.metadata.requires("levin") or []:
        match = re.match(r"torch *== *([0-9.]+)", requirement)
        if match:
            return match.group(1)
    sys.exit("levin: error: this wheel does not say which torch it was built with; install levin again")


def _check_torch():
    """Ends with a sentence unless the torch beside levin is the one it was built with: C++ has no stable ABI between versions."""
    wanted = _wanted_torch()
    cure = "python -m pip install torch==" + wanted
    try:
        found = importlib.metadata.version("torch").partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        sys.exit(f"levin: error: levin {__version__} needs torch {wanted}, and there is none: {cure}")
    if found != wanted:
        sys.exit(f"levin: error: levin {__version__} was built with torch {wanted} and cannot run with {found}: {cure}")
    if not os.path.isdir(os.path.join(PREFIX, os.pardir, "torch", "lib")):
        sys.exit(
            f"levin: error: torch is not in {os.path.dirname(PREFIX)}, where levin is: "
            "install both into the same environment"
        )


def main():
    _check_torch()
    program = os.path.join(PREFIX, "bin", "levin")
    os.execv(program, [program, *sys.argv[1:]])


def export():
    script = os.path.join(PREFIX, "bin", "levin-export")
    os.execv(sys.executable, [sys.executable, script, *sys.argv[1:]])
