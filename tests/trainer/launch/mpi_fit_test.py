"""`levin fit` under mpirun, over MPI: mpi_fit_test.py LEVIN

With each MPI that is installed, Open MPI and MPICH, whose mpicc compiles liblevin_mpi.so again. Ranks train as over Gloo, one that
stops coming is named, and one that is killed ends the job.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))

import mpi_job  # noqa: E402

# Flags, and how many ranks.
CASES = (
    (["--strategy", "ddp"], 4),
    (["--strategy", "zero1"], 2),
    (["--strategy", "fsdp", "--mesh.shard", "2", "--mesh.tensor", "2"], 4),
)


def words(backend, where, flags):
    return [
        program, "fit", "--trainer.accelerator", "cpu", "--trainer.precision", "64-true", "--process-group-backend", backend,
        "--max-epochs", "1", "--enable-progress-bar", "false", "--seed", "3", "--default-root-dir", where, "--name", "run",
        "--timeout-seconds", "60", "--model.class", "LanguageModel", "--model.vocab_size", "132", "--model.block_size", "8",
        "--model.layers", "1", "--model.heads", "2", "--model.embedding", "16", "--data.class", "Text", "--data.level", "bytes",
        "--data.block_size", "8", "--data.val_fraction", "0.2", "--data.batch_size", "4", "--data.file", __file__, *flags,
    ]  # fmt: skip


def train(folder, backend, flags, ranks):
    """Returns the weights that a job ends with."""
    where = folder / backend
    shutil.rmtree(where, ignore_errors=True)
    said = mpi_job.run(ranks, words(backend, where, flags), folder)
    assert f"fit on {ranks} ranks" in said and "ranks of mpirun" in said, said
    (file,) = where.glob("run/version_*/weights.pt")
    return torch.load(file, weights_only=False)


def check_equals_gloo(folder, over_gloo):
    """`over_gloo` has a case's weights from the second MPI on."""
    for case, (flags, ranks) in enumerate(CASES):
        ours = train(folder, "mpi", flags, ranks)
        if case not in over_gloo:
            over_gloo[case] = train(folder, "gloo", flags, ranks)
        theirs = over_gloo[case]
        assert ours and ours.keys() == theirs.keys()
        off = max((ours[name] - theirs[name]).abs().max().item() for name in ours)
        assert off <= 1e-12, (flags, off)
        print(f"{flags[1:]}, {ranks} ranks: at most {off:.1e} from Gloo")


def variables_of(process):
    try:
        return pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:  # it has ended
        return []


def rank_1_of(job, log):
    """Returns the process of rank 1, once the job trains."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(0.2)
        if re.search(r"fit on 2 ranks", log.read_text()):
            time.sleep(1)
            for process in mpi_job.processes_below(job.pid):
                names = variables_of(process)
                if b"OMPI_COMM_WORLD_RANK=1" in names or b"PMI_RANK=1" in names:
                    return process
        assert job.poll() is None, log.read_text()
    raise AssertionError(log.read_text())


def check_lost_rank(folder, number, expected):
    """Rank 1 gets a signal while the job trains: it ends, and says why."""
    log = folder / "lost.log"
    flags = ["--strategy", "ddp", "--max-epochs", "100000", "--timeout-seconds", "3"]
    with log.open("w") as out:
        job = subprocess.Popen(
            [mpi_job.MPIRUN, "-n", "2", *map(str, words("mpi", folder / "lost", flags))],
            env=mpi_job.environment(folder), stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
        rank = rank_1_of(job, log)
        try:
            os.kill(rank, number)
            assert job.wait(timeout=40) != 0
        finally:
            mpi_job.kill(job)
    said = log.read_text()
    assert re.search(expected, said), said


def levin(all_words, folder):
    """Runs a fit that is refused; returns its output."""
    done = subprocess.run(
        [*map(str, all_words)], env=mpi_job.environment(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120
    )
    assert done.returncode == 2, (done.returncode, done.stdout)
    return done.stdout


def check_wrong_launcher(folder):
    """Ranks that levin has started, and MPI does not know."""
    said = levin(words("mpi", folder / "wrong", ["--strategy", "ddp", "--devices", "2"]), folder)
    assert "to MPI; start the ranks by the mpirun" in said, said


def check_without_library(folder):
    """A levin without the library beside it."""
    alone = folder / "alone" / "levin"
    alone.parent.mkdir()
    shutil.copy(program, alone)
    said = levin([alone, *words("mpi", folder / "none", ["--strategy", "ddp"])[1:]], folder)
    assert "there is no liblevin_mpi.so" in said, said


def compile_library(compiler, folder):
    source = ROOT / "hosts/mpi/levin_mpi.c"
    subprocess.run(
        [compiler, "-std=c99", "-shared", "-fPIC", f"-I{ROOT}/include", source, "-o", folder / "liblevin_mpi.so"], check=True
    )


def main():
    global program
    program = sys.argv[1]
    found = [mpi for mpi in ("openmpi", "mpich") if shutil.which(f"mpirun.{mpi}") and shutil.which(f"mpicc.{mpi}")]
    if not found:
        print("SKIPPED: neither Open MPI nor MPICH is there (mpirun.openmpi, mpicc.openmpi)")
        return
    over_gloo = {}
    for mpi in found:
        mpi_job.MPIRUN = f"mpirun.{mpi}"
        print(mpi)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            compile_library(f"mpicc.{mpi}", folder)
            os.environ["LEVIN_MODULES"] = name
            check_equals_gloo(folder, over_gloo)
            check_lost_rank(folder, signal.SIGSTOP, "rank 1 did not come: ended, or hanging: timed out after 3000 ms")
            check_lost_rank(folder, signal.SIGKILL, r"(process rank 1 with PID \d+ .* exited on signal 9|EXIT CODE: 9)")
            check_wrong_launcher(folder)
    del os.environ["LEVIN_MODULES"]
    with tempfile.TemporaryDirectory() as name:
        check_without_library(pathlib.Path(name))


if __name__ == "__main__":
    main()
