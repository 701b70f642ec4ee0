"""Ranks of a host's MPI communicator train as ranks over Gloo do.

usage: mpi_test.py MPI_RUN [--kills N] [--seed N] [--kills-alone]

LEVIN_TEST_MPIRUN names another mpirun, MPICH's say; MPI_RUN is then built with that MPI.
"""

import argparse
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import mpi_job  # noqa: E402

STEPS = 40


def words(over, strategy, folder, mode="plain", steps=STEPS):
    return [program, over, strategy, steps, folder, mode]


def run(folder, over, strategy, mode="plain", code=0, ranks=4, steps=STEPS):
    folder.mkdir(exist_ok=True)
    return mpi_job.run(ranks, words(over, strategy, folder, mode, steps), folder.parent, code)


def weights(folder):
    return torch.load(folder / "end.ckpt", weights_only=False)["state_dict"]


def largest_difference(one, other):
    one, other = weights(one), weights(other)
    assert one.keys() == other.keys()
    return max((one[name] - other[name]).abs().max().item() for name in one)


def check_strategies(folder):
    for strategy in ("ddp", "zero1", "fsdp"):
        for over in ("mpi", "gloo"):
            run(folder / f"{strategy}-{over}", over, strategy)
        off = largest_difference(folder / f"{strategy}-mpi", folder / f"{strategy}-gloo")
        assert off <= 1e-12, (strategy, off)
        print(f"{strategy}: at most {off:.1e} from Gloo")


def check_subset(folder):
    """Rank 1 of 4 does not train, and exchanges messages of its own."""
    run(folder / "subset", "mpi", "ddp", "subset")
    run(folder / "three", "mpi", "ddp", ranks=3)
    run(folder / "three-gloo", "gloo", "ddp", ranks=3)
    assert largest_difference(folder / "subset", folder / "three") == 0
    off = largest_difference(folder / "subset", folder / "three-gloo")
    assert off <= 1e-12, off


def check_threads(folder):
    run(folder / "multiple", "mpi", "ddp", "multiple")
    assert largest_difference(folder / "multiple", folder / "ddp-mpi") == 0
    for mode, text, code in (
        ("thread", "this thread did not initialise MPI", 3),
        ("single", "MPI_THREAD_FUNNELED", 2),
        ("uninitialised", "MPI is not initialised", 2),
    ):
        said = run(folder / mode, "mpi", "ddp", mode, code=code)
        assert text in said, (mode, said)


def check_hanging_rank(folder):
    said = run(folder / "hang", "mpi", "ddp", "hang", code=3)
    assert "rank 1 did not come: ended, or hanging: timed out after 3000 ms" in said, said


def check_absent_rank(folder):
    said = run(folder / "absent", "mpi", "ddp", "absent", code=3)
    # An MPI may end the broadcast of rank 0 without rank 1, which is missed a call later then.
    reasons = "waited 3000 ms for the other ranks to start their session", "rank 1 did not come"
    assert any(reason in said for reason in reasons), said


def check_weights_between_steps(folder):
    """The model is used between two steps, when fsdp has divided its weights, as under zero1."""
    results = []
    for strategy in ("zero1", "fsdp"):
        said = run(folder / f"weights-{strategy}", "mpi", strategy, "weights", ranks=2)
        lines = sorted(line for line in said.splitlines() if line.split(" ")[0] in ("run", "reader", "gradient", "saved"))
        assert len(lines) == 8 and lines[2].split(" ")[1:] == lines[4].split(" ")[1:], said  # the reader's and the model's
        results.append(lines)
    assert results[0] == results[1], results
    assert largest_difference(folder / "weights-zero1", folder / "weights-fsdp") <= 1e-12


def check_order_of_ends(folder):
    """A start that was refused, and MPI that is finalised before the session, are errors of calls and no crash."""
    run(folder / "refused", "mpi", "ddp", "refused")
    assert largest_difference(folder / "refused", folder / "ddp-mpi") == 0
    for mode in ("finalised", "finalised-multiple"):
        said = run(folder / mode, "mpi", "ddp", mode, ranks=2)
        assert said.count("MPI was finalised while the session still trains") == 2, (mode, said)


def check_kills(folder, kills, seed):
    """The whole job is killed at random moments; it continues from its newest checkpoint, to the same bits."""
    steps = 60
    draw = random.Random(seed)
    for strategy in ("ddp", "zero1", "fsdp"):
        begun = time.monotonic()
        run(folder / f"unbroken-{strategy}", "mpi", strategy, "save", steps=steps, ranks=2)
        seconds = time.monotonic() - begun
    done = 0
    case = 0
    while done < kills:
        strategy = ("ddp", "zero1", "fsdp")[case % 3]
        target = folder / f"killed-{case}"
        target.mkdir()
        case += 1
        while True:
            job = mpi_job.start(2, words("mpi", strategy, target, "save", steps), folder)
            try:
                said, _ = job.communicate(timeout=draw.uniform(0.1, 1.1) * seconds if done < kills else 120)
                assert job.returncode == 0, said
                break
            except subprocess.TimeoutExpired:
                mpi_job.kill(job)
                done += 1
        off = largest_difference(target, folder / f"unbroken-{strategy}")
        assert off == 0, (strategy, case, off)
        shutil.rmtree(target)
    print(f"{done} kills in {case} runs, all as the unbroken ones")


def main():
    global program
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=1)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--kills-alone", action="store_true")
    options = parser.parse_args()
    if not shutil.which(mpi_job.MPIRUN):
        print("SKIPPED: there is no mpirun")
        return
    program = options.program
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if not options.kills_alone:
            check_strategies(folder)
            check_subset(folder)
            check_threads(folder)
            check_hanging_rank(folder)
            check_absent_rank(folder)
            check_weights_between_steps(folder)
            check_order_of_ends(folder)
        print(f"seed {options.seed}")
        check_kills(folder, options.kills, options.seed)


if __name__ == "__main__":
    main()
