"""Programs beyond the architectures: what inputs, outputs, state, sizes and functions of programs can be like."""

import dataclasses
from typing import NamedTuple, Optional

import torch
from torch import nn
from torch.nn import functional as F


class Base(nn.Module):
    def __init__(self, inputs=6, classes=4):
        super().__init__()
        self.linear = nn.Linear(inputs, classes)


class NestedInputs(Base):
    """{"pair": [a, b], "more": {"c": c}} and a tuple."""

    def forward(self, data, more):
        return self.linear(data["pair"][0] * data["pair"][1] + data["more"]["c"] + more[0] - more[1])


class KeywordInputs(Base):
    def forward(self, a, *, scale, shift):
        return self.linear(a * scale + shift)


class DictOutput(Base):
    def forward(self, input):
        y = self.linear(input)
        return {"loss": y.square().mean(), "logits": y, "parts": (y[:, 0], [y[:, 1]])}


class TupleOutput(Base):
    def forward(self, input):
        y = self.linear(input)
        return y, y.argmax(1), input


class NamedOutput(NamedTuple):
    logits: torch.Tensor
    hidden: torch.Tensor


class NamedTupleOutput(Base):
    def forward(self, input):
        y = self.linear(input)
        return NamedOutput(y, y.tanh())


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    loss: Optional[torch.Tensor] = None


class DataclassOutput(Base):
    def forward(self, input):
        return Output(self.linear(input))


class PassedThrough(Base):
    """Returns constants, inputs, parameters and None beside its result."""

    def forward(self, input):
        return self.linear(input), input, self.linear.bias, 3, None, 2.5, "text"


class Constants(Base):
    def __init__(self):
        super().__init__()
        self.scale = torch.arange(6.0)  # neither a parameter nor a buffer

    def forward(self, input):
        return self.linear(input * self.scale + torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) * 0.1)


class NonPersistent(Base):
    def __init__(self):
        super().__init__()
        self.register_buffer("rates", torch.linspace(0.5, 2, 6), persistent=False)
        self.register_buffer("kept", torch.ones(6))

    def forward(self, input):
        return self.linear(input * self.rates + self.kept)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
        self.second.weight = self.first.weight
        self.again = self.first

    def forward(self, input):
        return self.again(self.second(self.first(input)).tanh())


class AssignedBuffer(Base):
    """Buffers that are assigned anew, changed in place, and changed under no_grad."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("mean", torch.zeros(6))
        self.register_buffer("count", torch.tensor(0))

    def forward(self, input):
        self.calls = self.calls + 1
        self.count += 1
        with torch.no_grad():
            self.mean.mul_(0.9).add_(input.mean(0), alpha=0.1)
        return self.linear(input - self.mean / self.calls)


class MutatedInput(Base):
    def forward(self, input):
        input.mul_(2)
        return self.linear(input)


class Sizes(nn.Module):
    """Arithmetic with symbolic sizes: products, quotients, sums, arange, expand, full."""

    def __init__(self):
        super().__init__()
        self.linear, self.places = nn.Linear(6, 8), nn.Embedding(64, 8)

    def forward(self, input):  # [B, T, 6]
        b, t, _ = input.shape
        x = self.linear(input.reshape(b * t, 6)).view(b, -1, 8)
        x = x + self.places(torch.arange(t))
        half = x[:, : t // 2]
        x = torch.cat([x, half.flip(1), torch.zeros(b, 1, 8)], 1)
        index = torch.arange(b, device=input.device).unsqueeze(1) * x.shape[1] + torch.full((b, 1), t - 1)
        last = x.reshape(b * x.shape[1], 8)[index.squeeze(1)]
        return last * (t + 1) / (2 * b) + x.sum(1) / t ** 0.5 + last.new_ones(b, 8) * (t % 3) + max(t, b)


class BooleanMask(Base):
    def forward(self, input, mask):
        y = self.linear(input)
        kept = mask.bool() & (input[:, :1] > -10)
        y = torch.where(kept, y, torch.zeros_like(y)).masked_fill(kept.logical_not(), -1e9)
        return F.softmax(y.clamp(min=-1e3), -1)


class Einsum(Base):
    def forward(self, input):
        return self.linear(torch.einsum("bi,bj->bij", input, input).sum(2) + torch.einsum("bi->b", input)[:, None])


class AttentionDropout(Base):
    def forward(self, input):  # [B, 6]
        q = input.view(input.shape[0], 1, 6, 1).expand(-1, 2, -1, 4)
        y = F.scaled_dot_product_attention(q, q * 2, q + 1, dropout_p=0.2 if self.training else 0.0)
        y = F.dropout(y.mean((1, 3)), 0.3, self.training)
        return self.linear(F.alpha_dropout(F.dropout1d(y.unsqueeze(1), 0.1, training=self.training).squeeze(1), 0.1, self.training))


class FixedDropout(Base):
    """Drops in eval mode, too."""

    def forward(self, input):
        return self.linear(F.dropout(input, 0.5, training=True))


class RandomFunctions(Base):
    def forward(self, input):
        b = input.shape[0]
        noise = torch.randn(b, 6) + torch.rand(6) + torch.rand_like(input) + torch.randn_like(input)
        noise = noise + torch.normal(0.0, 1.0, (b, 6)) + torch.bernoulli(torch.full((b, 6), 0.3)) + torch.empty(b, 6).uniform_(-1, 1)
        noise = noise + torch.randint(0, 5, (b, 6)) + torch.zeros(b, 6).normal_() + torch.randperm(6)
        gumbel = F.gumbel_softmax(input, tau=0.7)
        return self.linear(input + 0.1 * noise + gumbel)


class Doubles(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4).double()

    def forward(self, input):
        return self.linear(input)


class Integers(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.linear = nn.EmbeddingBag(20, 6, mode="mean"), nn.Linear(6, 4)

    def forward(self, input):  # int64 [B, 3], also int32, bool, uint8
        return self.linear(self.embed(input) + input.to(torch.int32).float().sum(1, keepdim=True) + (input > 3).byte()[:, :1])


class Modes(nn.Module):
    """BatchNorm and dropout in many forms; exported in eval mode, they train in train mode."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.4), nn.ReLU())
        self.rnn, self.drop = nn.LSTM(8, 8, 2, dropout=0.5, batch_first=True), nn.FeatureAlphaDropout(0.2)
        self.norm, self.head = nn.InstanceNorm1d(4, track_running_stats=True, affine=True), nn.Linear(8, 4)

    def forward(self, input):
        x = self.body(input)
        x = self.drop(self.rnn(x.unsqueeze(1).expand(-1, 4, -1))[0])
        return self.head(self.norm(x).mean(1))


class RandomizedReLU(Base):
    """Its only flag is left out of an export in eval mode."""

    def forward(self, input):
        return F.rrelu(self.linear(input), training=self.training)


class MultiheadAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.head = nn.MultiheadAttention(6, 2, dropout=0.3, batch_first=True), nn.Linear(6, 4)

    def forward(self, input):
        x = input.unsqueeze(1).expand(-1, 4, -1)
        return self.head(self.attention(x, x, x, need_weights=False)[0].mean(1))


class FrozenBatchNorm(nn.Module):
    """A BatchNorm that stays in eval mode, one without statistics, one without weights, beside a plain one."""

    def __init__(self):
        super().__init__()
        self.linear, self.frozen, self.plain = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.BatchNorm1d(8)
        self.without, self.bare = nn.BatchNorm1d(8, track_running_stats=False), nn.BatchNorm1d(8, affine=False)
        self.head = nn.Linear(8, 4)
        self.frozen.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self.frozen.eval()
        return self

    def forward(self, input):
        return self.head(self.bare(self.without(self.plain(self.frozen(self.linear(input))))))


class FrozenParameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 8).requires_grad_(False), nn.Linear(8, 4)

    def forward(self, input):
        return self.head(self.body(input).relu())


class NoGradPart(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 4)

    def forward(self, input):
        with torch.no_grad():
            features = self.body(input)
        return self.head(features.relu()) + self.body(input).detach().mean()


class InstanceNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = nn.InstanceNorm1d(3, track_running_stats=True, affine=True), nn.Linear(6, 4)

    def forward(self, input):  # [B, 3, 6]
        return self.linear(self.norm(input)).mean(1)


class RNNForms(nn.Module):
    """All recurrences, stacked, both ways, with a projection; states are given and returned."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, 2, proj_size=4, bidirectional=True)
        self.gru, self.rnn = nn.GRU(8, 8, 2), nn.RNN(8, 8, nonlinearity="relu")
        self.cell, self.lstm_cell, self.linear = nn.GRUCell(8, 8), nn.LSTMCell(8, 8), nn.Linear(8, 4)

    def forward(self, input, state):  # [T, B, 6], [2, B, 8]
        x, (h, c) = self.lstm(input)
        x, state = self.gru(x, state)
        x, _ = self.rnn(x)
        y = self.cell(x[-1], state[0])
        y, z = self.lstm_cell(y, (x[0], x[1]))
        return self.linear(y + z) + h.mean() + c.mean()


class Item(Base):
    def forward(self, input):
        return self.linear(input) * input.abs().max().item()


class DataDependent(Base):
    """Sizes that data decide: nonzero, boolean indexing."""

    def forward(self, input):
        return self.linear(input[input[:, 0] > 0]).sum(0) + torch.nonzero(input > 0).shape[0]


class Cond(Base):
    def forward(self, input):
        return torch.cond(input.sum() > 0, lambda x: self.linear(x), lambda x: self.linear(x) * 2, (input,))


class WhileLoop(Base):
    def forward(self, input):
        from torch._higher_order_ops.while_loop import while_loop

        y = while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 1.5), (torch.tensor(0), self.linear(input)))
        return y[1]


class Map(Base):
    def forward(self, input):
        from torch._higher_order_ops.map import map

        return map(lambda x, w: x * w, self.linear(input), self.linear.bias)


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 4)

    def forward(self, input):
        return self.head(torch.utils.checkpoint.checkpoint(lambda x: self.body(x).tanh(), input, use_reentrant=False))


class Autocast(Base):
    def forward(self, input):
        with torch.autocast("cpu", torch.bfloat16):
            return self.linear(input).float()


class NestedAutocast(Base):
    """One weight is used several times in a region: its casts are made once, and their gradients summed in 16 bit."""

    def __init__(self):
        super().__init__()
        self.square, self.other, self.norm = nn.Linear(4, 4), nn.Linear(4, 4), nn.BatchNorm1d(4)

    def forward(self, input):
        with torch.autocast("cpu", torch.bfloat16):
            y = self.norm(self.square(self.square(self.linear(input))))
            with torch.autocast("cpu", enabled=False):
                z = self.square(y.float())
            with torch.autocast("cpu", torch.float16):
                z = z + self.other(y)
            y = F.dropout(self.square(y), 0.5, self.training)
        with torch.no_grad():
            with torch.autocast("cpu", torch.bfloat16):
                scale = self.linear(input).float().mean()
        with torch.autocast("cuda", torch.float16):  # off: there is no such device
            return self.square(y.float()) + z * scale


class Indexing(Base):
    def forward(self, input):  # [B, 6]
        y = self.linear(input[:, [5, 4, 3, 2, 1, 0]]).clone()
        y[:, 0] = 1.0
        y[1:, 1:3] += input[1:, :2]
        y = y.scatter(1, torch.zeros(input.shape[0], 1, dtype=torch.long), 0.5).index_fill(1, torch.tensor([3]), 2.0)
        top, at = y.topk(2, dim=1)
        ordered, order = torch.sort(y, 1, descending=True)
        return torch.gather(y, 1, order) + top.sum() + at.float().mean() + ordered.cumsum(1) + y[..., None, :].squeeze(1).roll(1, 1)


class Functions(Base):
    """Losses and other functions inside of the program."""

    def forward(self, input, target):
        y = self.linear(input)
        z = F.layer_norm(y, (4,)) + F.normalize(y, dim=1) + F.softplus(y) + F.mish(y) + F.glu(torch.cat([y, y], 1)) + F.hardtanh(y)
        z = z + torch.linalg.vector_norm(y, dim=1, keepdim=True) + torch.logsumexp(y, 1, keepdim=True) + y.std(0) + y.var(1, keepdim=True)
        z = z + torch.cdist(y, y, compute_mode="donot_use_mm_for_euclid_dist").mean() + torch.outer(y[:, 0], y[0]) + torch.atan2(y, y + 2) + torch.lerp(y, z, 0.5)
        z = z + F.one_hot(target, 4) + torch.bucketize(y.detach(), torch.tensor([0.0, 1.0])) + F.cosine_similarity(y, z).unsqueeze(1)
        losses = F.cross_entropy(z, target, label_smoothing=0.1) + F.kl_div(F.log_softmax(z, 1), F.softmax(y, 1), reduction="batchmean")
        losses = losses + F.huber_loss(z, y.detach()) + F.triplet_margin_loss(z, y, y.flip(0)) + F.multi_margin_loss(z, target)
        return losses + F.smooth_l1_loss(y, z.detach()) + F.binary_cross_entropy(y.sigmoid(), z.sigmoid().detach())


class Complex(Base):
    def forward(self, input):
        f = torch.fft.fft(torch.complex(input, input.flip(1)))
        f = f * torch.polar(torch.ones(6), torch.linspace(0, 3, 6))
        return self.linear(torch.view_as_real(torch.fft.ifft(f)).sum(-1) + torch.stft(
            input, 4, 2, window=torch.hann_window(4), return_complex=True).abs().mean((1, 2))[:, None] + f.real + f.conj().imag + f.angle())


class Linalg(nn.Module):
    def __init__(self):
        super().__init__()
        self.matrix, self.linear = nn.Parameter(torch.eye(6) + 0.1 * torch.randn(6, 6)), nn.Linear(6, 4)

    def forward(self, input):
        positive = self.matrix @ self.matrix.T + torch.eye(6)
        x = torch.linalg.solve(positive, input.T).T + torch.linalg.cholesky(positive).diagonal() + torch.linalg.svdvals(positive)
        return self.linear(x) + torch.logdet(positive) + torch.linalg.eigvalsh(positive).sum() + torch.linalg.matrix_exp(self.matrix).trace()


class Resampling(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.shuffle = nn.Conv2d(2, 8, 3, padding="same", padding_mode="reflect"), nn.PixelShuffle(2)
        self.linear, self.norm = nn.Linear(2, 4), nn.LocalResponseNorm(2)

    def forward(self, input):  # [B, 2, 8, 8]
        x = self.norm(self.shuffle(self.conv(input)))
        theta = torch.eye(2, 3).expand(x.shape[0], 2, 3)
        x = F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False)
        x = F.interpolate(F.pad(x, (1, 1, 2, 2), "replicate"), size=(9, 9), mode="bicubic") + F.interpolate(x, size=(9, 9), mode="area")
        x = F.fold(F.unfold(x, 3), (9, 9), 3)
        values, at = F.max_pool2d(x, 2, return_indices=True)
        x = F.max_unpool2d(values, at, 2, output_size=(9, 9)) + F.avg_pool2d(x, 3, 1, 1)
        return self.linear(F.adaptive_max_pool2d(x, 2).mean((2, 3)))


class Stacks(nn.Module):
    """A list of modules in a dict, parameters in lists, and a module called twice."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({"a": nn.ModuleList([nn.Linear(6, 6), nn.Linear(6, 6)])})
        self.scales = nn.ParameterList(torch.ones(6) * i for i in (1.0, 2.0))
        self.head = nn.Bilinear(6, 6, 4)

    def forward(self, input):
        x = input
        for part, scale in zip(self.parts["a"], self.scales):
            x = part(part(x)).tanh() * scale
        return self.head(x, input)


class Normed(nn.Module):
    """Parametrizations: spectral norm (with its buffers), weight norm, orthogonal."""

    def __init__(self):
        super().__init__()
        self.a = nn.utils.parametrizations.spectral_norm(nn.Linear(6, 6))
        self.b = nn.utils.parametrizations.weight_norm(nn.Linear(6, 6))
        self.c = nn.utils.parametrizations.orthogonal(nn.Linear(6, 6))
        self.head = nn.Linear(6, 4)

    def forward(self, input):
        return self.head(self.c(self.b(self.a(input))))


class Empty(nn.Module):
    """No parameters."""

    def forward(self, input):
        return input * 2


class UnusedParameter(Base):
    def __init__(self):
        super().__init__()
        self.unused = nn.Linear(3, 3)

    def forward(self, input):
        return self.linear(input)


class OptionalInput(Base):
    def forward(self, input, mask=None, scale=2.0, mode="sum"):
        y = self.linear(input) * scale
        return y if mask is None else y * mask


class FloatBuffer16(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4).bfloat16()

    def forward(self, input):
        return self.linear(input.bfloat16()).float()


@dataclasses.dataclass
class Hard:
    module: type
    args: object  # () -> positional inputs
    kwargs: object = dict
    sizes: object = None  # dynamic_shapes by name of parameter


B = torch.export.Dim("batch", min=3, max=1024)
T = torch.export.Dim.AUTO
x6 = lambda: torch.randn(8, 6)
plain = lambda module: Hard(module, lambda: (x6(),), sizes=({0: B},))
target = lambda: torch.randint(4, (8,))

HARD = {
    "nested_inputs": Hard(NestedInputs, lambda: ({"pair": [x6(), x6()], "more": {"c": x6()}}, (x6(), x6())),
                          sizes=({"pair": [{0: B}, {0: B}], "more": {"c": {0: B}}}, ({0: B}, {0: B}))),
    "keyword_inputs": Hard(KeywordInputs, lambda: (x6(),), lambda: {"scale": x6(), "shift": x6()},
                           {"a": {0: B}, "scale": {0: B}, "shift": {0: B}}),
    **{name: plain(module) for name, module in {
        "dict_output": DictOutput, "tuple_output": TupleOutput, "namedtuple_output": NamedTupleOutput,
        "dataclass_output": DataclassOutput, "passed_through": PassedThrough, "constants": Constants,
        "non_persistent": NonPersistent, "tied": Tied, "assigned_buffer": AssignedBuffer, "mutated_input": MutatedInput,
        "einsum": Einsum, "attention_dropout": AttentionDropout, "fixed_dropout": FixedDropout,
        "random_functions": RandomFunctions, "modes": Modes, "randomized_relu": RandomizedReLU, "multihead_attention": MultiheadAttention, "frozen_batch_norm": FrozenBatchNorm,
        "frozen_parameters": FrozenParameters, "no_grad_part": NoGradPart, "item": Item, "data_dependent": DataDependent,
        "cond": Cond, "while_loop": WhileLoop, "map": Map, "checkpointed": Checkpointed, "autocast": Autocast, "nested_autocast": NestedAutocast,
        "indexing": Indexing, "complex": Complex, "linalg": Linalg, "stacks": Stacks, "normed": Normed, "empty": Empty,
        "unused_parameter": UnusedParameter, "bfloat16": FloatBuffer16}.items()},
    "sizes": Hard(Sizes, lambda: (torch.randn(8, 10, 6),), sizes=({0: B, 1: T},)),
    "boolean_mask": Hard(BooleanMask, lambda: (x6(), torch.randint(2, (8, 1))), sizes=({0: B}, {0: B})),
    "doubles": Hard(Doubles, lambda: (x6().double(),), sizes=({0: B},)),
    "integers": Hard(Integers, lambda: (torch.randint(20, (8, 3)),), sizes=({0: B},)),
    "instance_norm": Hard(InstanceNorm, lambda: (torch.randn(8, 3, 6),), sizes=({0: B},)),
    "rnn_forms": Hard(RNNForms, lambda: (torch.randn(5, 8, 6), torch.zeros(2, 8, 8)), sizes=({1: B}, {1: B})),
    "functions": Hard(Functions, lambda: (x6(), target()), sizes=({0: B}, {0: B})),
    "resampling": Hard(Resampling, lambda: (torch.randn(8, 2, 8, 8),), sizes=({0: B},)),
    "optional_input": Hard(OptionalInput, lambda: (x6(),), sizes=({0: B},)),
    "optional_input_given": Hard(OptionalInput, lambda: (x6(), torch.ones(8, 4), 3.0, "mean"), sizes=({0: B}, {0: B}, None, None)),
}


def register():
    torch.export.register_dataclass(Output, serialized_type_name="levin_test.Output")
    torch.utils._pytree._register_namedtuple(NamedOutput, serialized_type_name="levin_test.NamedOutput")


def module_of(name):
    torch.manual_seed(0)
    return HARD[name].module()


def exported(name, training=True):
    hard, module = HARD[name], module_of(name).train(training)
    torch.manual_seed(1)
    return torch.export.export(module, hard.args(), hard.kwargs(), dynamic_shapes=hard.sizes)
