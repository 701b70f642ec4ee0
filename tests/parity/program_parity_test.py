"""Trains programs of torch.export under levin and their modules in Python, from the same weights on the same batches.

Usage: python program_parity_test.py PROGRAM_TRAINER [--full] [--steps N] [NAME ...]

Compared are: the weights and the loss of each step (those of one tensor differ by at most 1e-6 of its largest number, or
of 1), what the trained module computes in eval mode, a run that is stopped and resumed with the unbroken one (all bits),
and for some architectures two ranks of ddp with a loop of two replicas. Dropout and other noise draw the same numbers on
both sides. By default the quick architectures are trained for 20 steps; --full trains all of them for 100 steps, with
SGD and with Adam. Exits 77 (skipped) if levin was built without ProgramModule.
"""

import argparse
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

os.environ["OMP_NUM_THREADS"] = "1"
warnings.simplefilter("ignore")  # torch mentions that NumPy is absent
here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here / "programs"))

import architectures  # noqa: E402
import torch  # noqa: E402
from torch.nn import functional as F  # noqa: E402

SEED, BATCH, TOLERANCE = 5, 8, 1e-6
RANKED = ("mlp", "gpt", "unet", "gcn", "tcn")  # these also train on two ranks
torch.set_num_threads(1)
torch.backends.mha.set_fastpath_enabled(False)  # a kernel for inference alone, with other roundings


def loss_of(module, architecture, batch):
    output = module(**architectures.inputs_of(batch))
    return output if architecture.loss == "output" else getattr(F, architecture.loss)(output, batch["target"])


def optimizer_of(module, options):
    named = {key: value for key, value in options.items() if key != "class"}
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    return getattr(torch.optim, options["class"])(trained, foreach=False, **named)


def train_in_python(name, data, steps, options, ranks=1):
    """The losses, and the module. Rank r takes part r of each batch of 8 * ranks, with random numbers of its own."""
    architecture = architectures.ARCHITECTURES[name]
    first = architectures.module_of(name).train()
    replicas = [copy.deepcopy(first) for _ in range(ranks)]
    optimizers = [optimizer_of(module, options) for module in replicas]
    draws = [torch.Generator().manual_seed(SEED + rank).get_state() for rank in range(ranks)]
    losses = []
    for step in range(steps):
        for rank, module in enumerate(replicas):
            begin = (step * ranks + rank) * BATCH
            torch.set_rng_state(draws[rank])
            optimizers[rank].zero_grad()
            loss = loss_of(module, architecture, {key: value[begin : begin + BATCH] for key, value in data.items()})
            loss.backward()
            draws[rank] = torch.get_rng_state()
            losses.append(loss.item())
        for shared in zip(*(module.parameters() for module in replicas)):
            if ranks > 1 and shared[0].grad is not None:
                mean = sum(parameter.grad for parameter in shared) / ranks
                for parameter in shared:
                    parameter.grad.copy_(mean)
        for optimizer in optimizers:
            optimizer.step()
    return losses, replicas[0]


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} exited {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def flags(folder, name, options, *more):
    optimizer = [part for key, value in options.items() for part in (f"--model.optimizer.{key}", json.dumps(value).strip('"'))]
    return ["--model.class", "ProgramModule", "--model.program", folder / "net.pt2", "--model.loss",
            architectures.ARCHITECTURES[name].loss, *optimizer, "--data.class", "Tensors", "--data.file", folder / "data.pt",
            "--data.batch_size", BATCH, "--seed", SEED, "--accelerator", "cpu", "--log-every-n-steps", 1, "--enable-model-summary",
            "false", "--enable-progress-bar", "false", "--default-root-dir", folder / "runs", *more]


def distance(ours, theirs):
    """The largest difference, as a part of the tensor's largest number or of 1; and how many tensors are equal bit for bit."""
    if sorted(ours) != sorted(theirs):
        sys.exit(f"other tensors: {sorted(set(ours) ^ set(theirs))}")
    worst, equal = 0.0, 0
    for key, value in theirs.items():
        assert ours[key].shape == value.shape and ours[key].dtype == value.dtype and value.isfinite().all(), key
        if value.numel():
            a, b = (t.double() for t in (ours[key], value))
            worst = max(worst, ((a - b).abs().max() / b.abs().max().clamp(min=1)).item())
        equal += torch.equal(ours[key], value)
    return worst, equal


def load(path):
    return torch.load(path, weights_only=True)


class Comparison:
    def __init__(self, trainer, steps):
        self.trainer, self.steps, self.failed = trainer, steps, []

    def expect(self, holds, name, what):
        if not holds:
            self.failed.append(f"{name}: {what}")
            print(f"FAILED {name}: {what}", flush=True)

    def train(self, name, folder, data, options, ranks):
        label = f"{name} {options['class']}" + (f" on {ranks} ranks" if ranks > 1 else "")
        losses, module = train_in_python(name, data, self.steps, options, ranks)
        run_folder = folder / "runs" / label.replace(" ", "_") / "version_0"
        run(self.trainer, "fit", *flags(folder, name, options), "--max-steps", self.steps, "--devices", ranks, "--name",
            label.replace(" ", "_"))
        ours, theirs = load(run_folder / "weights.pt"), module.state_dict()
        worst, equal = distance(ours, theirs)
        rows = [json.loads(line) for line in open(run_folder / "metrics.jsonl")]
        our_losses = [row["train_loss"] for row in rows if "train_loss" in row]
        means = [sum(losses[i : i + ranks]) / ranks for i in range(0, len(losses), ranks)]
        self.expect(len(our_losses) == self.steps, label, f"{len(our_losses)} losses for {self.steps} steps")
        loss = max(abs(a - b) / max(1, abs(b)) for a, b in zip(our_losses, means))
        start = architectures.module_of(name).state_dict()
        self.expect(distance(start, theirs)[0] > 1e-4, label, "the weights did not move, so that the comparison says nothing")
        self.expect(worst <= TOLERANCE, label, f"weights differ by {worst:.1e}")
        self.expect(loss <= TOLERANCE, label, f"losses differ by {loss:.1e}")
        print(f"{label}: weights {worst:.1e} ({equal} of {len(theirs)} tensors equal bit for bit), losses {loss:.1e}", flush=True)
        return module

    def evaluate(self, name, folder, data, module):
        batch = {key: value[:13] for key, value in data.items()}  # another size than that of training
        inputs = architectures.inputs_of(batch)
        torch.save({"weights": module.state_dict(), "inputs": list(inputs.values())}, folder / "batch.pt")
        run(self.trainer, "run", folder / "net.pt2", folder / "batch.pt", folder / "outputs.pt")
        torch.manual_seed(SEED)
        expected = module.eval()(**inputs).detach()
        (given,) = load(folder / "outputs.pt")["eval"]["outputs"]
        self.expect(torch.equal(given, expected), name, "eval mode computes something else")

    def compare(self, name, both):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            architecture = architectures.ARCHITECTURES[name]
            torch.export.save(architectures.exported(name), folder / "net.pt2")
            torch.manual_seed(2)
            data = architecture.batch(BATCH * 2 * self.steps)
            torch.save(data, folder / "data.pt")
            optimizers = [architecture.optimizer]
            if both:
                optimizers.append(architectures.ADAM if architecture.optimizer["class"] == "SGD" else architectures.SGD)
            for options in optimizers:
                module = self.train(name, folder, data, options, 1)
            self.evaluate(name, folder, data, module)
            run(self.trainer, "verify-resume", *flags(folder, name, architecture.optimizer), "--steps", self.steps)
            if name in RANKED:
                self.train(name, folder, data, architecture.optimizer, 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trainer")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--steps", type=int)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    names = arguments.names or [name for name, a in architectures.ARCHITECTURES.items() if arguments.full or a.quick]
    comparison = Comparison(arguments.trainer, arguments.steps or (100 if arguments.full else 20))
    for name in names:
        comparison.compare(name, both=arguments.full)
    if comparison.failed:
        sys.exit("\n".join(comparison.failed))
    print(f"{len(names)} architectures agree")


if __name__ == "__main__":
    main()
