"""levin's ImageFolder beside Pillow with PyTorch's DataLoader: epochs in turn, with 0 and 2 workers.

Makes 2,000 JPEGs of 500 x 375, unless FOLDER has them. Both resize the shorter side to 224, take the middle,
normalise, and give batches of 32. The Python side is torchvision's ImageFolder and transforms where torchvision can be
imported, and otherwise the same by hand.

usage: image_folder.py PROGRAM FOLDER [--rounds N] [--workers N...]    PROGRAM is benchmark_data_image_folder
"""

import argparse
import pathlib
import statistics
import subprocess
import time

import torch
from PIL import Image

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Images(torch.utils.data.Dataset):
    """What torchvision's ImageFolder, Resize, CenterCrop, ToTensor and Normalize do."""

    def __init__(self, folder):
        classes = sorted(path for path in pathlib.Path(folder).iterdir() if path.is_dir())
        self.samples = [(path, i) for i, of_class in enumerate(classes) for path in sorted(of_class.iterdir())]
        self.mean, self.std = torch.tensor(MEAN).view(3, 1, 1), torch.tensor(STD).view(3, 1, 1)

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, target = self.samples[index]
        with open(path, "rb") as file:
            image = Image.open(file).convert("RGB")
        width, height = image.size
        scale = 224 / min(width, height)
        image = image.resize((int(width * scale), int(height * scale)), Image.Resampling.BILINEAR)
        left, top = round((image.width - 224) / 2), round((image.height - 224) / 2)
        image = image.crop((left, top, left + 224, top + 224))
        pixels = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).view(224, 224, 3)
        return pixels.permute(2, 0, 1).contiguous().to(torch.float32).div(255).sub_(self.mean).div_(self.std), target


def dataset(folder):
    try:
        from torchvision import datasets, transforms
    except (ImportError, RuntimeError):  # the latter from a torchvision made for another PyTorch
        return "by hand", Images(folder)
    steps = [transforms.Resize(224), transforms.CenterCrop(224), transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    return "torchvision", datasets.ImageFolder(folder, transforms.Compose(steps))


def python_epoch(loader):
    begin = time.perf_counter()
    images = sum(inputs.shape[0] for inputs, _ in loader)
    return images / (time.perf_counter() - begin)


def levin_epoch(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def compare(arguments, workers):
    name, images = dataset(arguments.folder)
    loader = torch.utils.data.DataLoader(images, 32, shuffle=True, num_workers=workers,
                                         persistent_workers=workers > 0)
    command = [arguments.program, "run", arguments.folder, str(workers)]
    rates = {"levin": [], "python": []}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for round_number in range(-1, arguments.rounds):  # the first one warms up
            ours, theirs = levin_epoch(process), python_epoch(loader)
            if round_number < 0:
                continue
            rates["levin"].append(ours)
            rates["python"].append(theirs)
        del loader  # its forked workers hold the pipe open
        process.stdin.close()
    ours, theirs = (statistics.median(rates[who]) for who in ("levin", "python"))
    pairs = sorted(a / b for a, b in zip(rates["levin"], rates["python"]))
    print(f"{workers} workers, {arguments.rounds} rounds: levin {ours:.0f}, Pillow and DataLoader ({name}) "
          f"{theirs:.0f} images/s (medians); ratio of medians {ours / theirs:.2f}, pairs from {pairs[0]:.2f} to {pairs[-1]:.2f}",
          flush=True)


def main():
    torch.set_num_threads(1)  # more threads slow the many small operations down
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 2])
    arguments = parser.parse_args()
    if not pathlib.Path(arguments.folder).exists():
        subprocess.run([arguments.program, "make", arguments.folder], check=True)
    for workers in arguments.workers:
        compare(arguments, workers)


if __name__ == "__main__":
    main()
