"""Samples per second of data sets of Python: by PythonDataset, and by torch's DataLoader with as many workers.

usage: python_dataset.py TOOL [--rounds N] [--workers N...] [--data NAME...]

TOOL is build/release/bin/python_dataset_tool. This file is also the one that has the data sets. Both loaders keep their
workers; the second epoch counts. The ways take turns, and the medians are printed, with the least and the most of the
rounds' ratios.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy
import torch

BATCH = 64


class Pictures(torch.utils.data.Dataset):
    """Augmented as torchvision does it: cropped, flipped, with noise, normalized."""

    def __init__(self, size=16384):
        self.pixels = torch.randint(0, 256, (size, 3, 40, 40), dtype=torch.uint8)

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, index):
        top, left = torch.randint(0, 9, (2,)).tolist()
        picture = self.pixels[index, :, top:top + 32, left:left + 32].float() / 255
        if torch.rand(()) < 0.5:
            picture = picture.flip(-1)
        return (picture + 0.01 * torch.randn(3, 32, 32) - 0.5) / 0.25, index % 10


class Rows(torch.utils.data.Dataset):
    """Rows of arrays, which cost next to nothing."""

    def __init__(self, size=65536):
        self.x = numpy.random.default_rng(0).normal(size=(size, 32)).astype(numpy.float32)
        self.y = numpy.arange(size) % 10

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index], self.y[index]


class Texts(torch.utils.data.Dataset):
    """Dicts with tokens and numbers."""

    def __len__(self):
        return 262144

    def __getitem__(self, index):
        return {"input_ids": torch.full((128,), index), "attention_mask": torch.ones(128, dtype=torch.int64),
                "weight": 0.5 * index}


CASES = {"pictures": Pictures, "rows": Rows, "texts": Texts}


def of_torch(name, workers):
    loader = torch.utils.data.DataLoader(CASES[name](), batch_size=BATCH, shuffle=True, num_workers=workers,
                                         persistent_workers=workers > 0)
    for _ in range(2):
        start, samples = time.perf_counter(), 0
        for batch in loader:
            samples += len(next(iter(batch.values())) if isinstance(batch, dict) else batch[0])
        seconds = time.perf_counter() - start
    return samples / seconds


def of_levin(tool, name, workers):
    options = {"file": __file__, "function": CASES[name].__name__, "batch_size": BATCH, "num_workers": workers,
               "python": sys.executable}
    command = [tool, json.dumps(options), "unused", json.dumps({"rate": True})]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--data", nargs="*", choices=CASES, default=list(CASES))
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'data':10}{'workers':>8}{'torch':>12}{'levin':>12}{'ratio':>8}")
    for name in given.data:
        for workers in given.workers:
            pairs = [(of_torch(name, workers), of_levin(given.tool, name, workers)) for _ in range(given.rounds)]
            theirs, ours = (statistics.median(rates) for rates in zip(*pairs))
            ratios = [mine / other for other, mine in pairs]
            print(f"{name:10}{workers:8}{theirs:12.0f}{ours:12.0f}{statistics.median(ratios):8.2f} "
                  f"({min(ratios):.2f} to {max(ratios):.2f})", flush=True)


if __name__ == "__main__":
    main()
