"""Jobs of mpirun in tests: started apart from the test, and killed as a whole. LEVIN_TEST_MPIRUN names another mpirun."""

import os
import pathlib
import signal
import subprocess

MPIRUN = os.environ.get("LEVIN_TEST_MPIRUN", "mpirun")


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
        [MPIRUN, "-n", str(ranks), *map(str, words)],
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )


def processes_below(parent):
    """Returns the numbers of a process's children, of theirs, and so on."""
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found = []
    left = [parent]
    while left:
        left += children.get(left[0], [])
        found.append(left.pop(0))
    return found[1:]


def kill(job):
    """Kills mpirun, stopped first so that it starts nothing more, and its processes."""
    if job.poll() is None:
        os.kill(job.pid, signal.SIGSTOP)
        for process in [job.pid, *processes_below(job.pid)]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
    job.communicate()


def run(ranks, words, folder, code=0):
    """Runs a job to its end; returns what it printed. The status of one that fails may be that of a rank that MPICH's mpirun has
    killed after another one's end."""
    job = start(ranks, words, folder)
    said, _ = job.communicate(timeout=300)
    killed = code != 0 and MPIRUN.endswith("mpich") and job.returncode == signal.SIGKILL
    assert job.returncode == code or killed, (words, job.returncode, said)
    return said
