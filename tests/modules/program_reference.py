"""Exports programs for program_module_test, trains the same models in eager Python, and opens what levin writes.

usage: program_reference.py make|train|open CASES_JSON FOLDER
"""

import json
import sys
import warnings

import torch
from torch.export import Dim

warnings.simplefilter("ignore")
torch.set_num_threads(1)
FOLDER = sys.argv[3]


class Net(torch.nn.Module):
    """A buffer that is assigned, one that is not saved, batch norm, dropout, a constant."""

    def __init__(self, p=0.3):
        super().__init__()
        self.block = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU())
        self.drop = torch.nn.Dropout(p)
        self.head = torch.nn.Linear(8, 3)
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("scale", torch.tensor([0.5, 1.0, 2.0]), persistent=False)
        self.shift = torch.tensor([0.1, 0.2, 0.3])

    def forward(self, x):
        self.calls = self.calls + 1
        rows = torch.arange(x.shape[0], dtype=torch.float32)[:, None] * 1e-3 + torch.zeros(x.shape[0], 1)
        return self.head(self.drop(self.block(x))) * self.scale + self.shift + rows


class Nested(torch.nn.Module):
    """Inputs and outputs in dicts and lists, tied weights, sizes that are computed, a frozen parameter."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(5, 5)
        self.second = torch.nn.Linear(5, 5)
        self.second.weight = self.first.weight
        self.frozen = torch.nn.Parameter(torch.full((5,), 0.5), requires_grad=False)
        self.head = torch.nn.Linear(5, 3)
        self.unused = torch.nn.Linear(2, 2)

    def forward(self, x, features, mask=None):
        b, n = features["pair"][0].shape[0], features["pair"][1].shape[1]
        both = torch.stack([features["pair"][0], features["pair"][1][:, :5]], 1).reshape(b * 2, -1)
        y = self.second(self.first(x).tanh()) * self.frozen + both.reshape(b, 2, 5).mean(1) * (n // 2)
        return {"hidden": y, "logits": self.head(y * mask.to(y.dtype)[:, None]), "size": n}


class WithLoss(Net):
    def forward(self, x, y):
        return torch.nn.functional.cross_entropy(super().forward(x), y, label_smoothing=0.1)


class Layers(torch.nn.Module):
    """Repeated parts, of which backward may compute the activations again."""

    def __init__(self):
        super().__init__()
        block = lambda: torch.nn.Sequential(torch.nn.LayerNorm(8), torch.nn.Linear(8, 16), torch.nn.GELU(),
                                            torch.nn.Dropout(0.2), torch.nn.Linear(16, 8))
        self.embed = torch.nn.Linear(5, 8)
        self.layers = torch.nn.ModuleList([block(), block(), block()])
        self.head = torch.nn.Linear(8, 3)

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


class Frozen(Net):
    """Its batch norm does not train."""

    def train(self, mode=True):
        super().train(mode)
        self.block[1].eval()
        return self


class NoGrad(Net):
    """A part that runs without gradients, whose input goes on beside its output."""

    def forward(self, x):
        with torch.no_grad():
            kept = self.drop(self.block(x))
            scaled = kept * 2
        return self.head(kept + scaled) + super().forward(x)


class Normed(torch.nn.Module):
    """Layers with statistics and modes of their own kinds."""

    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(5, 8)
        self.norm = torch.nn.InstanceNorm1d(2, affine=True, track_running_stats=True)
        self.batch = torch.nn.BatchNorm1d(8)
        self.act = torch.nn.RReLU()
        self.head = torch.nn.Linear(8, 3)

    def forward(self, x):
        x = self.norm(self.body(x).reshape(-1, 2, 4)).reshape(-1, 8)
        return self.head(self.act(self.batch(x)))


class Learning(torch.nn.Module):
    """Layers that write buffers by themselves in train mode: a running mean, and spectral norm in its old form."""

    def __init__(self):
        super().__init__()
        self.body = torch.nn.utils.spectral_norm(torch.nn.Linear(5, 8))
        self.head = torch.nn.Linear(8, 3)
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x):
        x = self.body(x)
        if self.training:
            self.mean.mul_(0.9).add_(0.1 * x.detach().mean(0))
        return self.head(x - self.mean)


class Branch(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(5, 3)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.head(x), lambda x: self.head(-x), (x,))


def data():
    x = (torch.arange(200.0) * 0.37).sin().reshape(40, 5)
    return x, (torch.arange(40) * 7) % 3


def nested_inputs(x):
    return x, {"pair": [x + 1, torch.cat([x, x[:, :2]], 1)]}, x[:, 0] > 0


BATCH = Dim("batch", min=2, max=512)


def models():
    torch.manual_seed(3)
    return {"net": Net(), "loss": WithLoss(), "nested": Nested(), "layers": Layers(), "frozen": Frozen().train(),
            "no_grad": NoGrad(), "normed": Normed(), "normed_evaluated": Normed().eval(), "evaluated": Net().eval(), "static": Net(),
            "learning": Learning()}


def export(name, model):
    x, y = data()
    example, shapes = (x[:8],), ({0: BATCH},)
    if name == "loss":
        example, shapes = (x[:8], y[:8]), ({0: BATCH}, {0: BATCH})
    if name == "nested":
        example = nested_inputs(x[:8])
        shapes = ({0: BATCH}, {"pair": [{0: BATCH}, {0: BATCH}]}, {0: BATCH})
    if name == "static":
        shapes = None
    return torch.export.export(model, example, dynamic_shapes=shapes)


def make(_):
    made = models()
    for name, model in made.items():
        torch.export.save(export(name, model), f"{FOLDER}/{name}.pt2")
    torch.export.save(export("net", made["net"]).run_decompositions(), f"{FOLDER}/decomposed.pt2")
    torch.export.save(torch.export.export(Branch(), (data()[0],)), f"{FOLDER}/branch.pt2")
    torch.jit.script(torch.nn.Linear(5, 3)).save(f"{FOLDER}/script.ts")
    torch.save(made["net"].state_dict(), f"{FOLDER}/state_dict.pt")
    x, y = data()
    torch.save({"x": x, "y": y}, f"{FOLDER}/data.pt")
    return {name: list(model.state_dict()) for name, model in made.items()}


def values(state):
    return {name: tensor.double().flatten().tolist() for name, tensor in state.items()}


def forward(name, model, x, y):
    if name == "loss":
        return model(x, y)
    out = model(*nested_inputs(x))["logits"] if name == "nested" else model(x)
    return torch.nn.functional.cross_entropy(out, y)


def train(name):
    """Two epochs of batches of 8 with SGD, as levin does it, and what the model computes in eval mode."""
    net = models()[name].train()
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], 0.1, momentum=0.9)
    x, y = data()
    torch.manual_seed(11)
    for _ in range(2):
        for i in range(0, 40, 8):
            optimizer.zero_grad()
            forward(name, net, x[i:i + 8], y[i:i + 8]).backward()
            optimizer.step()
    state = values(net.state_dict())
    with torch.no_grad():
        net.eval()
        return {"values": state, "loss": forward(name, net, x[:16], y[:16]).item()}


def opened(path):
    """What levin wrote: its values, and what it computes."""
    program = torch.export.load(path)
    x, _ = data()
    with torch.no_grad():
        return {"values": values(program.state_dict), "output": program.module()(x[:16]).double().flatten().tolist()}


cases = json.loads(sys.argv[2])
print(json.dumps([{"make": make, "train": train, "open": opened}[sys.argv[1]](case) for case in cases]))
