"""UNet and Segmentation by a config, beside a UNet and a loop by hand in PyTorch: the same weights after the same steps, and the
same intersection over union on shapes that are drawn on noise.

usage: unet_test.py LEVIN FOLDER
"""

import csv
import json
import pathlib
import shutil
import subprocess
import sys

import numpy
import torch

try:
    from PIL import Image
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

CLASSES, IGNORED = 3, 255
MEAN, STD = [0.4, 0.5, 0.6], [0.2, 0.3, 0.25]


class Level(torch.nn.Module):
    def __init__(self, source, target, norm):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(source, target, 3, padding=1, bias=not norm)
        self.conv2 = torch.nn.Conv2d(target, target, 3, padding=1, bias=not norm)
        self.norm1 = torch.nn.BatchNorm2d(target) if norm else None
        self.norm2 = torch.nn.BatchNorm2d(target) if norm else None

    def forward(self, x):
        for conv, norm in ((self.conv1, self.norm1), (self.conv2, self.norm2)):
            x = conv(x)
            x = torch.relu(norm(x) if norm else x)
        return x


class UpLevel(Level):
    def __init__(self, source, target, norm):
        super().__init__(source, target, norm)
        self.up = torch.nn.ConvTranspose2d(source, target, 2, stride=2)

    def forward(self, below, beside):
        x = self.up(below)
        x = torch.nn.functional.pad(x, (0, beside.shape[3] - x.shape[3], 0, beside.shape[2] - x.shape[2]))
        return super().forward(torch.cat([beside, x], 1))


class PythonUNet(torch.nn.Module):
    def __init__(self, base, depth, norm):
        super().__init__()
        widths = [base << level for level in range(depth + 1)]
        self.encoder = torch.nn.ModuleList(Level(a, b, norm) for a, b in zip([3] + widths, widths))
        self.decoder = torch.nn.ModuleList(UpLevel(b, a, norm) for a, b in reversed(list(zip(widths, widths[1:]))))
        self.head = torch.nn.Conv2d(base, CLASSES, 1)

    def forward(self, x):
        levels = []
        for level in self.encoder:
            levels.append(level(torch.nn.functional.max_pool2d(levels[-1], 2) if levels else x))
        x = levels.pop()
        for level in self.decoder:
            x = level(x, levels.pop())
        return self.head(x)


def loss_of(logits, target, dice_weight):
    entropy = torch.nn.functional.cross_entropy(logits, target, ignore_index=IGNORED)
    counts = (target != IGNORED)[:, None]
    wanted = torch.stack([target == c for c in range(CLASSES)], 1) * counts
    found = logits.softmax(1) * counts
    shared, both = (found * wanted).sum((0, 2, 3)), (found + wanted).sum((0, 2, 3))
    return entropy + dice_weight * (1 - ((2 * shared + 1) / (both + 1)).mean())


def mean_iou(found, target):
    counts = target != IGNORED
    pairs = [((found == c) & counts, (target == c) & counts) for c in range(CLASSES)]
    return float(numpy.mean([float((a & b).sum() / (a | b).sum()) for a, b in pairs]))


def draw(generator, height, width):
    """A rectangle of class 1 and a disc of class 2 on noise; pixels of the first row do not count."""
    image = generator.normal(120, 25, (height, width, 3))
    mask = numpy.zeros((height, width), "u1")
    y, x = numpy.mgrid[0:height, 0:width]
    top, left = generator.integers(0, height - 8), generator.integers(0, width - 8)
    mask[top : top + generator.integers(6, 12), left : left + generator.integers(6, 12)] = 1
    row, column, radius = generator.integers(4, height - 4), generator.integers(4, width - 4), generator.integers(4, 8)
    mask[(y - row) ** 2 + (x - column) ** 2 < radius**2] = 2
    image[mask == 1] += (45, -30, 0)
    image[mask == 2] += (0, 30, -45)
    mask[0] = IGNORED
    return image.clip(0, 255).astype("u1"), mask


def write_part(folder, count, seed, height, width):
    generator = numpy.random.default_rng(seed)
    images, masks = [], []
    for name in ("images", "masks"):
        (folder / name).mkdir(parents=True)
    for i in range(count):
        image, mask = draw(generator, height, width)
        Image.fromarray(image).save(folder / f"images/{i:03}.png")
        palette = Image.fromarray(mask)
        palette.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0] + [90] * 759)
        palette.save(folder / f"masks/{i:03}.png")
        images.append(image)
        masks.append(mask)
    # As levin computes it: in float32.
    inputs = (torch.from_numpy(numpy.stack(images)).permute(0, 3, 1, 2).float() / 255 -
              torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)
    return inputs, torch.from_numpy(numpy.stack(masks)).long()


def fit(levin, folder, model, data, trainer):
    (folder / "run.json").write_text(json.dumps({
        "seed": 1,
        "model": {"class": "UNet", "num_classes": CLASSES, "weights": "start.pt", **model},
        "data": {"class": "Segmentation", "root": "shapes", "ignore_index": IGNORED, "image_size": [], "mean": MEAN, "std": STD,
                 "shuffle": False, "batch_size": 4, **data},
        "trainer": {"accelerator": "cpu", "num_threads": 1, "enable_progress_bar": False, "num_sanity_val_steps": 0, **trainer},
    }))
    shutil.rmtree(folder / "levin_logs", ignore_errors=True)
    done = subprocess.run([levin, "fit", "--config", "run.json"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next((folder / "levin_logs").glob("**/weights.pt"))


def train(net, inputs, masks, steps, optimizer, dice_weight):
    net.train()
    for step in range(steps):
        at = step * 4 % len(inputs)
        optimizer.zero_grad()
        loss_of(net(inputs[at : at + 4]), masks[at : at + 4], dice_weight).backward()
        optimizer.step()


def check_steps(levin, folder, norm, dice_weight):
    """Six steps in float64 on images of odd size, with sizes that do not halve evenly."""
    shutil.rmtree(folder / "shapes", ignore_errors=True)
    inputs, masks = write_part(folder / "shapes/train", 12, 1, 27, 34)
    write_part(folder / "shapes/val", 4, 2, 27, 34)
    torch.manual_seed(1)
    net = PythonUNet(4, 3, norm).double()
    torch.save({f"net.{name}": value.clone() for name, value in net.state_dict().items()}, folder / "start.pt")
    file = fit(levin, folder, {"base_channels": 4, "depth": 3, "batch_norm": norm, "dice_weight": dice_weight,
                               "optimizer": {"class": "SGD", "lr": 0.1, "momentum": 0.9}}, {},
               {"max_steps": 6, "max_epochs": 2, "precision": "64-true"})
    train(net, inputs.double(), masks, 6, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), dice_weight)
    mine = torch.load(file, weights_only=True)
    theirs = {f"net.{name}": value for name, value in net.state_dict().items()}
    assert mine.keys() == theirs.keys(), mine.keys() ^ theirs.keys()
    moved = max(float((a - b).abs().max()) for a, b in zip(theirs.values(), torch.load(folder / "start.pt").values()))
    off = max(float((mine[name] - theirs[name]).abs().max()) for name in theirs)
    assert moved > 1e-2 and off < 1e-6, (norm, dice_weight, moved, off)
    return off


def check_score(levin, folder):
    shutil.rmtree(folder / "shapes", ignore_errors=True)
    inputs, masks = write_part(folder / "shapes/train", 64, 3, 32, 32)
    val_inputs, val_masks = write_part(folder / "shapes/val", 16, 4, 32, 32)
    write_part(folder / "shapes/test", 16, 4, 32, 32)
    torch.manual_seed(2)
    net = PythonUNet(8, 2, True)
    torch.save({f"net.{name}": value.clone() for name, value in net.state_dict().items()}, folder / "start.pt")
    file = fit(levin, folder, {"base_channels": 8, "depth": 2, "optimizer": {"class": "Adam", "lr": 0.003}}, {}, {"max_epochs": 12})
    rows = list(csv.DictReader((file.parent / "metrics.csv").open()))
    mine = [float(row["val_iou"]) for row in rows if row.get("val_iou")][-1]
    train(net, inputs, masks, 12 * 16, torch.optim.Adam(net.parameters(), lr=0.003), 0)
    net.eval()
    with torch.no_grad():
        theirs = mean_iou(net(val_inputs).argmax(1), val_masks)
    assert mine > 0.8 and abs(mine - theirs) < 0.02, (mine, theirs)

    done = subprocess.run([levin, "predict", "--config", "run.json", "--model.weights", file, "--output", "masks.npy"], cwd=folder,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = torch.from_numpy(numpy.load(folder / "masks.npy"))
    assert found.shape == val_masks.shape and found.dtype == torch.long, (found.shape, found.dtype)
    assert abs(mean_iou(found, val_masks) - mine) < 1e-4, (mean_iou(found, val_masks), mine)
    return mine, theirs


def main():
    levin, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    torch.set_num_threads(1)
    off = max(check_steps(levin, folder, norm, weight) for norm in (True, False) for weight in (0, 0.5))
    mine, theirs = check_score(levin, folder)
    print(f"weights after six steps are off by {off:.1g}; mean IoU {mine:.4f}, by hand {theirs:.4f}")


main()
