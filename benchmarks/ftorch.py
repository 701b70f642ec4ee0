"""A training step in Fortran by levin against Cambridge-ICCS's FTorch, on the same networks and data.

usage: ftorch.py LEVIN_PEER FTORCH_PEER [--rounds N] [--steps N]

Both programs are of ftorch_peer.F90, whose head comment says how they are built; this Python has torch. They run in turn,
on one thread: the network of FTorch's example 11_Training (5 numbers to 5, batches of 1), and a larger one. The columns are
those of torchfort.py.
"""

import argparse
import os
import tempfile

import torch
from torch import nn
from torchfort import compare


def make_networks(folder):
    """Returns the arguments of the programs for each network."""
    torch.manual_seed(1)
    small = nn.Sequential(nn.Linear(5, 5, bias=False))
    with torch.no_grad():
        small[0].weight.copy_(2 * torch.eye(5))
    mlp = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    sizes = {"5-5, batch 1": (small, 5, 1), "MLP 8-64-64-8, batch 32": (mlp, 8, 32)}
    networks = {}
    for name, (network, numbers, batch) in sizes.items():
        file = os.path.join(folder, f"{numbers}.pt")
        torch.jit.script(network).save(file)
        networks[name] = (file, len(list(network.parameters())), numbers, numbers, batch)
    return networks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("levin")
    parser.add_argument("ftorch")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=10000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, network in make_networks(folder).items():
            words = [str(word) for word in (*network, options.steps)]
            print(f"\n{name}:\n")
            compare(
                {"levin": (os.path.abspath(options.levin), *words), "FTorch": (os.path.abspath(options.ftorch), *words)},
                options.rounds,
            )


if __name__ == "__main__":
    main()
