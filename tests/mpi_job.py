"""Jobs of mpirun in tests: started apart from the test, and killed as a whole."""

import os
import signal
import subprocess


def environment(folder):
    """Processes may be more than cores, and what a killed job leaves of Open MPI's is in a folder: else it stays in /dev/shm."""
    return os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",  # in containers
        "OMPI_MCA_btl_vader_backing_directory": str(folder),
        "TMPDIR": str(folder),
        "OMP_NUM_THREADS": "1",
    }


def start(ranks, words, folder):
    return subprocess.Popen(
        ["mpirun", "-n", str(ranks), *map(str, words)],
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )


def kill(job, word):
    """Kills mpirun and its processes, whose command lines have the word."""
    if job.poll() is None:
        os.killpg(job.pid, signal.SIGKILL)
    subprocess.run(["pkill", "-KILL", "-f", str(word)], check=False)
    job.communicate()


def run(ranks, words, folder, code=0):
    """Runs a job to its end; returns what it printed."""
    job = start(ranks, words, folder)
    said, _ = job.communicate(timeout=300)
    assert job.returncode == code, (words, job.returncode, said)
    return said
