"""Kills trainings of exported programs at random moments and lets them go on: each ends with the bits of the unbroken one.

Usage: python killed_programs_test.py PROGRAM_TRAINER [--kills N] [--compiled-kills N] [--in-step-kills N] [NAME ...]

The networks draw random numbers (dropout), and epochs have 50 batches, so that a run goes on in the middle of one.
--compiled-kills counts those of runs with a compiled step, --in-step-kills those with an optimizer in it. scripts/soak has
the long form.
"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import program_parity_test as parity
import torch

BATCHES, STEPS = 50, 200


def train_until(command, root, seconds):
    """Starts a run, or goes on with it, and kills it by SIGKILL so long after its next checkpoint; -S kills it S seconds after
    its start, None not. Returns the seconds from that checkpoint to the end, or None if it was killed."""
    saved = lambda: {path.name for path in root.rglob("epoch=*.ckpt")}
    before = saved()
    process = subprocess.Popen([*command, "--default-root-dir", root], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while process.poll() is None and saved() == before and (seconds is None or seconds >= 0):
        time.sleep(0.005)
    begin = time.monotonic()
    try:
        text = process.communicate(timeout=seconds and abs(seconds))[0]
    except subprocess.TimeoutExpired:
        process.kill()
        text = process.communicate()[0]
    if process.returncode not in (0, -signal.SIGKILL):
        sys.exit(f"{' '.join(map(str, command))} exited {process.returncode}:\n{text}")
    return time.monotonic() - begin if process.returncode == 0 else None


def killed_runs(command, folder, kills):
    """Runs that are killed at random moments and go on until they end; as many as take that number of kills. Returns the
    number of kills, the weights of each run, and those of one that nobody killed."""
    command = [*map(str, command), "--callbacks", '[{"class": "ModelCheckpoint", "every_n_train_steps": 3}]',
               "--ckpt-path", "last"]
    weights = lambda root: parity.load(next(root.rglob("weights.pt")))
    whole = train_until(command, folder / "unbroken", None)
    killed, ended = 0, []
    while killed < kills:
        root = folder / f"killed{len(ended)}"
        while train_until(command, root, random.uniform(-whole / 4, whole)) is None:
            killed += 1
        ended.append(weights(root))
        shutil.rmtree(root)
    return killed, ended, weights(folder / "unbroken")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trainer")
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--compiled-kills", type=int, default=3)
    parser.add_argument("--in-step-kills", type=int, default=3)
    parser.add_argument("names", nargs="*", default=["gcn"])
    arguments = parser.parse_intermixed_args()
    failed = False
    for name in arguments.names:
        architecture = parity.architectures.ARCHITECTURES[name]
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            os.environ["TMPDIR"] = str(folder)  # a run that is killed while it loads its package leaves that there
            torch.export.save(parity.architectures.exported(name), folder / "net.pt2")
            torch.manual_seed(2)
            torch.save(architecture.batch(parity.BATCH * BATCHES), folder / "data.pt")
            step = [*parity.flags(folder, name, architecture.optimizer), "--max-steps", STEPS]
            kinds = [("eager", arguments.kills), ("compiled", arguments.compiled_kills), ("in_step", arguments.in_step_kills)]
            for kind, kills in kinds:
                if not kills:
                    continue
                package, more = folder / f"{kind}.pt2", []
                if kind != "eager":
                    optimizer = "in_step" if kind == "in_step" else "eager"
                    parity.run(arguments.trainer, "compile", *step, "--out", package, "--optimizer", optimizer, "--python", sys.executable)
                    more = ["--compiled-step", package]
                killed, ended, unbroken = killed_runs([arguments.trainer, "fit", *step, *more], folder / kind, kills)
                same = sum(parity.distance(weights, unbroken)[1] == len(unbroken) for weights in ended)
                failed = failed or same < len(ended)
                print(f"{name}, {kind}: {killed} kills; {same} of {len(ended)} runs ended as the unbroken one", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
