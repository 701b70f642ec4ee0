"""Networks of images, in small sizes: MLP, LeNet, ResNet, DenseNet, MobileNetV3, EfficientNet, ConvNeXt, ViT, Swin, MLP-Mixer."""

import torch
from torch import nn
from torch.nn import functional as F


class MLP(nn.Sequential):
    def __init__(self, inputs=784, hidden=64, classes=10):
        super().__init__(nn.Flatten(), nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, classes))


class LeNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 20, 3), nn.Conv2d(20, 50, 5)
        self.fc1, self.fc2 = nn.Linear(800, 128), nn.Linear(128, classes)
        self.drop = nn.Dropout(0.25)

    def forward(self, input):
        x = F.avg_pool2d(F.relu(self.conv1(input)), 2)
        x = F.avg_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(self.drop(F.relu(self.fc1(x.flatten(1)))))


def conv_bn(inputs, outputs, size, stride=1, groups=1, activation=nn.ReLU):
    parts = [nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*parts, *([activation()] if activation else []))


class Residual(nn.Module):
    """`bottleneck`: 1x1, 3x3, 1x1 with four times the width (ResNet50); else two 3x3 (ResNet18)."""

    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = width * 4 if bottleneck else width
        if bottleneck:
            self.body = nn.Sequential(conv_bn(inputs, width, 1), conv_bn(width, width, 3, stride),
                                      conv_bn(width, outputs, 1, activation=None))
        else:
            self.body = nn.Sequential(conv_bn(inputs, width, 3, stride), conv_bn(width, outputs, 3, activation=None))
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else conv_bn(inputs, outputs, 1, stride, activation=None)

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, blocks, bottleneck=False, width=8, classes=10):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, width, 3), nn.MaxPool2d(3, 2, 1))
        inputs, stages = width, []
        for stage, count in enumerate(blocks):
            for block in range(count):
                stride = 2 if stage > 0 and block == 0 else 1
                stages.append(Residual(inputs, width * 2**stage, stride, bottleneck))
                inputs = width * 2**stage * (4 if bottleneck else 1)
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(inputs, classes)

    def forward(self, input):
        return self.head(F.adaptive_avg_pool2d(self.stages(self.stem(input)), 1).flatten(1))


class DenseLayer(nn.Module):
    def __init__(self, inputs, growth):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, 4 * growth, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(4 * growth), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, features):
        x = torch.cat(features, 1)
        x = self.conv2(F.relu(self.norm2(self.conv1(F.relu(self.norm1(x))))))
        return F.dropout(x, 0.1, self.training)


class DenseNet(nn.Module):
    def __init__(self, growth=8, blocks=(3, 4, 3), classes=10):
        super().__init__()
        channels = 2 * growth
        self.stem = nn.Conv2d(3, channels, 3, padding=1, bias=False)
        self.blocks, self.transitions = nn.ModuleList(), nn.ModuleList()
        for i, layers in enumerate(blocks):
            self.blocks.append(nn.ModuleList(DenseLayer(channels + j * growth, growth) for j in range(layers)))
            channels += layers * growth
            if i + 1 < len(blocks):
                self.transitions.append(nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(),
                                                      nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2)))
                channels //= 2
        self.norm, self.head = nn.BatchNorm2d(channels), nn.Linear(channels, classes)

    def forward(self, input):
        x = self.stem(input)
        for i, block in enumerate(self.blocks):
            features = [x]
            for layer in block:
                features.append(layer(features))
            x = torch.cat(features, 1)
            if i < len(self.transitions):
                x = self.transitions[i](x)
        return self.head(F.relu(self.norm(x)).mean((2, 3)))


class SqueezeExcite(nn.Module):
    def __init__(self, channels, squeezed, inner, gate):
        super().__init__()
        self.reduce, self.expand = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)
        self.inner, self.gate = inner, gate

    def forward(self, x):
        return x * self.gate(self.expand(self.inner(self.reduce(F.adaptive_avg_pool2d(x, 1)))))


class DropPath(nn.Module):
    """Drops the branch of whole samples, and scales the others."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        kept = x.new_empty([x.shape[0]] + [1] * (x.dim() - 1)).bernoulli_(1 - self.p)
        return x * kept.div_(1 - self.p)


class InvertedResidual(nn.Module):
    def __init__(self, inputs, expanded, outputs, size, stride, activation, excite, drop=0.0):
        super().__init__()
        self.adds = stride == 1 and inputs == outputs
        self.body = nn.Sequential(conv_bn(inputs, expanded, 1, activation=activation),
                                  conv_bn(expanded, expanded, size, stride, expanded, activation),
                                  excite(expanded), conv_bn(expanded, outputs, 1, activation=None))
        self.drop = DropPath(drop)

    def forward(self, x):
        return x + self.drop(self.body(x)) if self.adds else self.body(x)


class MobileNetV3(nn.Module):
    ROWS = ((16, 16, 3, 1, nn.ReLU, False), (64, 24, 3, 2, nn.ReLU, False), (72, 24, 5, 1, nn.ReLU, True),
            (120, 40, 5, 2, nn.Hardswish, True), (120, 40, 3, 1, nn.Hardswish, True))

    def __init__(self, classes=10):
        super().__init__()
        excite = lambda c: SqueezeExcite(c, c // 4, nn.ReLU(), nn.Hardsigmoid())
        inputs, blocks = 16, []
        for expanded, outputs, size, stride, activation, excited in self.ROWS:
            blocks.append(InvertedResidual(inputs, expanded, outputs, size, stride, activation,
                                           excite if excited else lambda c: nn.Identity()))
            inputs = outputs
        self.features = nn.Sequential(conv_bn(3, 16, 3, 2, activation=nn.Hardswish), *blocks,
                                      conv_bn(inputs, 96, 1, activation=nn.Hardswish), nn.AdaptiveAvgPool2d(1))
        self.classifier = nn.Sequential(nn.Linear(96, 64), nn.Hardswish(inplace=True), nn.Dropout(0.2, inplace=True),
                                        nn.Linear(64, classes))

    def forward(self, input):
        return self.classifier(torch.flatten(self.features(input), 1))


class EfficientNet(nn.Module):
    ROWS = ((1, 16, 3, 1, 1), (4, 24, 3, 2, 2), (4, 40, 5, 2, 2))  # expansion, channels, size, stride, layers

    def __init__(self, classes=10):
        super().__init__()
        inputs, blocks, total = 16, [], sum(row[-1] for row in self.ROWS)
        for expansion, outputs, size, stride, layers in self.ROWS:
            for i in range(layers):
                excite = lambda c, squeezed=max(1, inputs // 4): SqueezeExcite(c, squeezed, nn.SiLU(), nn.Sigmoid())
                blocks.append(InvertedResidual(inputs, inputs * expansion, outputs, size, stride if i == 0 else 1, nn.SiLU,
                                               excite, 0.2 * len(blocks) / total))
                inputs = outputs
        self.features = nn.Sequential(conv_bn(3, 16, 3, 2, activation=nn.SiLU), *blocks,
                                      conv_bn(inputs, 96, 1, activation=nn.SiLU), nn.AdaptiveAvgPool2d(1))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(96, classes))

    def forward(self, input):
        return self.classifier(self.features(input).flatten(1))


class ChannelNorm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtBlock(nn.Module):
    def __init__(self, channels, drop):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(channels, 4 * channels), nn.GELU(), nn.Linear(4 * channels, channels))
        self.scale = nn.Parameter(torch.full((channels, 1, 1), 1e-2))
        self.drop = DropPath(drop)

    def forward(self, x):
        y = self.mlp(self.norm(self.conv(x).permute(0, 2, 3, 1))).permute(0, 3, 1, 2)
        return x + self.drop(self.scale * y)


class ConvNeXt(nn.Module):
    def __init__(self, width=16, depths=(1, 2), classes=10):
        super().__init__()
        layers = [nn.Conv2d(3, width, 4, 4), ChannelNorm(width)]
        for i, depth in enumerate(depths):
            if i > 0:
                layers += [ChannelNorm(width), nn.Conv2d(width, 2 * width, 2, 2)]
                width *= 2
            layers += [ConvNeXtBlock(width, 0.1 * i) for _ in range(depth)]
        self.features = nn.Sequential(*layers)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, input):
        return self.head(self.norm(self.features(input).mean([-2, -1])))


class ViT(nn.Module):
    def __init__(self, patch=8, width=32, depth=2, heads=4, size=32, classes=10):
        super().__init__()
        self.embed = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, heads, 4 * width, 0.1, "gelu", batch_first=True,
                                                               norm_first=True) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, input):
        x = self.embed(input).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


class WindowAttention(nn.Module):
    """Attention inside of windows [4, 4] with a learned bias for each offset; the grid is rolled by `shift` first."""

    def __init__(self, width, heads, grid, window=4, shift=0):
        super().__init__()
        self.heads, self.grid, self.window, self.shift = heads, grid, window, shift
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.table = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads) * 0.02)
        at = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        offset = (at[:, :, None] - at[:, None, :] + window - 1)
        self.register_buffer("index", offset[0] * (2 * window - 1) + offset[1], persistent=False)
        self.register_buffer("mask", self.shifted_mask() if shift else None, persistent=False)

    def shifted_mask(self):
        region = torch.zeros(self.grid, self.grid)
        cuts = (slice(0, -self.window), slice(-self.window, -self.shift), slice(-self.shift, None))
        for i, rows in enumerate(cuts):
            for j, columns in enumerate(cuts):
                region[rows, columns] = 3 * i + j
        n = self.grid // self.window
        region = region.view(n, self.window, n, self.window).permute(0, 2, 1, 3).reshape(n * n, -1)
        return (region[:, None, :] != region[:, :, None]).float() * -100.0

    def forward(self, x):  # [B, grid, grid, C]
        b, g, w, c = x.shape[0], self.grid, self.window, x.shape[3]
        n = g // w
        if self.shift:
            x = torch.roll(x, (-self.shift, -self.shift), (1, 2))
        x = x.view(b, n, w, n, w, c).permute(0, 1, 3, 2, 4, 5).reshape(b * n * n, w * w, c)
        q, k, v = self.qkv(x).reshape(b * n * n, w * w, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.table[self.index.view(-1)].view(w * w, w * w, -1).permute(2, 0, 1)
        scores = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1) + bias
        if self.mask is not None:
            scores = scores.view(b, n * n, self.heads, w * w, w * w) + self.mask[None, :, None]
            scores = scores.view(b * n * n, self.heads, w * w, w * w)
        x = self.project((scores.softmax(-1) @ v).transpose(1, 2).reshape(b * n * n, w * w, c))
        x = x.view(b, n, n, w, w, c).permute(0, 1, 3, 2, 4, 5).reshape(b, g, g, c)
        return torch.roll(x, (self.shift, self.shift), (1, 2)) if self.shift else x


class SwinBlock(nn.Module):
    def __init__(self, width, heads, grid, shift):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), WindowAttention(width, heads, grid, shift=shift)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * width, width))
        self.drop = DropPath(0.1)

    def forward(self, x):
        x = x + self.drop(self.attention(self.norm1(x)))
        return x + self.drop(self.mlp(self.norm2(x)))


class Swin(nn.Module):
    """Two stages of a plain and a shifted block; between them, patches of 2x2 merge."""

    def __init__(self, width=24, classes=10):
        super().__init__()
        self.embed = nn.Conv2d(3, width, 4, 4)
        self.stage1 = nn.Sequential(SwinBlock(width, 3, 8, 0), SwinBlock(width, 3, 8, 2))
        self.merge_norm, self.merge = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)
        self.stage2 = nn.Sequential(SwinBlock(2 * width, 6, 4, 0))
        self.norm, self.head = nn.LayerNorm(2 * width), nn.Linear(2 * width, classes)

    def forward(self, input):
        x = self.stage1(self.embed(input).permute(0, 2, 3, 1))
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
        x = self.stage2(self.merge(self.merge_norm(x)))
        return self.head(self.norm(x).mean((1, 2)))


class MixerBlock(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        mlp = lambda size, hidden: nn.Sequential(nn.Linear(size, hidden), nn.GELU(), nn.Linear(hidden, size))
        self.norm1, self.tokens = nn.LayerNorm(width), mlp(tokens, 2 * tokens)
        self.norm2, self.channels = nn.LayerNorm(width), mlp(width, 4 * width)

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).mT).mT
        return x + self.channels(self.norm2(x))


class MLPMixer(nn.Module):
    def __init__(self, width=32, depth=2, classes=10):
        super().__init__()
        self.embed = nn.Conv2d(3, width, 8, 8)
        self.blocks = nn.Sequential(*(MixerBlock(16, width) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, input):
        x = self.embed(input).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(1))
