"""Makes TorchScript files for script_module_test, trains them in Python, and opens those that levin writes.

usage: script_reference.py make|train|open CASES_JSON FOLDER
"""

import json
import sys
import warnings

import torch

warnings.simplefilter("ignore")  # torch.jit is deprecated in new versions
torch.set_num_threads(1)
FOLDER = sys.argv[3]


class Net(torch.nn.Module):
    """With all that a script can keep: parts without tensors, buffers that are assigned anew, a mode."""

    def __init__(self):
        super().__init__()
        self.block = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU())
        self.drop = torch.nn.Dropout(0.0)
        self.head = torch.nn.Linear(8, 3)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        if self.training:
            self.calls = self.calls + 1
        return self.head(self.drop(self.block(x)))


class WithLoss(Net):
    @torch.jit.export
    def loss(self, x, y):
        return torch.nn.functional.cross_entropy(self.forward(x), y, label_smoothing=0.1)


class Tied(torch.nn.Module):
    """Two parts that are one, and two parameters that are one."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(5, 5)
        self.second = torch.nn.Linear(5, 5)
        self.again = self.first
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.again(self.second(self.first(x)).tanh())[:, :3]


class Assigning(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(5, 3))

    def forward(self, x):
        self.w = self.w * 2
        return x @ self.w


def data():
    x = (torch.arange(200.0) * 0.37).sin().reshape(40, 5)
    return x, (torch.arange(40) * 7) % 3


def make(_):
    torch.manual_seed(3)
    scripts = {name: torch.jit.script(net) for name, net in
               {"net": Net(), "loss": WithLoss(), "tied": Tied(), "assigning": Assigning()}.items()}
    for name, script in scripts.items():
        script.eval() if name == "net" else script.train()
        script.save(f"{FOLDER}/{name}.ts")
    torch.jit.freeze(torch.jit.script(Net().eval())).save(f"{FOLDER}/frozen.ts")
    torch.jit.trace(torch.nn.Linear(5, 3), torch.ones(1, 5)).save(f"{FOLDER}/traced.ts")
    torch.save(Net().state_dict(), f"{FOLDER}/state_dict.pt")
    x, y = data()
    torch.save({"x": x, "y": y}, f"{FOLDER}/data.pt")
    return {name: list(script.state_dict()) for name, script in scripts.items()}


def values(module):
    return {name: tensor.double().flatten().tolist() for name, tensor in module.state_dict().items()}


def train(name):
    """Two epochs of batches of 8 with SGD, as levin does it."""
    net = torch.jit.load(f"{FOLDER}/{name}.ts").train()
    # After loading, parameters that are tied share memory, but are tensors of their own; levin makes one of them.
    unique = {p.data_ptr(): p for p in net.parameters()}
    if name == "tied":
        net = Tied()
        net.load_state_dict(torch.jit.load(f"{FOLDER}/{name}.ts").state_dict())
        unique = {id(p): p for p in net.parameters()}
    optimizer = torch.optim.SGD(unique.values(), 0.1, momentum=0.9)
    x, y = data()
    for _ in range(2):
        for i in range(0, 40, 8):
            optimizer.zero_grad()
            xs, ys = x[i:i + 8], y[i:i + 8]
            loss = net.loss(xs, ys) if name == "loss" else torch.nn.functional.cross_entropy(net(xs), ys)
            loss.backward()
            optimizer.step()
    return values(net)


def opened(path):
    """What levin wrote: its values, whether it trains, and what it computes in eval mode."""
    net = torch.jit.load(path)
    state = values(net)
    trains = [p.requires_grad for p in net.parameters()]
    mode = net.training
    return {"values": state, "trains": all(trains), "training": mode,
            "output": net.eval()(data()[0]).double().flatten().tolist()}


cases = json.loads(sys.argv[2])
print(json.dumps([{"make": make, "train": train, "open": opened}[sys.argv[1]](case) for case in cases]))
