"""Training steps of benchmarks/training_cases.h in Python, as JSON with the peak memory.

usage: training_peers.py CASE pytorch|lightning|lightning_barebones STEPS

pytorch: a loop by hand with whole batches by indexing. lightning: DataLoader, logger, and the loss in the progress bar.
"""

import json
import logging
import os
import resource
import sys
import tempfile
import time
import warnings

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "modules", "nn"))
import networks_reference as networks  # noqa: E402

TOKENS, VOCABULARY = 64, 65
BATCH_SIZE = {"mlp": 32, "mlp_adam": 32, "lenet": 256, "resnet18": 16, "gpt": 8, "scalar": 32, "mlp_100m": 32}
SAMPLES = {"lenet": 8192, "resnet18": 128, "gpt": 160, "mlp_100m": 128}


def attention(self, x):
    """By PyTorch's own kernel; the reference writes it out."""
    batch, time_, width = x.shape
    q, k, v = (part.reshape(batch, time_, self.heads, -1).transpose(1, 2) for part in self.qkv(x).split(width, -1))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return self.projection(mixed.transpose(1, 2).reshape(batch, time_, width))


networks.Attention.forward = attention
networks.FeedForward.forward = lambda self, x: self.projection(F.gelu(self.expansion(x), approximate="tanh"))


class Scalar(nn.Module):
    def __init__(self):
        super().__init__()
        self.scalar = nn.Parameter(torch.ones(()))

    def forward(self, _):
        return self.scalar * self.scalar


def network(case):
    if case == "scalar":
        return Scalar()
    if case == "gpt":
        return networks.GPT(VOCABULARY, TOKENS, layers=4, heads=4, embedding=128, tied_head=True)
    if case == "resnet18":
        return networks.ResNet18(10, 3, small_input=True)
    if case == "lenet":
        return nn.Sequential(
            nn.Conv2d(1, 20, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), nn.AvgPool2d(2),
            nn.Flatten(), nn.Linear(800, 128), nn.ReLU(), nn.Linear(128, 10))
    widths = [784, 8192, 8192, 3200, 10] if case == "mlp_100m" else [784, 64, 10]
    layers = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(nn.Flatten(), *layers[:-1])


def data(case):
    samples = SAMPLES.get(case, 8000)
    if case == "gpt":
        return [torch.randint(VOCABULARY, (samples, TOKENS)) for _ in range(2)]
    shape = {"scalar": (1,), "resnet18": (3, 32, 32)}.get(case, (1, 28, 28))
    return torch.randn(samples, *shape), torch.randint(10, (samples,))


def loss_of(case, net, x, y):
    output = net(x)
    if case == "scalar":
        return output
    return F.cross_entropy(output.flatten(0, -2), y.flatten())


def optimizer_of(case, net):
    if case in ("mlp", "scalar"):
        return torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    return torch.optim.Adam(net.parameters(), lr=1e-3)


def train(case, net, optimizer, x, y):
    """Makes a step; returns the loss."""
    optimizer.zero_grad()
    loss = loss_of(case, net, x, y)
    loss.backward()
    optimizer.step()
    return loss


def pytorch(case, steps):
    net, (x, y), batch = network(case), data(case), BATCH_SIZE[case]
    optimizer = optimizer_of(case, net)
    begin, step = time.perf_counter(), 0
    while step < steps:
        order = torch.randperm(len(x))
        for i in range(0, len(x) - batch + 1, batch):
            index = order[i : i + batch]
            loss = train(case, net, optimizer, x[index], y[index])
            step += 1
            if step % 50 == 0:
                print(step, loss.item(), file=sys.stderr)
            if step == steps:
                break
    return time.perf_counter() - begin


def wait(accelerator):
    if accelerator == "gpu":
        torch.cuda.synchronize()


def lightning(case, steps, barebones=False, loader=None, accelerator="cpu", warm_up=0):
    """Returns the seconds of the steps after the first `warm_up`."""
    warnings.filterwarnings("ignore")
    for name in ("lightning.pytorch", "pytorch_lightning"):
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        import lightning.pytorch as pl
    except ImportError:
        import pytorch_lightning as pl

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = network(case)

        def training_step(self, batch, _):
            loss = loss_of(case, self.net, *batch)
            if not barebones:
                self.log("train_loss", loss, prog_bar=True)
            return loss

        def configure_optimizers(self):
            return optimizer_of(case, self.net)

        def on_train_start(self):
            self.begin = time.perf_counter()

        def on_train_batch_start(self, *_):
            if 0 < self.global_step == warm_up:
                wait(accelerator)
                self.begin = time.perf_counter()

        def on_train_end(self):
            wait(accelerator)
            self.seconds = time.perf_counter() - self.begin

    if loader is None:
        loader = torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(*data(case)), BATCH_SIZE[case], shuffle=True, drop_last=True)
    module = Module()
    with tempfile.TemporaryDirectory() as folder:
        common = {"max_steps": steps, "accelerator": accelerator, "devices": 1, "default_root_dir": folder}
        if barebones:
            trainer = pl.Trainer(barebones=True, **common)
        else:
            trainer = pl.Trainer(
                logger=pl.loggers.CSVLogger(folder), enable_checkpointing=False, enable_model_summary=False, **common)
        trainer.fit(module, loader)
    return module.seconds


if __name__ == "__main__":
    case, who, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seconds = pytorch(case, steps) if who == "pytorch" else lightning(case, steps, who == "lightning_barebones")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"us_per_step": round(seconds * 1e6 / steps, 2), "peak_memory_mb": round(memory, 1)}))
