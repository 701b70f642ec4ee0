"""Networks that make pictures, in small sizes: UNet, DCGAN, autoencoder, VAE, the UNet of a diffusion model."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class DoubleConv(nn.Sequential):
    def __init__(self, inputs, outputs):
        layer = lambda n: (nn.Conv2d(n, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))
        super().__init__(*layer(inputs), *layer(outputs))


class UNet(nn.Module):
    """Segments [B, 3, H, W] into classes [B, C, H, W]: one way up by transposed convolution, one by interpolation."""

    def __init__(self, width=8, classes=4):
        super().__init__()
        self.down1, self.down2, self.middle = DoubleConv(3, width), DoubleConv(width, 2 * width), DoubleConv(2 * width, 4 * width)
        self.rise = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2)
        self.up2, self.up1 = DoubleConv(4 * width, 2 * width), DoubleConv(3 * width, width)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, input):
        a = self.down1(input)
        b = self.down2(F.max_pool2d(a, 2))
        x = self.middle(F.max_pool2d(b, 2))
        x = self.up2(torch.cat([b, self.rise(x)], 1))
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return self.head(self.up1(torch.cat([a, x], 1)))


class DCGANGenerator(nn.Module):
    def __init__(self, latent=16, width=8):
        super().__init__()
        up = lambda i, o: (nn.ConvTranspose2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(True))
        self.body = nn.Sequential(nn.ConvTranspose2d(latent, 4 * width, 4, 1, 0, bias=False), nn.BatchNorm2d(4 * width),
                                  nn.ReLU(True), *up(4 * width, 2 * width), *up(2 * width, width),
                                  nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, input):
        return self.body(input.unsqueeze(-1).unsqueeze(-1))


class DCGANDiscriminator(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        down = lambda i, o: (nn.Conv2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.2, inplace=True))
        self.body = nn.Sequential(nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
                                  *down(width, 2 * width), *down(2 * width, 4 * width), nn.Conv2d(4 * width, 1, 4, bias=False))

    def forward(self, input):
        return self.body(input).view(-1)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ELU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ELU(), nn.Flatten(),
                                     nn.Linear(784, 16))
        self.decoder = nn.Sequential(nn.Linear(16, 784), nn.Unflatten(1, (16, 7, 7)), nn.ELU(),
                                     nn.ConvTranspose2d(16, 8, 3, 2, 1, output_padding=1), nn.ELU(),
                                     nn.ConvTranspose2d(8, 1, 3, 2, 1, output_padding=1), nn.Sigmoid())

    def forward(self, input):
        return self.decoder(self.encoder(input))


class VAE(nn.Module):
    """Returns its loss: reconstruction of `input` [B, 1, 28, 28] plus the divergence of its sampled code."""

    def __init__(self, hidden=64, latent=8):
        super().__init__()
        self.encode = nn.Sequential(nn.Flatten(), nn.Linear(784, hidden), nn.Softplus())
        self.mean, self.log_variance = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decode = nn.Sequential(nn.Linear(latent, hidden), nn.Softplus(), nn.Linear(hidden, 784))

    def forward(self, input):
        hidden = self.encode(input)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        code = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        target = torch.sigmoid(input).flatten(1)
        lost = F.binary_cross_entropy_with_logits(self.decode(code), target, reduction="none").sum(1)
        divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(dim=1)
        return (lost + divergence).mean()


class TimedResidual(nn.Module):
    def __init__(self, inputs, outputs, times):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(times, outputs)
        self.norm2, self.conv2 = nn.GroupNorm(4, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, time):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.conv2(F.dropout(F.silu(self.norm2(y)), 0.1, self.training))


class SelfAttention2d(nn.Module):
    def __init__(self, channels, heads=2):
        super().__init__()
        self.heads, self.norm = heads, nn.GroupNorm(4, channels)
        self.qkv, self.project = nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, 3, self.heads, c // self.heads, h * w).transpose(-1, -2).unbind(1)
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.project(y.transpose(-1, -2).reshape(b, c, h, w))


class DiffusionUNet(nn.Module):
    """Predicts the noise of `input` [B, 1, 16, 16] at the steps `time` [B] (int64)."""

    def __init__(self, width=8):
        super().__init__()
        self.width, times = width, 4 * width
        self.time = nn.Sequential(nn.Linear(width, times), nn.SiLU(), nn.Linear(times, times))
        self.first = nn.Conv2d(1, width, 3, padding=1)
        self.down1, self.shrink = TimedResidual(width, width, times), nn.Conv2d(width, 2 * width, 3, 2, 1)
        self.middle1, self.attention = TimedResidual(2 * width, 2 * width, times), SelfAttention2d(2 * width)
        self.middle2 = TimedResidual(2 * width, 2 * width, times)
        self.grow, self.up1 = nn.Conv2d(2 * width, width, 3, padding=1), TimedResidual(2 * width, width, times)
        self.norm, self.last = nn.GroupNorm(4, width), nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, input, time):
        half = self.width // 2
        rates = torch.exp(torch.arange(half, device=input.device) * (-math.log(10000.0) / (half - 1)))
        angles = time[:, None].float() * rates[None]
        t = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        a = self.down1(self.first(input), t)
        x = self.middle2(self.attention(self.middle1(self.shrink(a), t)), t)
        x = self.grow(F.interpolate(x, scale_factor=2.0, mode="nearest"))
        return self.last(F.silu(self.norm(self.up1(torch.cat([x, a], 1), t))))
