"""One step of ddp, two ranks on this machine: levin beside PyTorch's DistributedDataParallel and PyTorch Lightning, in turn.

usage: ddp.py PROGRAM [--rounds N] [CASE...]    PROGRAM is benchmark_ddp; cases are mlp, lenet and large
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

STEPS = {"mlp": 600, "lenet": 300, "large": 12}


def make_net(name):
    from torch import nn

    if name == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
    if name == "lenet":
        return nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                             nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84),
                             nn.ReLU(), nn.Linear(84, 10))
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 4800), nn.ReLU(), nn.Linear(4800, 4800), nn.ReLU(),
                         nn.Linear(4800, 4800), nn.ReLU(), nn.Linear(4800, 10))


def seconds_of_steps(steps, make_step):
    """The seconds of each call of make_step(number of the step)."""
    seconds = []
    last = time.perf_counter()
    for step in range(steps):
        make_step(step)
        now = time.perf_counter()
        seconds.append(now - last)
        last = now
    return seconds


def train(name, steps):
    """A rank of PyTorch's; rank 0 prints the median of a step in microseconds."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    net = torch.nn.parallel.DistributedDataParallel(make_net(name), gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    batches = [(torch.randn(32, 1, 28, 28), torch.randint(10, (32,))) for _ in range(50)]

    def make_step(number):
        inputs, targets = batches[number % len(batches)]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(inputs), targets).backward()
        optimizer.step()

    seconds = seconds_of_steps(steps, make_step)
    if dist.get_rank() == 0:
        print(f"{1e6 * statistics.median(seconds[steps // 10:]):.1f}", flush=True)
    dist.barrier()
    os._exit(0)  # an orderly end of the process group aborts now and then


def train_lightning(name, steps):
    """A rank of PyTorch Lightning's, without logger, bar and checkpoints."""
    import lightning
    import torch

    torch.set_num_threads(1)

    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = make_net(name)
            self.seconds = []
            self.last = time.perf_counter()

        def training_step(self, batch, batch_idx):
            return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def on_train_batch_end(self, outputs, batch, batch_idx):
            now = time.perf_counter()
            self.seconds.append(now - self.last)
            self.last = now

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9)

    net = Net()
    batches = [(torch.randn(32, 1, 28, 28), torch.randint(10, (32,))) for _ in range(50)]
    trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_steps=steps, barebones=True,
                                use_distributed_sampler=False)
    trainer.fit(net, torch.utils.data.DataLoader(batches, batch_size=None))
    if trainer.is_global_zero:
        print(f"{1e6 * statistics.median(net.seconds[steps // 10:]):.1f}", flush=True)
    trainer.strategy.barrier()
    os._exit(0)


def microseconds(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return float(done.stdout.strip().splitlines()[-1])


def compare(program, name, rounds):
    steps = str(STEPS[name])
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d",
                "--rdzv-endpoint", "127.0.0.1:0", __file__]
    ways = {
        "levin": [program, name, steps],
        "levin, zero1": [program, name, steps, "zero1"],
        "PyTorch": torchrun + ["--rank", name, steps],
        "PyTorch Lightning": torchrun + ["--lightning", name, steps],
    }
    figures = {way: [] for way in ways}
    for _ in range(rounds):
        for way, command in ways.items():
            figures[way].append(microseconds(command))
    medians = {way: statistics.median(values) for way, values in figures.items()}
    for way, values in figures.items():
        print(f"{name}, {way}: {medians[way]:.0f} us ({min(values):.0f} to {max(values):.0f})")
    for peer in ("PyTorch", "PyTorch Lightning"):
        print(f"{name}: levin takes {medians['levin'] / medians[peer]:.2f} of {peer}'s step", flush=True)


def main():
    if sys.argv[1:2] == ["--rank"]:
        return train(sys.argv[2], int(sys.argv[3]))
    if sys.argv[1:2] == ["--lightning"]:
        return train_lightning(sys.argv[2], int(sys.argv[3]))
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("cases", nargs="*", default=list(STEPS))
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_intermixed_args()
    for name in arguments.cases:
        compare(arguments.program, name, arguments.rounds)


if __name__ == "__main__":
    main()
