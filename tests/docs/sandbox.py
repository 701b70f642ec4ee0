"""A folder with what the commands of the pages take as given: configs, runs, checkpoints, pictures."""

import gzip
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from modules.detection.shapes import write_shapes  # noqa: E402
from small_bert import write_bert  # noqa: E402
from small_llama import write_llama  # noqa: E402
from small_resnet import write_resnet  # noqa: E402

SECONDS = 300  # that a command may take
CONFIG = {
    "model": {"class": "ImageClassifier", "net": "mlp", "hidden": 4, "optimizer": {"class": "Adam"}},
    "data": {"class": "SyntheticDigits", "train_size": 64, "val_size": 32, "test_size": 32},
    "trainer": {"max_epochs": 1, "enable_progress_bar": False},
}
PROGRAM = {"model": {"class": "ProgramModule", "program": "net.pt2", "loss": "cross_entropy"}, "data": CONFIG["data"]}
PHOTOS = {"model": CONFIG["model"], "data": {"class": "ImageFolder", "root": "photos"}}
PICTURES = ["a.png", "b.jpg", "holiday/c.png", *(f"photos/{kind}/{i}.png" for kind in ("cat", "dog") for i in range(4))]
EMPTY = ["net.ts", "net.pt2", "step.pt2"]
TABLE = "district,rooms,area,price\n" + "".join(
    f"{'north' if i % 2 else 'south'},{1 + i % 5},{30.5 + 7 * i % 60},{150.5 + 13 * i % 90}\n" for i in range(200))


FINETUNE = {
    "model": {"class": "CausalLM", "folder": "llama", "adapter": {"class": "LoRA", "targets": ["q_proj", "v_proj"]}},
    "data": {"class": "TextJsonl", "files": ["chats.jsonl"], "tokenizer": "llama"},
    "trainer": {"max_epochs": 1, "enable_progress_bar": False, "default_root_dir": "tuning"},
}


CLASSIFY = {
    "model": {"class": "PretrainedImageClassifier", "folder": "resnet", "num_labels": 2},
    "data": {"class": "ImageFolder", "root": "photos", "preprocessor": "resnet", "val_fraction": 0.25},
    "trainer": {"max_epochs": 1, "enable_progress_bar": False, "default_root_dir": "classifying"},
}


REVIEWS = {
    "model": {"class": "SequenceClassifier", "folder": "bert"},
    "data": {"class": "LabeledTexts", "files": ["reviews.jsonl"], "tokenizer": "bert"},
    "trainer": {"max_epochs": 1, "enable_progress_bar": False, "default_root_dir": "reviewing"},
}


DETECT = {
    "model": {"class": "FCOS", "num_classes": 3, "width": 8, "channels": 8, "levels": 1, "head_layers": 1},
    "data": {"class": "Detection", "images": "shapes/train", "annotations": "shapes/annotations/instances_train.json",
             "val_images": "shapes/val", "val_annotations": "shapes/annotations/instances_val.json", "image_size": 64},
    "trainer": {"max_epochs": 1, "enable_progress_bar": False, "default_root_dir": "detecting"},
}


SEGMENT = {
    "model": {"class": "UNet", "num_classes": 2, "base_channels": 4, "depth": 2},
    "data": {"class": "Segmentation", "root": "cells", "image_size": 16, "val_fraction": 0.25},
    "trainer": {"max_epochs": 1, "enable_progress_bar": False, "default_root_dir": "segmenting"},
}


def png(size=8, value=128):
    """A picture of one grey as the bytes of a PNG file."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes([value]) * size) * size
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Sandbox:
    """`run` runs levin in a copy of the folder, so that commands do not see what others write."""

    def __init__(self, levin, folder):
        self.levin, self.folder, self._copies = levin, folder, 0
        for name in ("x", "mnist", "run", "net", "config", "guess", "gpt"):
            (folder / f"{name}.json").write_text(json.dumps(CONFIG))
        (folder / "program.json").write_text(json.dumps(PROGRAM))
        (folder / "photos.json").write_text(json.dumps(PHOTOS))
        for file in PICTURES:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(png())
        for file in EMPTY:
            (folder / file).touch()
        (folder / "flats.csv").write_text(TABLE)
        page = (ROOT / "docs/python_data.md").read_text()
        (folder / "my_data.py").write_text(page.split("```python\n")[1].split("```")[0])
        (folder / "configs").symlink_to(ROOT / "configs")
        write_llama(folder / "llama")
        write_bert(folder / "bert", ["a", "fine", "bad", "book"])
        (folder / "reviews.jsonl").write_text("".join(
            json.dumps({"text": f"a {word} book", "label": label}) + "\n" for word, label in (("fine", "good"), ("bad", "poor")) * 8))
        (folder / "new.jsonl").write_text(json.dumps({"text": "a book"}) + "\n")
        (folder / "reviews.json").write_text(json.dumps(REVIEWS))
        self._need("fit", "--config", "reviews.json")
        (folder / "chats.jsonl").write_text("".join(json.dumps({"text": f"line {i}"}) + "\n" for i in range(16)))
        with gzip.open(folder / "more.jsonl.gz", "wt") as file:
            file.write((folder / "chats.jsonl").read_text())
        (folder / "texts").mkdir()
        (folder / "texts/one.txt").write_text("Some words to train on.\n")
        for i in range(12):
            for place in ("images", "masks"):
                (folder / "cells" / place).mkdir(parents=True, exist_ok=True)
            (folder / f"cells/images/{i}.png").write_bytes(png(16))
            (folder / f"cells/masks/{i}.png").write_bytes(png(16, value=i % 2))
        (folder / "segment.json").write_text(json.dumps(SEGMENT))
        self._need("fit", "--config", "segment.json")
        (folder / "list.csv").write_text("path,label\n" + "".join(f"{file},{file.split('/')[1]}\n" for file in PICTURES[3:] * 3))
        write_resnet(folder / "resnet")
        (folder / "classify.json").write_text(json.dumps(CLASSIFY))
        (folder / "finetune.json").write_text(json.dumps(FINETUNE))
        self._need("fit", "--config", "finetune.json")
        self._need("fit", "--config", "classify.json")
        for part, count, seed in (("train", 16, 1), ("val", 8, 2)):
            write_shapes(folder / "shapes", part, count, seed)
        (folder / "detect.json").write_text(json.dumps(DETECT))
        self._need("fit", "--config", "detect.json")
        self._need("export", "--config", "finetune.json", "--ckpt-path", "last", "--out", "adapter", "--adapter")
        for _ in range(2):
            self._need("fit", "--config", "run.json", "--seed", "1")
        run = folder / "levin_logs/version_0"
        checkpoint = next((run / "checkpoints").glob("epoch*.ckpt"))
        for name in ("run.ckpt", "a.ckpt", "checkpoints/one.ckpt"):
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(checkpoint, folder / name)
        shutil.copytree(run, folder / "run/version_3")
        self._need("ckpt", "convert", "run.ckpt", "b.safetensors", "--weights-only")
        self._need("ckpt", "convert", "run.ckpt", "parts.ckpt", "--shards", "2")

    def _need(self, *arguments):
        done = self._start(arguments, self.folder)
        output = done.communicate()[0]
        assert done.returncode == 0, f"levin {' '.join(arguments)}: {output}"

    def _start(self, arguments, folder):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
        return subprocess.Popen([self.levin, *arguments], cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, arguments, until=None):
        """(exit code, output). `until`: the program is ended when it prints a line with this text, and that is code 0."""
        self._copies += 1
        copy = self.folder.with_name(f"{self.folder.name}_{self._copies}")
        shutil.copytree(self.folder, copy, symlinks=True)
        process = self._start(arguments, copy)
        output = ""
        try:
            if until is None:
                output = process.communicate(timeout=SECONDS)[0]
                return process.returncode, output
            for line in process.stdout:
                output += line
                if until in line:
                    process.terminate()
                    process.communicate(timeout=SECONDS)
                    return 0, output
            return process.wait(SECONDS) or 1, output
        except subprocess.TimeoutExpired:
            process.kill()
            return 1, f"{output}{process.communicate()[0]}\nit had not ended after {SECONDS} seconds"
