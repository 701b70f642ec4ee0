"""The solver of examples/fortran_closure learns its closure, and continues to the same bits when it was killed.

usage: fortran_closure_test.py PROGRAM
"""

import pathlib
import random
import re
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import mpi_job  # noqa: E402

RANKS, STEPS = 2, 400


def run(folder):
    return mpi_job.run(RANKS, [sys.argv[1], STEPS, folder], folder)


def run_and_kill(folder):
    """Kills a run soon after it has saved its next checkpoint, unless it ends before that."""
    checkpoint = pathlib.Path(folder) / "closure.ckpt"

    def saved():
        return checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0

    before = saved()
    job = mpi_job.start(RANKS, [sys.argv[1], STEPS, folder], folder)
    while job.poll() is None and saved() == before:
        time.sleep(0.01)
    time.sleep(random.uniform(0, 0.3))
    was_running = job.poll() is None
    mpi_job.kill(job)
    return was_running


def tracer(said):
    return re.search(r"tracer +(\S+)", said)[1]


def main():
    if not shutil.which("mpirun"):
        print("SKIPPED: there is no mpirun")
        return
    with tempfile.TemporaryDirectory() as unbroken, tempfile.TemporaryDirectory() as broken:
        expected = run(unbroken)
        kills = sum(run_and_kill(broken) for _ in range(2))
        assert kills > 0
        said = run(broken)
        assert "continues at step" in said, said
        assert tracer(said) == tracer(expected), (said, expected)
        print(f"{kills} kills; tracer {tracer(said)}")


if __name__ == "__main__":
    main()
