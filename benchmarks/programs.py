"""Time of a training step of exported programs: levin's ProgramModule against the module in eager Python.

usage: programs.py PROGRAM_TRAINER [--rounds N] [--seconds S] [NAME ...]    PROGRAM_TRAINER: build/release/bin/program_trainer

Both train from the same weights on the same batches of 8 in memory, on one thread, in turn; Python by the optimizer's
default (foreach). A step's time is that of the processor, so other programs disturb it little, and start-up is not in it.
Prints medians over the rounds, and the median of the rounds' ratios.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "parity"))

import program_parity_test as parity  # noqa: E402
import torch  # noqa: E402

architectures, BATCHES, FIRST = parity.architectures, 10, 20


def python_step(name, data, steps):
    """Processor seconds of a step, after the first ones."""
    architecture, module = architectures.ARCHITECTURES[name], architectures.module_of(name).train()
    options = {key: value for key, value in architecture.optimizer.items() if key != "class"}
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    optimizer = getattr(torch.optim, architecture.optimizer["class"])(trained, **options)
    for step in range(FIRST + steps):
        if step == FIRST:
            begin = time.process_time()
        at = step % BATCHES * parity.BATCH
        optimizer.zero_grad()
        parity.loss_of(module, architecture, {key: value[at : at + parity.BATCH] for key, value in data.items()}).backward()
        optimizer.step()
    return (time.process_time() - begin) / steps


def levin_step(trainer, folder, name, steps):
    clock = json.dumps([{"class": "StepClock", "first": FIRST, "file": str(folder / "seconds")}])
    flags = list(map(str, parity.flags(folder, name, architectures.ARCHITECTURES[name].optimizer)))
    at = flags.index("--log-every-n-steps")
    del flags[at : at + 2]
    parity.run(trainer, "fit", *flags, "--max-steps", FIRST + steps, "--barebones", "true", "--callbacks", clock)
    return float((folder / "seconds").read_text())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trainer")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a round's steps in Python, about")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    for name in arguments.names or [name for name in architectures.ARCHITECTURES if name not in architectures.PUBLISHED]:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            torch.export.save(architectures.exported(name), folder / "net.pt2")
            data = architectures.ARCHITECTURES[name].batch(parity.BATCH * BATCHES)
            torch.save(data, folder / "data.pt")
            steps = max(10, round(arguments.seconds / python_step(name, data, 10)))
            rounds = [(levin_step(arguments.trainer, folder, name, steps), python_step(name, data, steps))
                      for _ in range(arguments.rounds)]
            ours, theirs = (statistics.median(row[i] for row in rounds) * 1e6 for i in (0, 1))
            ratio = statistics.median(a / b for a, b in rounds)
            print(json.dumps({"name": name, "levin_us": round(ours), "python_us": round(theirs), "ratio": round(ratio, 3)}), flush=True)


if __name__ == "__main__":
    main()
