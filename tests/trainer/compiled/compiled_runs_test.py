"""Runs with a compiled step: on ranks, with accumulation, clipping, averages, in 16 bit, stopped and resumed.

Usage: python compiled_runs_test.py PROGRAM_TRAINER [--draws N] [--seed N]

Each case takes one of three packages, which are compiled once: SIREN in 32 bit, LeNet, which has dropout, in bf16-mixed, and
SIREN with Adam's steps compiled too. The ranks end with the same bits; a run that stops in the middle of an epoch and goes on ends with the bits of the one that did
not; and without dropout the run ends near the eager one, and two ranks near one process with twice the batch.
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "parity"))

import program_parity_test as parity  # noqa: E402
import torch  # noqa: E402

STEPS, BATCHES, TOLERANCE = 20, 9, 1e-5
OPTIMIZERS = ({"class": "SGD", "lr": 0.01, "momentum": 0.9}, {"class": "Adam", "lr": 1e-3}, {"class": "AdamW", "lr": 1e-3})
CLIPPINGS = ((), ("--gradient-clip-val", 0.05), ("--gradient-clip-val", 0.01, "--gradient-clip-algorithm", "value"))
# Package: the network, the precision, the optimizer's steps.
PACKAGES = {"siren": ("siren", "32-true", "eager"), "lenet": ("lenet", "bf16-mixed", "eager"), "adam": ("siren", "32-true", "in_step")}
# Of each kind one, which CI runs; --draws adds random ones.
CASES = [{"package": "siren", "ranks": 2, "strategy": "ddp", "accumulate": 2, "clipping": CLIPPINGS[1], "optimizer": OPTIMIZERS[0]},
         {"package": "siren", "ranks": 2, "strategy": "zero1", "accumulate": 1, "clipping": CLIPPINGS[2], "optimizer": OPTIMIZERS[1]},
         {"package": "lenet", "ranks": 2, "strategy": "ddp", "accumulate": 1, "clipping": CLIPPINGS[1], "optimizer": OPTIMIZERS[2]},
         {"package": "lenet", "ranks": 1, "strategy": "auto", "accumulate": 3, "clipping": CLIPPINGS[0], "optimizer": OPTIMIZERS[1]},
         {"package": "adam", "ranks": 1, "strategy": "auto", "accumulate": 1, "clipping": CLIPPINGS[0], "optimizer": OPTIMIZERS[1]}]


def drawn(random_numbers):
    ranks = random_numbers.choice((1, 2))
    return {"package": random_numbers.choice(("siren", "lenet")), "ranks": ranks,
            "strategy": random_numbers.choice(("ddp", "zero1")) if ranks > 1 else "auto",
            "accumulate": random_numbers.randint(1, 4), "clipping": random_numbers.choice(CLIPPINGS),
            "optimizer": random_numbers.choice(OPTIMIZERS)}


class Nets:
    """The nets' programs, data and packages."""

    def __init__(self, trainer, folder):
        self.trainer, self.folder = trainer, folder
        for name, (net, _, optimizer) in PACKAGES.items():
            (folder / name).mkdir()
            torch.export.save(parity.architectures.exported(net), folder / name / "net.pt2")
            torch.manual_seed(2)
            torch.save(parity.architectures.ARCHITECTURES[net].batch(parity.BATCH * 2 * BATCHES), folder / name / "data.pt")
            parity.run(trainer, "compile", *self.flags(name, OPTIMIZERS[1]), "--out", self.package(name), "--optimizer", optimizer,
                       "--python", sys.executable)

    def package(self, name):
        return self.folder / name / "step.pt2"

    def flags(self, name, optimizer):
        net, precision, _ = PACKAGES[name]
        return [*parity.flags(self.folder / name, net, optimizer), "--precision", precision]

    def fit(self, case, what, *more, steps=STEPS, compiled=True, resumes=False):
        """What the ranks end with, and what the run printed."""
        out = self.folder / case["package"] / what
        out.mkdir(exist_ok=True)
        callbacks = [{"class": "Averages", "folder": str(out)}, {"class": "ModelCheckpoint", "every_n_train_steps": STEPS // 2}]
        command = [self.trainer, "fit", *self.flags(case["package"], case["optimizer"]), "--devices", case["ranks"], "--strategy",
                   case["strategy"], "--accumulate-grad-batches", case["accumulate"], *case["clipping"], "--max-steps", steps,
                   "--callbacks", json.dumps(callbacks), "--default-root-dir", out, *more]
        command += ["--compiled-step", self.package(case["package"])] if compiled else []
        command += ["--ckpt-path", "last"] if resumes else []
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} exited {done.returncode}:\n{done.stdout}\n{done.stderr}")
        return [flat(parity.load(file)) for file in sorted(out.glob("rank*.pt"))], done.stdout + done.stderr


def flat(ends):
    """Weights and averages by name, without the count of averages."""
    return {f"{kind} {name}": value for kind, state in ends.items() for name, value in state.items()}


def same(ours, theirs):
    return parity.distance(ours, theirs)[1] == len(theirs)


def compare(nets, case):
    """What is wrong with one case."""
    wrong = []
    expect = lambda holds, what: None if holds else wrong.append(what)
    with tempfile.TemporaryDirectory(dir=nets.folder) as scratch:
        at = lambda what: f"{scratch}/{what}"
        ends, text = nets.fit(case, at("whole"))
        used = re.search(r"compiled step: (\d+) batches of this run used", text)
        # An epoch's last window may have fewer batches.
        windows = -(-BATCHES * 2 // case["ranks"] // case["accumulate"])
        whole, rest = divmod(STEPS, windows)
        batches = whole * (BATCHES * 2 // case["ranks"]) + rest * case["accumulate"]
        eager = re.search(r", (\d+) ran eagerly", text)
        # An optimizer makes its state in its first step, which is eager.
        firsts = 1 if PACKAGES[case["package"]][2] == "in_step" else 0
        expect(used and int(used[1]) == batches - firsts and int(eager[1] if eager else 0) == firsts,
               f"not all of {batches} batches used it: {text}")
        expect(len(ends) == case["ranks"] and all(same(end, ends[0]) for end in ends), "the ranks end differently")
        nets.fit(case, at("stopped"), steps=STEPS // 2)
        again, _ = nets.fit(case, at("stopped"), resumes=True)
        expect(all(same(*pair) for pair in zip(again, ends, strict=True)), "resumed, it ends with other bits")
        eager, _ = nets.fit(case, at("eager"), compiled=False)
        expect(not same(eager[0], ends[0]), "the eager run has the same bits, so that the package did nothing")
        if PACKAGES[case["package"]][0] == "siren":
            distance = parity.distance(ends[0], eager[0])[0]
            expect(distance < TOLERANCE, f"it is {distance:.1e} from the eager run")
            if case["ranks"] > 1:
                whole, _ = nets.fit(case | {"ranks": 1, "strategy": "auto"}, at("one"), "--data.batch_size", case["ranks"] * parity.BATCH)
                distance = parity.distance(ends[0], whole[0])[0]
                expect(distance < TOLERANCE, f"it is {distance:.1e} from one process with the whole batch")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trainer")
    parser.add_argument("--draws", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random_numbers = random.Random(arguments.seed)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        nets = Nets(arguments.trainer, pathlib.Path(folder))
        for case in CASES + [drawn(random_numbers) for _ in range(arguments.draws)]:
            wrong = compare(nets, case)
            failed += bool(wrong)
            print(json.dumps(case), *(wrong or ["equal"]), sep="\n  ", flush=True)
    if failed:
        sys.exit(f"{failed} cases failed")


if __name__ == "__main__":
    main()
