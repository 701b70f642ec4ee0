"""What the wheel's `levin` does before the program starts, in a site-packages that has files of the right names, and what the wheel requires."""

import os
import pathlib
import subprocess
import sys
import tempfile

CHECKOUT = pathlib.Path(sys.argv[1])
VERSION = sys.argv[2]
sys.path.insert(0, str(CHECKOUT / "packaging/wheel"))
sys.dont_write_bytecode = True


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def metadata(name, version, *requirements):
    lines = ["Metadata-Version: 2.1", "Name: " + name, "Version: " + version]
    return "\n".join(lines + ["Requires-Dist: " + one for one in requirements]) + "\n"


def make_site(folder, torch):
    launcher = (CHECKOUT / "packaging/wheel/levin/__init__.py").read_text()
    write(folder / "levin/__init__.py", launcher)
    write(folder / "levin/bin/levin", '#!/bin/sh\necho "program $*"\nexit 5\n', 0o755)
    write(folder / "levin-0.1.0.dist-info/METADATA", metadata("levin", "0.1.0", "torch==2.13.0"))
    if torch:
        write(folder / f"torch-{torch}.dist-info/METADATA", metadata("torch", torch))
        (folder / "torch/lib").mkdir(parents=True)
    return folder


def launch(site, *arguments):
    """Returns the exit code and what was printed by `levin ARGUMENTS` with nothing but `site` in the path of modules."""
    code = f"import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]; sys.path.insert(0, {str(site)!r});"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code + "import levin; levin.main()", *arguments],
        capture_output=True, text=True,
    )
    return done.returncode, done.stdout + done.stderr


def check(what, holds):
    if not holds:
        sys.exit("does not hold: " + what)


with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    for number, version in enumerate(("2.13.0", "2.13.0+cpu")):
        code, text = launch(make_site(scratch / f"right{number}", version), "fit", "--seed", "a b")
        check(f"with torch {version} the program runs, and its exit code is levin's: {code} {text}",
              code == 5 and text == "program fit --seed a b\n")

    code, text = launch(make_site(scratch / "other", "2.12.1"))
    check("another torch ends with one sentence: " + text, code == 1 and text ==
          "levin: error: levin 0.1.0 was built with torch 2.13.0 and cannot run with 2.12.1: python -m pip install torch==2.13.0\n")

    code, text = launch(make_site(scratch / "none", None))
    check("no torch ends with one sentence: " + text, code == 1 and text ==
          "levin: error: levin 0.1.0 needs torch 2.13.0, and there is none: python -m pip install torch==2.13.0\n")

    site = make_site(scratch / "apart", "2.13.0")
    (site / "torch").rename(scratch / "torch")
    code, text = launch(site)
    check("a torch elsewhere ends with one sentence: " + text, code == 1 and "where levin is: install both into the same" in text)

import levin_metadata  # noqa: E402

os.environ["LEVIN_PYTHON"] = sys.executable
fields = levin_metadata.dynamic_metadata({}, {})
import torch.version  # noqa: E402

check(f"the wheel requires the torch of LEVIN_PYTHON: {fields}",
      fields["dependencies"] == ["torch==" + torch.version.__version__.partition("+")[0]])
check(f"the wheel's version is levin's: {fields}", fields["version"] == VERSION)
