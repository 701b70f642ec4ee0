"""Puts the system's libraries that a wheel of levin needs into it, with their licences, and gives it its platform tag.

usage: bundle.py WHEEL FOLDER     writes the complete wheel into FOLDER and prints its path
LibTorch stays outside: the wheel's dependency torch brings it.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
OF_TORCH = ["libtorch*.so*", "libc10*.so*", "libgomp*.so*", "libcudart*.so*"]
# The module of Parquet files looks for them in the pyarrow beside levin.
OF_PYARROW = ["libarrow*.so*", "libparquet*.so*"]


def run(*command):
    """Returns what the command printed; ends with its errors if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def allowed_packages():
    rows = (HERE / "bundled_libraries.txt").read_text(encoding="utf-8").splitlines()
    return dict(row.split(" ", 1) for row in rows if row and not row.startswith("#"))


def package_of(library):
    """Returns Debian's package and its version that the bundled file (libcurl-1a2b3c4d.so.4.8.0) was copied from."""
    original = re.sub(r"-[0-9a-f]{8}(?=\.)", "", library.name)
    # Of the folders that the loader looks into, since other programs bring libraries of the same names.
    for line in run("/sbin/ldconfig", "-p").splitlines():
        path = line.rpartition(" => ")[2]
        if not path or original not in (pathlib.Path(path).name, pathlib.Path(path).resolve().name):
            continue
        resolved = str(pathlib.Path(path).resolve())
        for spelling in (path, resolved, resolved.removeprefix("/usr")):  # dpkg knows the path before /lib became a link
            found = subprocess.run(["dpkg-query", "-S", spelling], capture_output=True, text=True)
            if found.returncode == 0:
                package = found.stdout.split(":")[0]
                return package, run("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package)
    sys.exit(f"{library.name} is of no package of this system, so its licence is not known")


def add_licenses(folder):
    """Writes levin.libs/licenses into the unpacked wheel: the licence of each library, and where its source is."""
    allowed = allowed_packages()
    licenses = folder / "levin.libs" / "licenses"
    licenses.mkdir()
    lines = ["Libraries of Debian in this folder, unchanged but for their names and search paths. `apt-get source PACKAGE=VERSION`",
             "gets the source of each; a changed build of one may take its place.", ""]
    for library in sorted((folder / "levin.libs").glob("*.so*")):
        package, source = package_of(library)
        if package not in allowed:
            sys.exit(f"{library.name} comes from {package}, which packaging/wheel/bundled_libraries.txt does not name")
        shutil.copyfile(f"/usr/share/doc/{package}/copyright", licenses / f"{package}.txt")
        lines.append(f"{library.name}: {allowed[package]}, {package}, source {source.replace(' ', '=')}")
    (licenses / "README.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(wheel, destination):
    destination = pathlib.Path(destination)
    destination.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        excluded = [word for pattern in OF_TORCH + OF_PYARROW for word in ("--exclude", pattern)]
        run(sys.executable, "-m", "auditwheel", "repair", *excluded, "--wheel-dir", scratch, wheel)
        (repaired,) = scratch.glob("*.whl")
        run(sys.executable, "-m", "wheel", "unpack", "--dest", scratch / "unpacked", repaired)
        (folder,) = (scratch / "unpacked").iterdir()
        add_licenses(folder)
        run(sys.executable, "-m", "wheel", "pack", "--dest-dir", destination, folder)
        print(destination / repaired.name)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
