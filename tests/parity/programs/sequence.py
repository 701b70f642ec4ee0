"""Networks of sequences, in small sizes: LSTM, GRU, GPT, Llama, BERT, tied embeddings, LoRA, WaveNet, TCN."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class LSTMClassifier(nn.Module):
    def __init__(self, words=50, width=24, classes=5):
        super().__init__()
        self.embed = nn.Embedding(words, 16, padding_idx=0)
        self.rnn = nn.LSTM(16, width, num_layers=2, batch_first=True, dropout=0.2, bidirectional=True)
        self.head = nn.Linear(2 * width, classes)

    def forward(self, input):
        outputs, (hidden, _) = self.rnn(self.embed(input))
        return self.head(torch.cat([hidden[-2], hidden[-1]], -1) + outputs.mean(1))


class GRUClassifier(nn.Module):
    def __init__(self, inputs=6, width=24, classes=5):
        super().__init__()
        self.rnn, self.head = nn.GRU(inputs, width, batch_first=True), nn.Linear(width, classes)

    def forward(self, input):
        outputs, _ = self.rnn(input, torch.zeros(1, input.size(0), self.rnn.hidden_size))
        return self.head(outputs[:, -1])


class CausalBlock(nn.Module):
    def __init__(self, width, heads, drop):
        super().__init__()
        self.heads, self.drop = heads, drop
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width),
                                 nn.Dropout(drop))

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2)
                   for part in self.attention(self.norm1(x)).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.drop if self.training else 0.0, is_causal=True)
        x = x + F.dropout(self.project(y.transpose(1, 2).contiguous().view(b, t, c)), self.drop, self.training)
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Like GPT-2, with the embedding as the head's weights; `input` [B, T] gives [B, words, T]."""

    def __init__(self, words=40, width=32, heads=4, depth=2, block=24, drop=0.1):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(words, width), nn.Embedding(block, width)
        self.drop = nn.Dropout(drop)
        self.blocks = nn.ModuleList(CausalBlock(width, heads, drop) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, input):
        at = torch.arange(input.size(1), device=input.device)
        x = self.drop(self.tokens(input) + self.positions(at))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).transpose(1, 2)


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


def rotated(x, cosine, sine):
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), -1) * sine


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, groups):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        linear = lambda i, o: nn.Linear(i, o, bias=False)
        self.q, self.k, self.v = linear(width, width), linear(width, groups * self.size), linear(width, groups * self.size)
        self.o = linear(width, width)
        self.gate, self.up, self.down = linear(width, 2 * width), linear(width, 2 * width), linear(2 * width, width)

    def forward(self, x, cosine, sine):
        b, t, c = x.shape
        heads = lambda y, n: y.view(b, t, n, self.size).transpose(1, 2)
        y = self.norm1(x)
        q, k = rotated(heads(self.q(y), self.heads), cosine, sine), rotated(heads(self.k(y), self.groups), cosine, sine)
        v = heads(self.v(y), self.groups)
        k, v = (z.repeat_interleave(self.heads // self.groups, dim=1) for z in (k, v))
        mask = torch.full((t, t), float("-inf"), device=x.device).triu(1)
        scores = q @ k.transpose(2, 3) / math.sqrt(self.size) + mask
        x = x + self.o((F.softmax(scores, dim=-1, dtype=torch.float32).type_as(q) @ v).transpose(1, 2).reshape(b, t, c))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """Rotary positions, grouped queries, SwiGLU; `input` [B, T] gives [B, words, T]."""

    def __init__(self, words=40, width=32, heads=4, groups=2, depth=2, block=24):
        super().__init__()
        self.tokens = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, groups) for _ in range(depth))
        self.norm, self.head = RMSNorm(width), nn.Linear(width, words, bias=False)
        size = width // heads
        angles = torch.outer(torch.arange(block).float(), 10000.0 ** (-torch.arange(0, size, 2) / size))
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)

    def forward(self, input):
        t = input.shape[1]
        x = self.tokens(input)
        for block in self.blocks:
            x = block(x, self.cosine[:t], self.sine[:t])
        return self.head(self.norm(x)).transpose(1, 2)


class BERT(nn.Module):
    """Classifies `input` [B, T] with its `mask` [B, T] (True: a word) and `segment` [B, T]."""

    def __init__(self, words=40, width=32, heads=4, depth=2, block=24, classes=5):
        super().__init__()
        self.tokens = nn.Embedding(words, width, padding_idx=0)
        self.positions, self.segments = nn.Embedding(block, width), nn.Embedding(2, width)
        self.register_buffer("position_ids", torch.arange(block)[None])
        self.norm, self.drop = nn.LayerNorm(width, eps=1e-12), nn.Dropout(0.1)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.1, "gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.pooler, self.head = nn.Linear(width, width), nn.Linear(width, classes)

    def forward(self, input, mask, segment):
        x = self.tokens(input) + self.positions(self.position_ids[:, : input.shape[1]]) + self.segments(segment)
        x = self.encoder(self.drop(self.norm(x)), src_key_padding_mask=~mask.bool())
        return self.head(self.drop(torch.tanh(self.pooler(x[:, 0]))))


class TiedLanguageModel(nn.Module):
    """A recurrent language model whose embedding is its head, and whose two projections are one module."""

    def __init__(self, words=40, width=24):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(words, width), nn.RNN(width, width, batch_first=True)
        self.first = nn.Linear(width, width)
        self.second = self.first
        self.head = nn.Linear(width, words)
        self.head.weight = self.embed.weight

    def forward(self, input):
        x, _ = self.rnn(self.first(self.embed(input)))
        return self.head(torch.tanh(self.second(x))).transpose(1, 2)


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale, self.drop = alpha / rank, nn.Dropout(0.05)

    def forward(self, x):
        return self.base(x) + self.scale * (self.drop(x) @ self.down.T @ self.up.T)


class LoRAGPT(GPT):
    """A GPT that is frozen but for low-rank additions to its attention and its MLPs."""

    def __init__(self):
        super().__init__()
        self.requires_grad_(False)
        for block in self.blocks:
            block.attention, block.project = LoRALinear(block.attention), LoRALinear(block.project)
            block.mlp[0], block.mlp[2] = LoRALinear(block.mlp[0]), LoRALinear(block.mlp[2])


class WaveNet(nn.Module):
    """Dilated causal convolutions with gates; `input` [B, T] (codes) gives [B, codes, T]."""

    def __init__(self, codes=32, width=16, dilations=(1, 2, 4, 8)):
        super().__init__()
        self.dilations, self.embed = dilations, nn.Embedding(codes, width)
        self.filters = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=d) for d in dilations)
        self.residuals = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in dilations)
        self.skips = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in dilations)
        self.out = nn.Sequential(nn.ReLU(), nn.Conv1d(width, width, 1), nn.ReLU(), nn.Conv1d(width, codes, 1))

    def forward(self, input):
        x, total = self.embed(input).transpose(1, 2), 0
        for dilation, filters, residual, skip in zip(self.dilations, self.filters, self.residuals, self.skips):
            signal, gate = filters(F.pad(x, (dilation, 0))).chunk(2, 1)
            y = torch.tanh(signal) * torch.sigmoid(gate)
            total = total + skip(y)
            x = x + residual(y)
        return self.out(total)


class TCNBlock(nn.Module):
    def __init__(self, inputs, outputs, dilation):
        super().__init__()
        norm = torch.nn.utils.parametrizations.weight_norm
        self.cut = 2 * dilation
        self.conv1 = norm(nn.Conv1d(inputs, outputs, 3, padding=self.cut, dilation=dilation))
        self.conv2 = norm(nn.Conv1d(outputs, outputs, 3, padding=self.cut, dilation=dilation))
        self.drop1, self.drop2 = nn.Dropout(0.1), nn.Dropout1d(0.1)
        self.down = nn.Conv1d(inputs, outputs, 1) if inputs != outputs else None

    def forward(self, x):
        y = self.drop1(F.relu(self.conv1(x)[:, :, : -self.cut]))
        y = self.drop2(F.relu(self.conv2(y)[..., : -self.cut].contiguous()))
        return F.relu(y + (x if self.down is None else self.down(x)))


class TCN(nn.Module):
    """Convolutions in time with weight norm; `input` [B, 3, T]."""

    def __init__(self, widths=(12, 16), classes=5):
        super().__init__()
        sizes = (3,) + widths
        self.body = nn.Sequential(*(TCNBlock(sizes[i], sizes[i + 1], 2**i) for i in range(len(widths))))
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, input):
        return self.head(self.body(input)[:, :, -1])
