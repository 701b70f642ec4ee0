"""What is done in Python: trains a small network to find the bright line in an image, and saves it in both ways.

usage: pretrain.py [FOLDER]    writes pretrained.pt (the state dict) and pretrained.ts (TorchScript)
"""

import pathlib
import sys
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")  # new versions call torch.jit deprecated


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                                      nn.Linear(128, 32), nn.ReLU())
        self.head = nn.Linear(32, 16)

    def forward(self, images):
        return self.head(self.backbone(images))


def batch(count):
    """Noise [count, 1, 8, 8] with a bright row (lines 0 to 7) or column (8 to 15), and which it is."""
    line = torch.randint(16, (count,))
    images = torch.rand(count, 1, 8, 8)
    for image, i in zip(images, line.tolist()):
        if i < 8:
            image[0, i] += 1
        else:
            image[0, :, i - 8] += 1
    return images, line


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(150):
        images, line = batch(64)
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(images), line).backward()
        optimizer.step()
    images, line = batch(1000)
    print("accuracy", (net(images).argmax(1) == line).float().mean().item())
    torch.save(net.state_dict(), folder / "pretrained.pt")
    torch.jit.script(net).save(folder / "pretrained.ts")


main()
