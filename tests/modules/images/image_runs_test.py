"""Runs of the program that fine-tune a network for images from a folder: ranks, memory formats, and the folder that they write.

usage: image_runs_test.py LEVIN FOLDER
"""

import json
import pathlib
import shutil
import subprocess
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from safetensors.numpy import load_file  # noqa: E402
from small_resnet import write_resnet  # noqa: E402
from trainer.effects.small_data import picture, png  # noqa: E402

CONFIG = {
    "model": {"class": "PretrainedImageClassifier", "folder": "resnet", "save_to": "saved", "optimizer": {"class": "SGD", "lr": 0.1}},
    "data": {"class": "ImageFolder", "root": "photos", "preprocessor": "resnet", "val_fraction": 0, "batch_size": 4},
    "trainer": {"max_epochs": 3, "accelerator": "cpu", "enable_progress_bar": False, "num_threads": 1},
    "seed": 1,
}


def fit(levin, folder, *flags):
    done = subprocess.run([levin, "fit", "--config", "run.json", *flags], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return load_file(folder / "saved/model.safetensors")


def off(some, others):
    assert some.keys() == others.keys()
    return max(float(numpy.abs(some[name].astype(float) - others[name]).max()) for name in some)


def main():
    levin, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_resnet(folder / "resnet")
    generator = numpy.random.default_rng(1)
    for kind in ("cat", "dog"):
        (folder / "photos" / kind).mkdir(parents=True)
        for i in range(8):
            (folder / f"photos/{kind}/{i}.png").write_bytes(png(picture(generator)))
    (folder / "run.json").write_text(json.dumps(CONFIG))

    alone = fit(levin, folder)
    assert off(alone, load_file(folder / "resnet/model.safetensors")) > 1e-3, "nothing was learned"
    config = json.loads((folder / "saved/config.json").read_text())
    assert config["id2label"] == {"0": "cat", "1": "dog"}, config
    assert (folder / "saved/preprocessor_config.json").read_bytes() == (folder / "resnet/preprocessor_config.json").read_bytes()

    ranks = ("--trainer.devices", "2", "--data.batch_size", "2")
    divided = fit(levin, folder, *ranks, "--trainer.strategy", "fsdp")
    whole = fit(levin, folder, *ranks, "--trainer.strategy", "ddp")
    assert off(divided, whole) < 1e-5, f"fsdp is off by {off(divided, whole)}"
    last = fit(levin, folder, "--trainer.memory_format", "channels_last")
    assert off(last, alone) < 1e-4, f"channels_last is off by {off(last, alone)}"
    print(f"fsdp is off by {off(divided, whole):.1g}, channels_last by {off(last, alone):.1g}")


main()
