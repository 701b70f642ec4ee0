"""Time of a training step of exported programs: levin's ProgramModule against the module in eager Python.

usage: programs.py PROGRAM_TRAINER [--rounds N] [--steps N] [NAME ...]    PROGRAM_TRAINER: build/release/bin/program_trainer

Both train from the same weights on the same batches of 8 in memory, on one thread, in turn. A step's time is the difference
of a long run and a short one, divided by the steps between, so that start-up is in neither. Prints medians over the rounds.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "parity"))

import program_parity_test as parity  # noqa: E402
import torch  # noqa: E402

architectures, BATCHES, SHORT = parity.architectures, 10, 20


def python_step(name, data, steps):
    """Seconds of a step, after as many as the short run has."""
    architecture, module = architectures.ARCHITECTURES[name], architectures.module_of(name).train()
    options = {key: value for key, value in architecture.optimizer.items() if key != "class"}
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    optimizer = getattr(torch.optim, architecture.optimizer["class"])(trained, **options)
    for step in range(SHORT + steps):
        if step == SHORT:
            begin = time.perf_counter()
        at = step % BATCHES * parity.BATCH
        optimizer.zero_grad()
        parity.loss_of(module, architecture, {key: value[at : at + parity.BATCH] for key, value in data.items()}).backward()
        optimizer.step()
    return (time.perf_counter() - begin) / steps


def levin_run(trainer, folder, name, steps):
    flags = parity.flags(folder, name, architectures.ARCHITECTURES[name].optimizer)
    command = [trainer, "fit", *flags, "--max-steps", steps, "--name", f"steps_{steps}", "--barebones", "true"]
    command = [part for part in map(str, command)]
    at = command.index("--log-every-n-steps")
    del command[at : at + 2]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trainer")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    for name in arguments.names or architectures.ARCHITECTURES:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            torch.export.save(architectures.exported(name), folder / "net.pt2")
            data = architectures.ARCHITECTURES[name].batch(parity.BATCH * BATCHES)
            torch.save(data, folder / "data.pt")
            rounds = []
            for _ in range(arguments.rounds):
                short, long = (levin_run(arguments.trainer, folder, name, SHORT + steps) for steps in (0, arguments.steps))
                rounds.append(((long - short) / arguments.steps, python_step(name, data, arguments.steps)))
            ours, theirs = (statistics.median(row[i] for row in rounds) * 1e6 for i in (0, 1))
            ratio = statistics.median(a / b for a, b in rounds)
            print(json.dumps({"name": name, "levin_us": round(ours), "python_us": round(theirs), "ratio": round(ratio, 2)}), flush=True)


if __name__ == "__main__":
    main()
