"""The solver of examples/fortran_closure learns its closure, and continues to the same bits when it was killed.

usage: fortran_closure_test.py PROGRAM
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMP_NUM_THREADS": "1",
}


def run(folder, seconds=None):
    """The output of a run; none if it was killed after so many seconds."""
    job = subprocess.Popen(
        ["mpirun", "-n", "2", sys.argv[1], "400", folder],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )
    try:
        said, _ = job.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        subprocess.run(["pkill", "-KILL", "-f", folder], check=False)
        job.communicate()
        return None
    assert job.returncode == 0, said
    return said


def tracer(said):
    return re.search(r"tracer +(\S+)", said)[1]


def main():
    if not shutil.which("mpirun"):
        print("SKIPPED: there is no mpirun")
        return
    with tempfile.TemporaryDirectory() as unbroken, tempfile.TemporaryDirectory() as broken:
        expected = run(unbroken)
        kills = 0
        said = None
        while said is None:
            said = run(broken, random.uniform(0.5, 3) if kills < 3 else None)
            kills += said is None
        assert tracer(said) == tracer(expected), (said, expected)
        print(f"{kills} kills; tracer {tracer(said)}")


if __name__ == "__main__":
    main()
