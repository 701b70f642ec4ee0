"""The solver of examples/fortran_closure learns its closure, and continues to the same bits when it was killed.

usage: fortran_closure_test.py PROGRAM
"""

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMP_NUM_THREADS": "1",
}


def start(folder):
    return subprocess.Popen(
        ["mpirun", "-n", "2", sys.argv[1], "400", folder],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )


def run(folder):
    job = start(folder)
    said, _ = job.communicate(timeout=300)
    assert job.returncode == 0, said
    return said


def run_and_kill(folder):
    """Kills a run soon after it has saved its next checkpoint, unless it ends before that."""
    checkpoint = pathlib.Path(folder) / "closure.ckpt"

    def saved():
        return checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0

    before = saved()
    job = start(folder)
    while job.poll() is None and saved() == before:
        time.sleep(0.01)
    time.sleep(random.uniform(0, 0.3))
    was_running = job.poll() is None
    if was_running:
        os.killpg(job.pid, signal.SIGKILL)
    subprocess.run(["pkill", "-KILL", "-f", folder], check=False)
    job.communicate()
    return was_running


def tracer(said):
    return re.search(r"tracer +(\S+)", said)[1]


def main():
    if not shutil.which("mpirun"):
        print("SKIPPED: there is no mpirun")
        return
    with tempfile.TemporaryDirectory() as unbroken, tempfile.TemporaryDirectory() as broken:
        # What a job that is killed leaves of Open MPI's, else in /dev/shm.
        ENVIRONMENT.update({"OMPI_MCA_btl_vader_backing_directory": broken, "TMPDIR": broken})
        expected = run(unbroken)
        kills = sum(run_and_kill(broken) for _ in range(2))
        assert kills > 0
        said = run(broken)
        assert "continues at step" in said, said
        assert tracer(said) == tracer(expected), (said, expected)
        print(f"{kills} kills; tracer {tracer(said)}")


if __name__ == "__main__":
    main()
