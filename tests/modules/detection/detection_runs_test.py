"""A detector is trained by config alone on drawn shapes, and beside it the same network with the loss by hand in PyTorch, from
the same weights on the same batches: the losses and the mean average precision are the same. Then what predict writes, and ranks.

usage: detection_runs_test.py LEVIN FOLDER
"""

import csv
import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy
import torch

import coco_reference
import fcos_reference
from shapes import write_shapes

NET = {"num_classes": 3, "width": 16, "channels": 32, "first_stride": 4, "levels": 2, "head_layers": 1}
EPOCHS, BATCH, COUNT = 20, 16, 128
MEAN, STD = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
CONFIG = {
    "model": {"class": "FCOS", **NET, "weights": "start.pt", "weights_add_prefix": "net.", "optimizer": {"class": "AdamW", "lr": 0.003},
              "lr_scheduler": {"class": "CosineAnnealingLR", "T_max": EPOCHS}},
    "data": {"class": "Detection", "images": "train", "annotations": "annotations/instances_train.json", "val_images": "val",
             "val_annotations": "annotations/instances_val.json", "test_images": "val",
             "test_annotations": "annotations/instances_val.json", "image_size": 64, "shuffle": False, "batch_size": BATCH},
    "trainer": {"max_epochs": EPOCHS, "accelerator": "cpu", "enable_progress_bar": False, "num_threads": 1, "log_every_n_steps": 1,
                "check_val_every_n_epoch": EPOCHS, "logger": "CSVLogger", "num_sanity_val_steps": 0},
    "seed": 1, "name": "shapes",
}


def levin_runs(levin, folder, *words):
    done = subprocess.run([levin, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tensors(drawn):
    images = torch.stack([torch.tensor(image).permute(2, 0, 1) / 255 for image, _ in drawn])
    objects = [[(x, y, x + size, y + size, kind) for kind, x, y, size in shapes] for _, shapes in drawn]
    return (images - MEAN[:, None, None]) / STD[:, None, None], objects


def train_peer(network, drawn):
    images, objects = tensors(drawn)
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.003)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    losses = []
    for _ in range(EPOCHS):
        for first in range(0, COUNT, BATCH):
            optimizer.zero_grad()
            loss = sum(fcos_reference.losses(network, images[first:first + BATCH], objects[first:first + BATCH]))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
    return losses


def truth_of(drawn):
    return [[{"box": [x, y, size, size], "label": kind, "crowd": False, "area": size * size} for kind, x, y, size in shapes]
            for _, shapes in drawn]


def map_of(found, drawn):
    return coco_reference.value_of(list(zip(found, truth_of(drawn))), {})


def check_guess(levin, folder):
    """The guessed config trains on the same files."""
    levin_runs(levin, folder, "data", "guess", ".", "--output", "guessed.json")
    text = (folder / "guessed.json").read_text()
    config = json.loads("\n".join(line for line in text.splitlines() if not line.strip().startswith("//")))
    model, data = config["model"], config["data"]
    assert (model["class"], model["num_classes"], data["class"], data["image_size"]) == ("FCOS", 3, "Detection", 64), config
    paths = {name: pathlib.Path(data[name]).name for name in ("images", "annotations", "val_images", "val_annotations")}
    assert list(paths.values()) == ["train", "instances_train.json", "val", "instances_val.json"], paths
    levin_runs(levin, folder, "fit", "--config", "guessed.json", "--trainer.max_epochs", "1", "--model.width", "8",
               "--trainer.enable_progress_bar", "false", "--trainer.accelerator", "cpu")


def map_of_peer(network, drawn):
    found = [[{"score": score, "label": label, "box": box} for score, label, box in one]
             for one in fcos_reference.detect(network, tensors(drawn)[0])]
    return map_of(found, drawn)


def map_of_results(path, drawn):
    found = [[] for _ in drawn]
    for one in json.loads(path.read_text()):
        found[one["image_id"] - 100].append({"score": one["score"], "label": one["category_id"] // 10 - 1, "box": one["bbox"]})
    return map_of(found, drawn)


def logged(folder, name):
    path = next(folder.rglob("metrics.csv"))
    return [float(row[name]) for row in csv.DictReader(path.open()) if row.get(name)]


def main():
    levin, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    torch.manual_seed(2)
    torch.set_num_threads(1)
    train, val = write_shapes(folder, "train", COUNT, 1), write_shapes(folder, "val", 40, 2)
    network = fcos_reference.Network(**NET)
    torch.save(network.state_dict(), folder / "start.pt")
    check_guess(levin, folder)
    shutil.rmtree(folder / "boxes")  # its run
    (folder / "run.json").write_text(json.dumps(CONFIG))

    fit = levin_runs(levin, folder, "fit", "--config", "run.json")
    peer, own = train_peer(network, train), logged(folder, "train_loss")
    assert len(own) == len(peer), (len(own), len(peer))
    off = [max(abs(a - b) / b for a, b in zip(own[:steps], peer)) for steps in (3, 10)]
    # AdamW divides small gradients by their size: rounding grows with the steps.
    assert off[0] < 1e-5 and off[1] < 2e-3, f"the losses of the first steps are off by {off}: {own[:10]} {peer[:10]}"
    val_map, peer_map = logged(folder, "val_map")[-1], map_of_peer(network, val)
    print(f"val_map {val_map:.3f}, of the peer {peer_map:.3f}; losses off by {off[0]:.1g} after 3 steps and {off[1]:.1g} after 10, last {own[-1]:.3f} and {peer[-1]:.3f}")
    assert val_map > 0.6 and abs(val_map - peer_map) < 0.1, fit

    run = ("--config", "run.json", "--ckpt-path", "last")
    levin_runs(levin, folder, "predict", *run, "--output", "found.json")
    written = map_of_results(folder / "found.json", val)
    assert abs(written - val_map) < 1e-6, f"found.json has {written}, val_map is {val_map}"
    two = levin_runs(levin, folder, "validate", *run, "--trainer.devices", "2", "--trainer.strategy", "ddp")
    of_ranks = float(re.search(r"val_map\D+([\d.]+)", two).group(1))
    assert abs(of_ranks - val_map) < 1e-4, two


main()
