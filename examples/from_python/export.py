"""What is done in Python before and after from_python.cpp: a network is exported, and the trained one is opened again.

usage: export.py [FOLDER]           writes net.pt2, a program that no one has trained yet
       export.py --open [FOLDER]    opens what from_python.cpp has written: trained.pt2 and trained.pt

`levin-export export.py:Net net.pt2 --example batch,1,8,8` writes the same program without a line of Python.
"""

import pathlib
import sys
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")  # torch mentions that NumPy is absent


class Net(nn.Module):
    """Says which of 16 lines in an image [B, 1, 8, 8] is bright: rows 0 to 7, columns 8 to 15."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.drop, self.head = nn.Dropout(0.1), nn.Linear(128, 16)

    def forward(self, input):
        return self.head(self.drop(self.features(input)))


def lines(count):
    """Images with a bright line, and which it is."""
    line = torch.arange(count) % 16
    images = torch.rand(count, 1, 8, 8)
    for image, i in zip(images, line.tolist()):
        (image[0, i] if i < 8 else image[0, :, i - 8]).add_(1)
    return images, line


def accuracy(network, images, line):
    with torch.no_grad():
        return (network(images).argmax(1) == line).float().mean().item()


def export(folder):
    torch.manual_seed(0)
    batch = torch.export.Dim("batch", min=1)
    program = torch.export.export(Net(), (torch.rand(2, 1, 8, 8),), dynamic_shapes=({0: batch},))
    torch.export.save(program, folder / "net.pt2")


def open_trained(folder):
    images, line = lines(800)
    program = torch.export.load(folder / "trained.pt2").module()  # a module, in eval mode as it was saved
    net = Net().eval()
    from_levin = torch.load(folder / "trained.pt", weights_only=True)
    net.load_state_dict(from_levin)
    print("accuracy of the program", accuracy(program, images, line), "and of the module", accuracy(net, images, line))
    assert torch.allclose(program(images), net(images), atol=1e-6) and accuracy(net, images, line) > 0.9


def main():
    arguments = sys.argv[1:]
    opens = "--open" in arguments
    folder = pathlib.Path(next((argument for argument in arguments if argument != "--open"), "."))
    open_trained(folder) if opens else export(folder)


if __name__ == "__main__":
    main()
