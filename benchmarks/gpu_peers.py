"""The cases of `benchmark_gpu graphs` in Python, on the GPU: a loop by hand, and PyTorch Lightning on the same batch, which stays there.

usage: gpu_peers.py [STEPS [ROUNDS [CASE...]]]    CASE is mlp_adam, lenet or gpt

Prints a Markdown table of microseconds per step, medians of rounds in which the ways run in turn.
"""

import statistics
import sys
import time

import torch
import training_peers as peers

WARM_UP = 20
CASES = {"mlp_adam": 32, "lenet": 64, "gpt": 8}


def batch_of(case, size):
    return [one[:size].to("cuda") for one in peers.data(case)]


def by_hand(case, size, steps):
    net, batch = peers.network(case).to("cuda"), batch_of(case, size)
    optimizer = peers.optimizer_of(case, net)
    for step in range(WARM_UP + steps):
        if step == WARM_UP:
            torch.cuda.synchronize()
            begin = time.perf_counter()
        loss = peers.train(case, net, optimizer, *batch)
        if step % 50 == 49:
            print(step, loss.item(), file=sys.stderr)
    torch.cuda.synchronize()
    return time.perf_counter() - begin


class Repeated:
    """A loader of one batch; a list would be taken for a list of loaders."""

    def __init__(self, batch, times):
        self.batch, self.times = batch, times

    def __len__(self):
        return self.times

    def __iter__(self):
        return iter([self.batch] * self.times)


def lightning(case, size, steps):
    batches = Repeated(batch_of(case, size), WARM_UP + steps)
    return peers.lightning(case, WARM_UP + steps, loader=batches, accelerator="gpu", warm_up=WARM_UP)


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    print("| case | way | µs per step |\n|---|---|---|")
    for case in sys.argv[3:] or CASES:
        size = CASES[case]
        ways = {"PyTorch, by hand": by_hand, "PyTorch Lightning": lightning}
        times = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                times[name].append(way(case, size, steps) * 1e6 / steps)
        for name, all_times in times.items():
            print(f"| {case}, batches of {size} | {name} | {statistics.median(all_times):.0f} |", flush=True)


if __name__ == "__main__":
    main()
