"""Runs of python_dataset_tool, for python_dataset_test.py and python_faults_test.py."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import uuid

try:
    import numpy  # noqa: F401
    import torch
except ImportError:
    print("SKIPPED: this Python has no torch")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent

TOOL = sys.argv[1]
FILE = str(HERE / "python_data_sets.py")
SEED = 3
MARK = "LEVIN_TEST_MARK"


def command(out, function, jobs, options):
    options = {"file": FILE, "function": function, "batch_size": 4, "seed": SEED, "shuffle": False, "python": sys.executable,
               **options}
    return [TOOL, json.dumps(options), str(out / "out"), *(json.dumps(job) for job in jobs)]


def processes_of(mark):
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def none_left(mark):
    """Whether all processes of a mark have ended, which the system may take a moment for."""
    for _ in range(40):
        if not processes_of(mark):
            return True
        time.sleep(0.05)
    return False


def run(function, *jobs, **options):
    """The batches of each job; or the text of what is refused. The warnings and output are in run.err."""
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(command(pathlib.Path(out), function, jobs or ({},), options), capture_output=True, text=True,
                              errors="replace", env={**os.environ, MARK: mark}, timeout=120)
        run.err, run.out = done.stderr, done.stdout
        assert none_left(mark), processes_of(mark)
        if done.returncode == 3:
            return done.stdout.strip()
        assert done.returncode == 0, (done.returncode, done.stderr, done.stdout)
        return [torch.load(path) for path in sorted(pathlib.Path(out).iterdir(), key=lambda path: int(path.suffix[1:]))]


def refused(function, *texts, **options):
    answer = run(function, **options)
    assert isinstance(answer, str), answer
    for text in texts:
        assert text in answer, (text, answer)


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and (a == b).all().item() and not b.requires_grad
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return len(a) == len(b) and all(map(same, a, b))


def check(batches, expected, **flags):
    """`expected`: the fields of each batch."""
    assert not isinstance(batches, str), batches
    assert len(batches) == len(expected), (len(batches), len(expected))
    for got, wanted in zip(batches, expected):
        assert same(wanted, got["fields"]), (wanted, got)
    assert [batch["last"] for batch in batches] == [False] * (len(batches) - 1) + [True] * bool(batches)


def pair(batch):
    return dict(zip(("input", "target"), batch))


def in_order(size, rank=0, world=1, batch_size=4):
    """The samples of each batch of a rank, as levin's loaders divide them."""
    batches = []
    for start in range(0, size, batch_size * world):
        units = list(range(start, min(start + batch_size * world, size)))
        whole, more = divmod(len(units), world)
        begin = rank * whole + min(rank, more)
        batches.append(units[begin:begin + whole + (rank < more)])
    return batches


def run_tests(names):
    """Those functions of a file that are tests, or whose names have the second argument in them."""
    for name, test in list(names.items()):
        if name.startswith("test_") and (len(sys.argv) < 3 or sys.argv[2] in name):
            began = time.monotonic()
            test()
            print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)
