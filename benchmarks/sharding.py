"""Strategies that divide a model among ranks: levin's ddp, zero1 and fsdp beside PyTorch's fully_shard, in turn.

usage: sharding.py PROGRAM [--rounds N] [--memory]    PROGRAM is benchmark_sharding

Times: a GPT of 25 million parameters on two ranks over Gloo. With --memory: peaks of resident memory of an MLP of 101
million parameters with AdamW on 2, 4 and 8 ranks, above what a process with a model of one small layer takes in
training; what a dry run says; and what the shards and three units take. Without holes in the heap.
"""

import argparse
import os
import statistics
import subprocess
import sys

from ddp import seconds_of_steps

STEPS = 15
WARM_UP = 3
UNIT = 1024 * 1024 + 1024
PARAMETERS = 96 * UNIT


def train(steps):
    """A rank of PyTorch's; rank 0 prints the median of a step in microseconds."""
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.device_mesh import init_device_mesh

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            batch, time_, width = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(batch, time_, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(batch, time_, width))
            return x + self.down(nn.functional.gelu(self.up(self.norm2(x)), approximate="tanh"))

    class GPT(nn.Module):
        def __init__(self, vocabulary=256, length=128, layers=8, heads=8, width=512):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
            self.norm = nn.LayerNorm(width)

        def forward(self, tokens):
            x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
            for block in self.blocks:
                x = block(x)
            return nn.functional.linear(self.norm(x), self.tokens.weight)

    dist.init_process_group("gloo")
    torch.manual_seed(1)
    net = GPT()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in net.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(net, mesh=mesh)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    batches = [torch.randint(256, (4, 129)) for _ in range(4)]

    def make_step(number):
        tokens = batches[number % len(batches)]
        optimizer.zero_grad()
        logits = net(tokens[:, :-1])
        nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
        optimizer.step()

    seconds = seconds_of_steps(steps, make_step)
    if dist.get_rank() == 0:
        print(f"{1e6 * statistics.median(seconds[WARM_UP:]):.1f} 0", flush=True)
    dist.barrier()
    os._exit(0)


def run(command, **variables):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return list(map(float, done.stdout.strip().splitlines()[-1].split()))


def compare_times(program, rounds):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d",
                "--rdzv-endpoint", "127.0.0.1:0", __file__, "--rank", STEPS]
    ways = {
        "ddp": [program, "gpt", "ddp", 2, STEPS],
        "zero1": [program, "gpt", "zero1", 2, STEPS],
        "fsdp": [program, "gpt", "fsdp", 2, STEPS],
        "fsdp, shard gradients": [program, "gpt", "fsdp", 2, STEPS, "gradients"],
        "PyTorch's fully_shard": torchrun,
    }
    figures = {way: [] for way in ways}
    for _ in range(rounds):
        for way, command in ways.items():
            figures[way].append(run(command)[0] / 1e3)
    medians = {way: statistics.median(values) for way, values in figures.items()}
    print("| | ms of a step, median (of rounds, from to) | of ddp's |\n|---|---|---|")
    for way, values in figures.items():
        print(f"| {way} | {medians[way]:.1f} ({min(values):.1f} to {max(values):.1f}) | {medians[way] / medians['ddp']:.2f} |")
    peer = "PyTorch's fully_shard"
    print(f"fsdp takes {medians['fsdp'] / medians[peer]:.2f} of fully_shard's step")


def compare_memory(program):
    print("| ranks | strategy | measured, MB | a dry run says | measured / said | 16 P/N bytes + 3 units + 5 % |")
    print("|---|---|---|---|---|---|")
    # Tensors have memory of their own, so that holes in the heap do not count.
    heap = {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=1048576"}
    for ranks in (2, 4, 8):
        base = run([program, "none", "fsdp", ranks, 8], **heap)[2]
        bound = 1.05 * (16 * PARAMETERS / ranks + 3 * 4 * UNIT) / 1e6
        for strategy in ("ddp", "zero1", "fsdp"):
            peak = run([program, "mlp", strategy, ranks, 5 if ranks < 8 else 4], **heap)[1] - base
            said = run([program, "mlp", strategy, ranks, 0])[0]
            of_bound = f"{bound:.0f}" if strategy == "fsdp" else ""
            print(f"| {ranks} | {strategy} | {peak:.0f} | {said:.0f} | {peak / said:.3f} | {of_bound} |", flush=True)


def main():
    if sys.argv[1:2] == ["--rank"]:
        return train(int(sys.argv[2]))
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", action="store_true")
    given = parser.parse_args()
    if given.memory:
        compare_memory(given.program)
    else:
        compare_times(given.program, given.rounds)


if __name__ == "__main__":
    main()
