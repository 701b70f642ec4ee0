"""Python writes .npy, .npz and tar files, files_tool reads and rewrites them, Python compares.

usage: files_python_test.py TOOL
"""

import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

try:
    import numpy
except ImportError:
    print("SKIPPED: this Python has no numpy")
    sys.exit(77)

DTYPES = ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"]
REFUSED = {
    "objects": (numpy.array([None, 1], dtype=object), "needs pickle"),
    "text": (numpy.array(["a", "b"]), "holds text"),
    "times": (numpy.array(["2020-01-01"], dtype="M8[D]"), "holds times"),
    "fields": (numpy.zeros(2, dtype=[("a", "f4"), ("b", "i4")]), "fields by name"),
}


def run(tool, *arguments, locale="C"):
    environment = dict(os.environ, LC_ALL=locale)
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, env=environment)


def arrays():
    values = numpy.arange(24) % 2
    for code in DTYPES:
        for order in "<>":
            dtype = numpy.dtype(code).newbyteorder(order)
            for shape in [(24,), (2, 3, 4), (0, 3), ()]:
                array = values[: int(numpy.prod(shape))].reshape(shape).astype(dtype)
                yield array
                yield numpy.asfortranarray(array)


def same(a, b):
    return a.shape == b.shape and a.dtype.newbyteorder("=") == b.dtype.newbyteorder("=") and numpy.array_equal(a, b)


def check_npy(tool, folder):
    source, out = folder / "source", folder / "out"
    source.mkdir()
    out.mkdir()
    written = {}
    for version in [(1, 0), (2, 0), (3, 0)]:
        for array in arrays():
            name = f"{len(written)}.npy"
            with open(source / name, "wb") as file:
                numpy.lib.format.write_array(file, array, version=version)
            written[name] = array
    for name, (array, _) in REFUSED.items():
        numpy.save(source / f"{name}.npy", array, allow_pickle=True)
    result = run(tool, "npy", source, out)
    assert result.returncode == 0, result.stderr
    for name, array in written.items():
        assert same(numpy.load(out / name, allow_pickle=False), array), (name, array.dtype, array.shape)
    lines = result.stdout.decode().splitlines()
    assert len(lines) == len(REFUSED), lines
    for name, (_, reason) in REFUSED.items():
        assert any(f"{name}.npy: " in line and reason in line for line in lines), (name, lines)
    return len(written)


def check_npz(tool, folder):
    arrays_by_name = {f"a{i}": array for i, array in enumerate(arrays())}
    for save in numpy.savez, numpy.savez_compressed:
        save(folder / "a.npz", **arrays_by_name)
        out = folder / save.__name__
        out.mkdir()
        result = run(tool, "npz", folder / "a.npz", out)
        assert result.returncode == 0, result.stderr
        assert len(list(out.iterdir())) == len(arrays_by_name)
        for name, array in arrays_by_name.items():
            assert same(numpy.load(out / f"{name}.npy"), array), (save.__name__, name)


def check_tar(tool, folder):
    members = {"plain.txt": b"x", "folder/" + "long" * 40 + ".npy": b"y" * 100_000, "\u00e9\u20ac.cls": b"", "last": b"z" * 512}
    for form in tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT:
        for mode in "w", "w:gz":
            for locale in "C", "C.UTF-8":
                with tarfile.open(folder / "a.tar", mode, format=form) as file:
                    names = [name for name in members if form != tarfile.USTAR_FORMAT or len(name) < 100]
                    for name in names:
                        about = tarfile.TarInfo(name)
                        about.size = len(members[name])
                        file.addfile(about, io.BytesIO(members[name]))
                result = run(tool, "tar", folder / "a.tar", folder, locale=locale)
                assert result.returncode == 0, (form, mode, locale, result.stderr)
                assert result.stdout.decode().splitlines() == names, (form, mode, locale, result.stdout)
                for number, name in enumerate(names):
                    assert (folder / str(number)).read_bytes() == members[name], (form, mode, name)


def check_sparse(tool, folder):
    """A member with holes is refused, not read as something else."""
    if not shutil.which("tar"):
        return
    with open(folder / "holes", "wb") as file:
        file.write(b"x")
        file.truncate(1 << 20)
        file.seek((1 << 20) - 4096)
        file.write(b"y" * 4096)
    for form in "gnu", "pax":
        subprocess.run(["tar", "--sparse", f"--format={form}", "-C", folder, "-cf", folder / "a.tar", "holes"], check=True)
        if (folder / "a.tar").stat().st_size > 1 << 19:
            continue  # a file system without holes
        result = run(tool, "tar", folder / "a.tar", folder)
        assert result.returncode == 1 and b"is a sparse file" in result.stderr, (form, result)


def main():
    tool = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        count = check_npy(tool, folder)
        check_npz(tool, folder)
        check_tar(tool, folder)
        check_sparse(tool, folder)
    print(f"{count} arrays and the tar formats are read as Python wrote them")


if __name__ == "__main__":
    main()
