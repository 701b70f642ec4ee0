"""Ranks that share memory, one of which is killed at a random moment: nothing of them is left.

usage: rank_deaths_test.py LEVIN [--cases N] [--seed S]

A training of 2 to 4 ranks under ddp, zero1 or fsdp gets a SIGKILL for one rank, or for the process that started them. After that all
processes must end by themselves, and leave no process, no file in /dev/shm and none in the folder for temporary files.
"""

import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

MOST_SECONDS = 60  # a hang; --timeout-seconds is 10
MARK = "LEVIN_TEST_OF_DEATHS"


def marked(mark):
    """The processes that the mark has come down to."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                if (process / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                    found.append(int(process.name))
        except OSError:  # it has ended meanwhile
            pass
    return sorted(found)


def shared_files():
    folder = pathlib.Path("/dev/shm")
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def tried(levin, dice, mark):
    ranks, strategy = dice.randrange(2, 5), dice.choice(("ddp", "zero1", "fsdp"))
    moment = dice.uniform(0, 1.5)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "tmp").mkdir()
        before = shared_files()
        words = [levin, "fit", "--model.class", "ImageClassifier", "--model.net", "mlp", "--data.class", "SyntheticDigits", "--data.train-size",
                 "64", "--data.val-size", "16", "--data.batch-size", "4", "--accelerator", "cpu", "--devices", str(ranks), "--strategy", strategy,
                 "--max-epochs", "1000", "--timeout-seconds", "10", "--num-threads", "1", "--default-root-dir", "."]  # fmt: skip
        environment = {**os.environ, MARK: mark, "OMP_NUM_THREADS": "1", "TMPDIR": str(root / "tmp")}
        with open(root / "log", "w") as log:
            started = subprocess.Popen(words, cwd=root, env=environment, stdout=log, stderr=log, start_new_session=True)
            time.sleep(moment)
            there = marked(mark)
            victim = dice.choice(there) if there else started.pid
            what = f"{ranks} ranks, {strategy}, {'the first process' if victim == started.pid else 'a rank'} after {moment:.2f} s"
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
            begin = time.time()
            while (left := marked(mark)) and time.time() - begin < MOST_SECONDS:
                started.poll()
                time.sleep(0.02)
            for process in left:
                os.kill(process, signal.SIGKILL)
            started.wait()
        faults = [f"processes {left} have not ended"] if left else []
        if files := shared_files() - before:
            faults.append(f"/dev/shm has {files}")
        if files := [str(path.relative_to(root)) for path in (root / "tmp").rglob("*") if not path.is_dir()]:
            faults.append(f"temporary files are left: {files}")
        return what, faults, (root / "log").read_text()[-3000:] if faults else ""


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("levin")
    arguments.add_argument("--cases", type=int, default=5)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    dice, failed, seconds = random.Random(given.seed), 0, []
    for number in range(given.cases):
        begin = time.time()
        what, faults, text = tried(str(pathlib.Path(given.levin).resolve()), dice, f"{os.getpid()}_{number}")
        seconds.append(time.time() - begin)
        if faults:
            failed += 1
            print(f"seed {given.seed}, case {number}: {what}: {'; '.join(faults)}\n{text}", flush=True)
    print(f"{given.cases} deaths, {failed} of which left something; the slowest took {max(seconds):.1f} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
