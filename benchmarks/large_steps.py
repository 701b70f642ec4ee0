"""Time of a training step whose work is in matrices: levin's steps against PyTorch's, eager and compiled, with AdamW.

usage: large_steps.py PROGRAM_TRAINER [--rounds N] [--steps N] [--threads N] [--without WAY ...] [NAME ...]

PROGRAM_TRAINER: build/release/bin/program_trainer. NAME: mlp (512-2048-2048-100, batch 8), gpt10m and gpt30m (8 x 128
tokens), resnet18 (batch 8 of 64 x 64). All ways train from the same weights on one batch in memory:

  python, python_fused, python_compiled     the loop by hand; AdamW's default, with fused=True, and torch.compile with it
  levin, levin_fused                        under `fit`, without and with AdamW's `fused`
  levin_compiled, levin_in_step             the same with a package of `levin compile`: fused, and with the optimizer in it

A step's time is that of the processor divided by the threads, without the first steps. Each way of levin's is a process of
its own, in turn with Python's in each round. Prints a line per way: the median, least and most of the rounds in ms, and the
median ratio to `python_fused` and to `python_compiled`. `of_floor` is the median as a multiple of the floor, which the first line of a
case says: the matrix products and convolutions of a step, each measured alone as `sgemm` of its shape (those inside of attention
do not count), and the 28 bytes of a parameter that AdamW reads and writes, at the rate of a copy.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

FIRST = 3
BYTES_OF_ADAMW = 28


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.before, self.after = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.before(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.after(x))))


class Gpt(nn.Module):
    def __init__(self, blocks, width, heads, words=4096, length=128):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, input):
        x = self.words(input) + self.places.weight[: input.shape[1]]
        return self.head(self.norm(self.blocks(x))).transpose(1, 2)


class Residual(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.first, self.second = nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.first_norm, self.second_norm = nn.BatchNorm2d(out), nn.BatchNorm2d(out)
        self.short = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)) if stride != 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.second_norm(self.second(F.relu(self.first_norm(self.first(x))))) + self.short(x))


def resnet18():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for channels, out, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
        layers += [Residual(channels, out, stride), Residual(out, out, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def mlp():
    return nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 100))


def tokens():
    return {"input": torch.randint(4096, (8, 128)), "target": torch.randint(4096, (8, 128))}


CASES = {
    "mlp": (mlp, lambda: {"input": torch.randn(8, 512), "target": torch.randint(100, (8,))}),
    "gpt10m": (lambda: Gpt(8, 288, 6), tokens),
    "gpt30m": (lambda: Gpt(12, 448, 7), tokens),
    "resnet18": (resnet18, lambda: {"input": torch.randn(8, 3, 64, 64), "target": torch.randint(1000, (8,))}),
}


class Products(TorchDispatchMode):
    """Counts the matrix products (count, rows, inner, columns) of what runs in it; a convolution is one, and its backward two."""

    def __init__(self):
        super().__init__()
        self.calls = collections.Counter()

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        result = function(*arguments, **(named or {}))
        name = function.overloadpacket.__name__
        if name in ("mm", "bmm"):
            self.add(arguments[0], arguments[1])
        elif name == "addmm":
            self.add(arguments[1], arguments[2])
        elif name == "convolution":
            self.add_convolution(result, arguments[1], 1)
        elif name == "convolution_backward":
            self.add_convolution(arguments[0], arguments[2], sum(arguments[-1][:2]))
        return result

    def add(self, a, b):
        self.calls[math.prod(a.shape[:-2]), a.shape[-2], a.shape[-1], b.shape[-1]] += 1

    def add_convolution(self, output, weight, products):
        self.calls[1, output.shape[0] * output[0, 0].numel(), weight[0].numel(), weight.shape[0]] += products


def fastest(call, seconds=0.1):
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def floor_of(name, threads):
    """Milliseconds that a step takes at least: its matrix products, and the memory of its optimizer."""
    torch.set_num_threads(threads)
    make, batch = CASES[name]
    module, data = make().train(), batch()
    with Products() as products:
        F.cross_entropy(module(data["input"]), data["target"]).backward()
    seconds = 0
    for (count, rows, inner, columns), calls in products.calls.items():
        a, b = torch.ones(count, rows, inner), torch.ones(count, inner, columns)
        a, b, multiply = (a[0], b[0], torch.mm) if count == 1 else (a, b, torch.bmm)
        out = multiply(a, b)
        seconds += calls * fastest(lambda: multiply(a, b, out=out))  # noqa: B023
    flops = sum(2 * calls * math.prod(shape) for shape, calls in products.calls.items())
    memory = torch.ones(1 << 25)
    copy = torch.empty_like(memory)
    rate = 2 * memory.nbytes / fastest(lambda: copy.copy_(memory))
    of_memory = BYTES_OF_ADAMW * sum(parameter.numel() for parameter in module.parameters()) / rate
    return {"ms": 1e3 * (seconds + of_memory), "products_ms": 1e3 * seconds, "gflop_per_second": flops / seconds / 1e9,
            "memory_ms": 1e3 * of_memory, "gb_per_second": rate / 1e9}  # fmt: skip


class Python:
    """A loop by hand, whose steps continue from round to round."""

    def __init__(self, name, fused, compiled, threads):
        torch.set_num_threads(threads)
        torch.manual_seed(1)
        make, batch = CASES[name]
        self.threads, self.module, self.batch = threads, make().train(), batch()
        self.optimizer = torch.optim.AdamW(self.module.parameters(), lr=1e-4, fused=fused or None)
        loss_of = lambda: F.cross_entropy(self.module(self.batch["input"]), self.batch["target"])  # noqa: E731
        self.loss_of = torch.compile(loss_of) if compiled else loss_of

    def run(self, steps):
        for step in range(FIRST + steps):
            if step == FIRST:
                begin = time.process_time()
            self.optimizer.zero_grad()
            self.loss_of().backward()
            self.optimizer.step()
        return (time.process_time() - begin) / steps / self.threads


class Levin:
    def __init__(self, trainer, folder, name, more, threads):
        self.environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        self.threads, self.seconds = threads, folder / "seconds"
        self.flags = [
            "--model.class", "ProgramModule", "--model.program", folder / "net.pt2", "--model.loss", "cross_entropy",
            "--model.optimizer.class", "AdamW", "--model.optimizer.lr", 1e-4, *more, "--data.class", "Tensors",
            "--data.file", folder / "data.pt", "--data.batch_size", 8, "--seed", 1, "--accelerator", "cpu",
        ]  # fmt: skip
        self.trainer = trainer

    def command(self, name, *more):
        words = [str(word) for word in (self.trainer, name, *self.flags, *more)]
        done = subprocess.run(words, capture_output=True, text=True, env=self.environment)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def compile(self, package, optimizer):
        print(self.command("compile", "--out", package, "--optimizer", optimizer, "--python", sys.executable).strip(), flush=True)
        self.flags += ["--compiled-step", package]

    def run(self, steps):
        clock = json.dumps([{"class": "StepClock", "first": FIRST, "file": str(self.seconds)}])
        self.command("fit", "--max-steps", FIRST + steps, "--barebones", "true", "--callbacks", clock)
        return float(self.seconds.read_text()) / self.threads


def ways_of(arguments, folder, name):
    make, batch = CASES[name]
    torch.manual_seed(1)
    module, data = make().train(), batch()
    torch.save({key: value for key, value in data.items()}, folder / "data.pt")
    torch.export.save(torch.export.export(module, (), {"input": data["input"]} if name.startswith("gpt") else None, strict=False)
                      if name.startswith("gpt") else torch.export.export(module, (data["input"],)), folder / "net.pt2")  # fmt: skip
    threads, fused = arguments.threads, ("--model.optimizer.fused", "true")
    ways = {
        "python": lambda: Python(name, False, False, threads),
        "python_fused": lambda: Python(name, True, False, threads),
        "python_compiled": lambda: Python(name, True, True, threads),
        "levin": lambda: Levin(arguments.trainer, folder, name, (), threads),
        "levin_fused": lambda: Levin(arguments.trainer, folder, name, fused, threads),
        "levin_compiled": lambda: compiled(Levin(arguments.trainer, folder, name, fused, threads), "eager"),
        "levin_in_step": lambda: compiled(Levin(arguments.trainer, folder, name, (), threads), "in_step"),
    }

    def compiled(levin, optimizer):
        levin.compile(folder / f"{optimizer}.pt2", optimizer)
        return levin

    return {way: make() for way, make in ways.items() if way not in arguments.without}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trainer")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=0, help="0: about two seconds of a round")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("names", nargs="*", default=[])
    arguments = parser.parse_intermixed_args()
    for name in arguments.names or CASES:
        with tempfile.TemporaryDirectory() as folder:
            ways = ways_of(arguments, pathlib.Path(folder), name)
            any_way = next(iter(ways.values()))
            steps = arguments.steps or max(3, min(100, round(2 / any_way.run(2))))
            floor = floor_of(name, arguments.threads)
            line = {"name": name, "threads": arguments.threads, "way": "floor", **{key: round(value, 2) for key, value in floor.items()}}
            print(json.dumps(line), flush=True)
            times = {way: [] for way in ways}
            for _ in range(arguments.rounds):
                for way, runner in ways.items():
                    times[way].append(runner.run(steps) * 1e3)
            for way, of_rounds in times.items():
                row = {"name": name, "threads": arguments.threads, "way": way, "ms": round(statistics.median(of_rounds), 2),
                       "least": round(min(of_rounds), 2), "most": round(max(of_rounds), 2),
                       "of_floor": round(statistics.median(of_rounds) / floor["ms"], 2)}  # fmt: skip
                for peer in ("python_fused", "python_compiled"):
                    if peer in times:
                        row[f"of_{peer}"] = round(statistics.median(a / b for a, b in zip(of_rounds, times[peer])), 3)
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
