"""A training step through levin's C interface against NVIDIA's TorchFort, on the same network and data.

usage: torchfort.py LEVIN_C_BENCHMARK TORCHFORT_PEER [--rounds N] [--steps N]

Both programs are of torchfort_peer.c, whose head comment says how they are built; this Python has torch. They run in turn,
on one thread. TorchFort trains the network as TorchScript, from the initial weights that levin has too, and then its own
`mlp`, which has one more bias in each hidden layer, and a dropout. Columns: median of the rounds, with the least and the
largest; cpu: the same of the process's CPU time, which other work on the machine disturbs less; levin / it: the median of
levin's time by the row's in the same round; loss at the end: the mean of the last 64 steps.
Then what the gradient of 4 accumulated micro-batches amounts to: 1 says that it is their mean, 4 their sum.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import torch
from torch import nn


def output(*command):
    done = subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"failed ({done.returncode}): {' '.join(command)}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def make_network(folder):
    """Writes the network with its initial weights; returns the file for levin and that for TorchFort."""
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    weights, script = os.path.join(folder, "weights.pt"), os.path.join(folder, "script.pt")
    torch.save({f"net.layers.{name}": value for name, value in net.state_dict().items()}, weights)
    torch.jit.script(net).save(script)
    return weights, script


def compare(ways, rounds):
    """Runs commands in turn, and prints a table of their times; the first one is levin's."""
    rows = {way: [] for way in ways}
    for turn in range(rounds):
        for way in list(ways)[:: 1 if turn % 2 == 0 else -1]:
            rows[way].append(output(*ways[way]))
            print(f"round {turn + 1}, {way}: {rows[way][-1]}; load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    print("| | us per step | levin / it | cpu us per step | levin / it | first loss | loss at the end |")
    print("|---|---|---|---|---|---|---|")
    for way, mine in rows.items():
        cells = []
        for what in ("us_per_step", "cpu_us_per_step"):
            times = [row[what] for row in mine]
            ratio = statistics.median(a[what] / b for a, b in zip(next(iter(rows.values())), times))
            cells.append(f"{statistics.median(times):.1f} ({min(times):.1f} to {max(times):.1f}) | {ratio:.3f}")
        losses = f"{mine[0]['first_loss']:.7g} | {mine[0]['mean_of_last_losses']:.6g}"
        print(f"| {way} | {' | '.join(cells)} | {losses} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("levin")
    parser.add_argument("torchfort")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=20000)
    options = parser.parse_args()
    levin, torchfort = os.path.abspath(options.levin), os.path.abspath(options.torchfort)
    with tempfile.TemporaryDirectory() as folder:
        weights, script = make_network(folder)
        ways = {
            "levin": (levin, "step", str(options.steps), weights),
            "TorchFort, torchscript": (torchfort, "step", str(options.steps), script),
            "TorchFort, mlp": (torchfort, "step", str(options.steps)),
        }
        compare(ways, options.rounds)
    print("\n| gradient of 4 micro-batches, by that of one batch of the same samples | least | largest |\n|---|---|---|")
    for who, program in (("levin, accumulate_grad_batches", levin), ("TorchFort, grad_accumulation_steps", torchfort)):
        row = output(program, "accumulate")
        print(f"| {who} | {row['least_ratio']} | {row['largest_ratio']} |")


if __name__ == "__main__":
    main()
