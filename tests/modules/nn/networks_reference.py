"""Prints as JSON what PyTorch computes with the networks of modules/nn, written here once more with torch.nn.

usage: networks_reference.py gpt|resnet18|resnet18_initial_weights CASES_JSON FOLDER

gpt and resnet18 read the weights that levin wrote to FOLDER/0.pt for the first case, and so on, compute in float64, and
print for each case the output, the loss, and the output after one step of SGD with rate 0.1.
"""

import json
import math
import sys

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = (part.reshape(batch, time, self.heads, -1).transpose(1, 2) for part in self.qkv(x).split(width, -1))
        scores = q @ k.transpose(2, 3) / math.sqrt(width // self.heads)
        later = torch.ones(time, time, dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(later, -math.inf).softmax(-1) @ v
        return self.projection(mixed.transpose(1, 2).reshape(batch, time, width))


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.expansion = nn.Linear(width, 4 * width)
        self.projection = nn.Linear(4 * width, width)

    def forward(self, x):
        x = self.expansion(x)
        return self.projection(0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = FeedForward(width)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class GPT(nn.Module):
    def __init__(self, vocab_size, block_size, layers, heads, embedding, tied_head):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embedding)
        self.position_embedding = nn.Embedding(block_size, embedding)
        self.blocks = nn.ModuleList([Block(embedding, heads) for _ in range(layers)])
        self.final_norm = nn.LayerNorm(embedding)
        if not tied_head:
            self.head = nn.Linear(embedding, vocab_size, bias=False)

    def forward(self, tokens):
        x = self.token_embedding(tokens) + self.position_embedding(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        x = self.final_norm(x)
        return self.head(x) if hasattr(self, "head") else x @ self.token_embedding.weight.T


class BasicBlock(nn.Module):
    def __init__(self, channels, width, stride, downsample):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = downsample

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (self.downsample(x) if self.downsample else x))


class ResNet18(nn.Module):
    """Made in the order in which torchvision makes its own, so that one seed gives the same weights."""

    def __init__(self, num_classes, in_channels, small_input):
        super().__init__()
        kernel, stride = (3, 1) if small_input else (7, 2)
        self.conv1 = nn.Conv2d(in_channels, 64, kernel, stride, kernel // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.Identity() if small_input else nn.MaxPool2d(3, 2, 1)
        channels = 64
        for i, width in enumerate([64, 128, 256, 512]):
            downsample = None
            if i > 0:
                downsample = nn.Sequential(nn.Conv2d(channels, width, 1, 2, bias=False), nn.BatchNorm2d(width))
            blocks = [BasicBlock(channels, width, 2 if i else 1, downsample), BasicBlock(width, width, 1, None)]
            setattr(self, f"layer{i + 1}", nn.Sequential(*blocks))
            channels = width
        self.fc = nn.Linear(512, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def step(network, index, x, target):
    network.load_state_dict(torch.load(f"{sys.argv[3]}/{index}.pt", weights_only=True))
    network.double()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    output = network(x)
    loss = F.cross_entropy(output.flatten(0, -2), target.flatten())
    loss.backward()
    optimizer.step()
    network.eval()
    return {"output": output.flatten().tolist(), "loss": loss.item(), "after": network(x).flatten().tolist()}


def gpt(index, options):
    tokens = torch.arange(24).reshape(3, 8) * 5 % options["vocab_size"]
    return step(GPT(**options), index, tokens, (tokens + 1) % options["vocab_size"])


def resnet18(index, options):
    x = (torch.arange(2 * options["in_channels"] * 40 * 48, dtype=torch.float64) * 0.37).sin()
    return step(ResNet18(**options), index, x.reshape(2, options["in_channels"], 40, 48), torch.tensor([1, 2]))


def resnet18_initial_weights(_, options):
    """The sum and the first element of each parameter."""
    torch.manual_seed(5)
    return {name: [p.double().sum().item(), p.flatten()[0].item()] for name, p in ResNet18(**options).named_parameters()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps([globals()[sys.argv[1]](i, case) for i, case in enumerate(json.loads(sys.argv[2]))]))
