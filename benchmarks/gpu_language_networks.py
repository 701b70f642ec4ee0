"""What gpu_language_model.py trains by hand: GPT-2, and a llama with LoRA; and files of weights and tokens without other packages."""

import ctypes
import json
import struct

import torch
from torch import nn
from torch.nn import functional as F

RANK, ALPHA = 8, 16
HEADER_WORDS = 256  # of 32 bits, before the tokens of 16 bits: llm.c's format, which TokenFile reads too


class GPT2Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        hidden, self.heads = size["hidden"], size["heads"]
        self.ln_1, self.ln_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.attn = nn.ModuleDict({"c_attn": nn.Linear(hidden, 3 * hidden), "c_proj": nn.Linear(hidden, hidden)})
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(hidden, 4 * hidden), "c_proj": nn.Linear(4 * hidden, hidden)})

    def forward(self, x):
        batch, time_, hidden = x.shape
        parts = self.attn["c_attn"](self.ln_1(x)).view(batch, time_, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.attn["c_proj"](found.transpose(1, 2).reshape(batch, time_, hidden))
        return x + self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(size["vocabulary"], size["hidden"]), "wpe": nn.Embedding(size["time"], size["hidden"]),
            "h": nn.ModuleList(GPT2Block(size) for _ in range(size["layers"])), "ln_f": nn.LayerNorm(size["hidden"])})  # fmt: skip

    def forward(self, tokens):
        parts = self.transformer
        x = parts["wte"](tokens) + parts["wpe"](torch.arange(tokens.shape[1], device=tokens.device))
        for block in parts["h"]:
            x = block(x)
        return F.linear(parts["ln_f"](x), parts["wte"].weight)


def rotated(x, cosines, sines):
    first, second = x.chunk(2, -1)
    return x * cosines + torch.cat([-second, first], -1) * sines


class LlamaBlock(nn.Module):
    def __init__(self, size):
        super().__init__()
        hidden, self.head = size["hidden"], size["hidden"] // size["heads"]
        self.input_layernorm, self.post_attention_layernorm = nn.RMSNorm(hidden, 1e-6), nn.RMSNorm(hidden, 1e-6)
        widths = {"q_proj": size["heads"], "k_proj": size["kv_heads"], "v_proj": size["kv_heads"]}
        self.self_attn = nn.ModuleDict({name: nn.Linear(hidden, heads * self.head, bias=False) for name, heads in widths.items()})
        self.self_attn["o_proj"] = nn.Linear(hidden, hidden, bias=False)
        self.mlp = nn.ModuleDict({name: nn.Linear(hidden, size["inner"], bias=False) for name in ("gate_proj", "up_proj")})
        self.mlp["down_proj"] = nn.Linear(size["inner"], hidden, bias=False)

    def forward(self, x, cosines, sines):
        batch, time_, hidden = x.shape
        seen, of, mlp = self.input_layernorm(x), self.self_attn, self.mlp
        q, k, v = (of[name](seen).view(batch, time_, -1, self.head).transpose(1, 2) for name in ("q_proj", "k_proj", "v_proj"))
        found = F.scaled_dot_product_attention(rotated(q, cosines, sines), rotated(k, cosines, sines), v, is_causal=True, enable_gqa=True)
        x = x + of["o_proj"](found.transpose(1, 2).reshape(batch, time_, hidden))
        seen = self.post_attention_layernorm(x)
        return x + mlp["down_proj"](F.silu(mlp["gate_proj"](seen)) * mlp["up_proj"](seen))


class Llama(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.model = nn.ModuleDict({
            "embed_tokens": nn.Embedding(size["vocabulary"], size["hidden"]),
            "layers": nn.ModuleList(LlamaBlock(size) for _ in range(size["layers"])), "norm": nn.RMSNorm(size["hidden"], 1e-6)})  # fmt: skip
        head = size["hidden"] // size["heads"]
        angles = torch.arange(size["time"])[:, None] * 10000.0 ** (-torch.arange(0, head, 2) / head)
        self.register_buffer("angles", torch.cat([angles, angles], -1), persistent=False)

    def forward(self, tokens):
        parts = self.model
        x = parts["embed_tokens"](tokens)
        cosines, sines = self.angles.cos().to(x.dtype), self.angles.sin().to(x.dtype)
        for block in parts["layers"]:
            x = block(x, cosines, sines)
        return F.linear(parts["norm"](x), parts["embed_tokens"].weight)


class LoRA(nn.Module):
    """What peft.LoraLayer computes."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.lora_A = nn.Linear(layer.in_features, RANK, bias=False, dtype=torch.float32)
        self.lora_B = nn.Linear(RANK, layer.out_features, bias=False, dtype=torch.float32)
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.layer(x) + self.lora_B(self.lora_A(x)) * (ALPHA / RANK)


def add_lora(net):
    net.requires_grad_(False)
    for parts in [module for module in net.modules() if isinstance(module, nn.ModuleDict)]:
        parts.update({name: LoRA(child) for name, child in parts.items() if isinstance(child, nn.Linear)})
    return net


def write_bytes(tensor, out):
    """Writes the memory of a tensor without NumPy, which may be missing."""
    tensor = tensor.detach().cpu().contiguous()
    out.write((ctypes.c_char * (tensor.numel() * tensor.element_size())).from_address(tensor.data_ptr()))


def write_safetensors(tensors, file):
    words = {torch.float32: "F32", torch.bfloat16: "BF16"}
    header, offset = {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": words[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(file, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            write_bytes(tensor, out)


def write_tokens(size, sequences, file):
    """Random tokens, of which a sequence and its targets take one more than its length."""
    count = sequences * size["time"] + 1
    tokens = torch.randint(min(size["vocabulary"], 2**16), (count,), generator=torch.Generator().manual_seed(2))
    with open(file, "wb") as out:
        out.write(struct.pack("<3i", 20240520, 1, count) + bytes(4 * (HEADER_WORDS - 3)))
        write_bytes(tokens.to(torch.uint16), out)
