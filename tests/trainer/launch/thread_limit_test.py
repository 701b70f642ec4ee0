"""Where the system starts only so many processes and threads (ulimit -u), a run says so, and what it has saved is whole.

usage: thread_limit_test.py LEVIN [--most N] [--kinds KIND...]

Runs one process and two ranks under each limit from 1 on, as a user of its own, until a run ends well.
"""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

SKIPPED = 77
USER = 54321  # without processes
# What says that no thread could be started; the last is said where LibTorch ends the process.
REASONS = ("ulimit -u", "Resource temporarily unavailable")
CHECKPOINTS = '[{"class": "ModelCheckpoint", "every_n_train_steps": 1, "save_top_k": -1}]'
LOGGERS = '[{"class": "CSVLogger"}, {"class": "JSONLinesLogger"}, {"class": "TensorBoardLogger"}]'

KINDS = {
    # A large network: its checksums are computed by several threads.
    "one": ["--model.net", "resnet18", "--data.train_size", "32", "--trainer.max_steps", "2", "--trainer.num_threads", "2"],
    "loader": ["--data.num_workers", "3", "--data.train_size", "96", "--trainer.logger", LOGGERS],
    "ranks": ["--trainer.devices", "2", "--trainer.strategy", "ddp", "--data.num_workers", "1", "--data.train_size", "96",
              "--trainer.timeout_seconds", "20"],
    "fsdp": ["--trainer.devices", "2", "--trainer.strategy", "fsdp", "--data.train_size", "96", "--trainer.timeout_seconds", "20"],
}


def as_user(limit):
    """Returns what a child does before it starts the program."""
    def become():
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
    return become


class Failures:
    def __init__(self):
        self.texts = []

    def check(self, holds, where, what, text=""):
        if not holds:
            self.texts.append(f"{where}: {what}\n{text[-3000:]}")


def run(levin, kind, limit, failures):
    """Returns whether the run ended well."""
    where = f"{kind}, at most {limit}"
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        config = pathlib.Path(folder) / "config.json"
        config.write_text('{"name": "run", "trainer": {"max_epochs": 1}, "model": {"class": "ImageClassifier", "net": "lenet"}, '
                          '"data": {"class": "SyntheticDigits", "batch_size": 16, "val_size": 16}}')
        command = [levin, "fit", "--config", config, "--default-root-dir", f"{folder}/root", "--enable-progress-bar", "false",
                   "--trainer.callbacks", CHECKPOINTS, *KINDS[kind]]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300, cwd=folder,
                                  preexec_fn=as_user(limit), env={**os.environ, "HOME": folder, "TMPDIR": folder})
        except subprocess.TimeoutExpired as error:
            failures.check(False, where, "does not end", str(error.stderr))
            return False
        said = done.stdout + done.stderr
        logs = "".join(file.read_text(errors="replace") for file in pathlib.Path(folder).rglob("rank_*.log"))
        if done.returncode != 0:
            failures.check("levin: error: " in said + logs, where, f"exit code {done.returncode} without an error", said)
            # A rank whose Gloo lacks a thread may wait for the others until its time is over.
            reasons = REASONS + (("did not answer the other ranks",) if kind in ("ranks", "fsdp") else ())
            failures.check(any(reason in said + logs for reason in reasons), where, "the reason is not said", said + logs)
        failures.check("libgomp" not in said + logs, where, "OpenMP ends the process", said)
        if "terminate called" in said + logs:
            # Two ranks may take the last thread from each other: LibTorch then ends one.
            failures.check(kind in ("ranks", "fsdp"), where, "is ended by std::terminate", said)
            failures.check("this process ends, since the system starts no more threads" in said + logs, where,
                           "is ended without a reason", said + logs)
        for checkpoint in pathlib.Path(folder).rglob("*.ckpt"):
            verified = subprocess.run([levin, "ckpt", "verify", checkpoint], capture_output=True, text=True)
            failures.check(verified.returncode == 0, where, f"{checkpoint.name} is damaged", verified.stdout)
        return done.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("levin")
    parser.add_argument("--most", type=int, default=40, help="the largest limit that is tried")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS), help="what is run")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("SKIPPED: only root can become another user, and is not limited itself")
        sys.exit(SKIPPED)
    levin = os.path.abspath(arguments.levin)
    if subprocess.run([levin, "--version"], capture_output=True, preexec_fn=as_user(100), cwd="/").returncode != 0:
        print("SKIPPED: another user cannot run the program where it lies")
        sys.exit(SKIPPED)
    failures = Failures()
    for kind in arguments.kinds:
        limit = 1
        while not run(levin, kind, limit, failures):
            limit += 1
            if limit > arguments.most:
                failures.check(False, kind, f"never ends well with at most {arguments.most} threads")
                break
        print(f"{kind}: ends well from {limit} processes and threads on", flush=True)
    print("\n".join(failures.texts))
    sys.exit(1 if failures.texts else 0)


main()
