"""Loading a state dict of 1 GB into a module: levin beside torch.load(mmap=True) and load_state_dict, in turn.

Also lists a file of 4 GB, most of which are holes. Files are made in FOLDER unless it has them.

usage: checkpoint_load.py PROGRAM FOLDER [--rounds N]    PROGRAM is benchmark_checkpoint_load
"""

import argparse
import pathlib
import statistics
import subprocess
import time

import torch

LAYERS, WIDTH = 64, 2048
LISTED_TENSORS, LISTED_BYTES = 256, 1 << 24


def make_net():
    return torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])


def make_listed(path):
    state = {f"layer.{i}": torch.zeros(LISTED_BYTES, dtype=torch.uint8) for i in range(LISTED_TENSORS)}
    torch.save(state, path)
    subprocess.run(["fallocate", "--dig-holes", path], check=False)  # only to save room


def python_load(path, net):
    begin = time.perf_counter()
    net.load_state_dict(torch.load(path, mmap=True, weights_only=True))
    return time.perf_counter() - begin


def python_list(path):
    begin = time.perf_counter()
    sum(tensor.numel() for tensor in torch.load(path, mmap=True, weights_only=True).values())
    return time.perf_counter() - begin


def levin(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def compare(title, ways, rounds):
    """`ways`: name -> function that gives seconds. The last one is Python's."""
    seconds = {name: [] for name in ways}
    for number in range(-1, rounds):  # the first one warms up
        for name, run in ways.items():
            figure = run()
            if number >= 0:
                seconds[name].append(figure)
    medians = {name: statistics.median(figures) for name, figures in seconds.items()}
    python = medians[list(ways)[-1]]
    for name, median in medians.items():
        low, high = min(seconds[name]), max(seconds[name])
        print(f"{title}, {name}: {1000 * median:.1f} ms ({1000 * low:.1f} to {1000 * high:.1f}), "
              f"{python / median:.2f}x of Python's speed", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    weights, listed = arguments.folder / "weights_1gb.pt", arguments.folder / "listed_4gb.pt"
    net = make_net()
    if not weights.exists():
        torch.save(net.state_dict(), weights)
    if not listed.exists():
        make_listed(listed)

    def start(*command):
        return subprocess.Popen([arguments.program, *map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                text=True)

    print(f"{torch.get_num_threads()} threads, {arguments.rounds} rounds, medians")
    with start("load", weights, LAYERS, WIDTH) as load, start("unverified", weights, LAYERS, WIDTH) as unverified:
        compare("1 GB into a module", {
            "levin": lambda: levin(load),
            "levin without checksums": lambda: levin(unverified),
            "torch.load(mmap=True), load_state_dict": lambda: python_load(weights, net),
        }, arguments.rounds)
    with start("list", listed) as listing:
        compare("4 GB listed", {
            "levin": lambda: levin(listing),
            "torch.load(mmap=True)": lambda: python_list(listed),
        }, arguments.rounds)


if __name__ == "__main__":
    main()
