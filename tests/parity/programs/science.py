"""Networks of points, graphs and fields, in small sizes: PointNet, GCN, DeepSets, FNO, SIREN, a net with BatchNorm3d."""

import torch
from torch import nn
from torch.nn import functional as F


def point_layer(inputs, outputs):
    return nn.Sequential(nn.Conv1d(inputs, outputs, 1), nn.BatchNorm1d(outputs), nn.ReLU())


class PointNet(nn.Module):
    """Classifies points [B, 3, N] after a transform that it learns."""

    def __init__(self, classes=5):
        super().__init__()
        self.points = nn.Sequential(point_layer(3, 16), point_layer(16, 32))
        self.transform = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 9))
        self.features = nn.Sequential(point_layer(3, 16), point_layer(16, 32))
        self.head = nn.Sequential(nn.Linear(32, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, classes))

    def forward(self, input):
        matrix = self.transform(torch.max(self.points(input), 2)[0]).view(-1, 3, 3)
        matrix = matrix + torch.eye(3, device=input.device).repeat(input.size(0), 1, 1)
        x = torch.bmm(input.transpose(2, 1), matrix).transpose(2, 1)
        return F.log_softmax(self.head(self.features(x).amax(2)), dim=1)


class GCN(nn.Module):
    """Two graph convolutions over a batch of graphs: nodes `input` [B, N, F], `edges` [B, 2, E] from and to.

    The batch is one graph of B * N nodes. Neighbours are added by index_add and normalized by degree.
    """

    def __init__(self, features=8, hidden=16, classes=4):
        super().__init__()
        self.first, self.second = nn.Linear(features, hidden), nn.Linear(hidden, classes)

    def convolve(self, x, edges, weight):
        sent = x[edges[0]] * weight[:, None]
        return torch.zeros_like(x).index_add(0, edges[1], sent) + x

    def forward(self, input, edges):
        b, n, _ = input.shape
        edges = (edges + n * torch.arange(b, device=edges.device)[:, None, None]).transpose(0, 1).reshape(2, -1)
        x = input.reshape(b * n, -1)
        degree = torch.ones(b * n).index_add_(0, edges[1], torch.ones(edges.shape[1]))
        scale = degree.pow(-0.5)
        weight = scale[edges[0]] * scale[edges[1]]
        x = F.dropout(F.relu(self.convolve(self.first(x), edges, weight)), p=0.2, training=self.training)
        return self.convolve(self.second(x), edges, weight).view(b, n, -1).transpose(1, 2)


class DeepSets(nn.Module):
    """A number for each set [B, N, F], whose `mask` [B, N] says which of its members count."""

    def __init__(self, features=4, width=24):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(features, width), nn.ELU(), nn.Linear(width, width))
        self.rho = nn.Sequential(nn.Linear(width, width), nn.ELU(), nn.Linear(width, 1))

    def forward(self, input, mask):
        x = self.phi(input).masked_fill(~mask.bool().unsqueeze(-1), 0)
        return self.rho(x.sum(1) / mask.sum(1, keepdim=True).clamp(min=1))


class SpectralConv(nn.Module):
    def __init__(self, width, modes):
        super().__init__()
        self.modes = modes
        self.weight = nn.Parameter(torch.randn(2, width, width, modes, modes, 2) / width)

    def forward(self, x):
        b, c, h, w = x.shape
        weight, m = torch.view_as_complex(self.weight), self.modes
        f = torch.fft.rfft2(x)
        out = torch.zeros(b, c, h, w // 2 + 1, dtype=torch.cfloat, device=x.device)
        out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", f[:, :, :m, :m], weight[0])
        out[:, :, -m:, :m] = torch.einsum("bixy,ioxy->boxy", f[:, :, -m:, :m], weight[1])
        return torch.fft.irfft2(out, s=(h, w))


class FNO(nn.Module):
    """Maps a field [B, 1, H, W] to another by convolutions in the Fourier space."""

    def __init__(self, width=8, modes=4, depth=2):
        super().__init__()
        self.lift, self.drop = nn.Linear(3, width), nn.Linear(width, 1)
        self.spectral = nn.ModuleList(SpectralConv(width, modes) for _ in range(depth))
        self.local = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(depth))

    def forward(self, input):
        b, _, h, w = input.shape
        rows = torch.linspace(0, 1, h).reshape(1, 1, h, 1).expand(b, 1, h, w)
        columns = torch.linspace(0, 1, w).reshape(1, 1, 1, w).expand(b, 1, h, w)
        x = self.lift(torch.cat([input, rows, columns], 1).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        for spectral, local in zip(self.spectral, self.local):
            x = F.gelu(spectral(x) + local(x))
        return self.drop(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class SIREN(nn.Module):
    """A signal by coordinates [B, 2]: sines all the way."""

    def __init__(self, width=32, depth=3, omega=30.0):
        super().__init__()
        self.omega = omega
        sizes = [2] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(sizes[i], sizes[i + 1]) for i in range(depth))
        self.last = nn.Linear(width, 1)
        for i, layer in enumerate(self.layers):
            bound = 1 / 2 if i == 0 else (6 / width) ** 0.5 / omega
            nn.init.uniform_(layer.weight, -bound, bound)

    def forward(self, input):
        x = input
        for layer in self.layers:
            x = torch.sin(self.omega * layer(x))
        return self.last(x)


class Volumes(nn.Module):
    """Classifies volumes [B, 1, D, H, W] by convolutions with BatchNorm3d."""

    def __init__(self, width=6, classes=5):
        super().__init__()
        self.body = nn.Sequential(nn.Conv3d(1, width, 3, padding=1), nn.BatchNorm3d(width), nn.PReLU(), nn.MaxPool3d(2),
                                  nn.Conv3d(width, 2 * width, 3, padding=1), nn.BatchNorm3d(2 * width, momentum=0.2), nn.PReLU(),
                                  nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Dropout(0.1), nn.Linear(2 * width, classes))

    def forward(self, input):
        return self.body(input)
