"""The classes of docs/extending.md, built as a plugin against the installed package, named by a config, trained and resumed.

usage: extending_test.py write PAGE FOLDER            writes the project that the page describes
       extending_test.py train LEVIN PLUGIN FOLDER    trains with the installed program
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

CONFIG = {
    "seed": 1,
    "model": {"class": "ImageClassifier", "net": "mlp", "hidden": 16, "optimizer": {"class": "Signum", "lr": 0.004, "momentum": 0.5},
              "lr_scheduler": {"class": "InverseSqrt", "warmup": 5, "interval": "step"}},
    "data": {"class": "SyntheticDigits", "train_size": 192, "val_size": 32, "batch_size": 16},
    "trainer": {"max_epochs": 2, "accelerator": "cpu", "devices": 2, "strategy": "MajorityVote",
                "precision": {"class": "CoarseInputs", "step": 0.25}, "enable_progress_bar": False, "num_threads": 1,
                "callbacks": [{"class": "ModelCheckpoint", "save_top_k": -1}]},
}


def check(what, holds):
    if not holds:
        sys.exit("does not hold: " + what)


def write(page, folder):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    blocks = {kind: re.findall(rf"^```{kind}\n(.*?)^```", text, re.DOTALL | re.MULTILINE) for kind in ("cpp", "cmake")}
    check(f"the page has its blocks: {[len(found) for found in blocks.values()]}", len(blocks["cpp"]) == 5 and len(blocks["cmake"]) == 1)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.cpp").write_text("\n".join(blocks["cpp"]))
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(mine CXX)\nfind_package(levin REQUIRED)\n" + blocks["cmake"][0])


class Program:
    def __init__(self, levin, plugin, folder):
        self.words = [levin, "--plugin", plugin]
        self.folder = pathlib.Path(folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def run(self, *words):
        done = subprocess.run([*self.words, *map(str, words)], capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr

    def fit(self, name, change=None, *words):
        """Trains with the config and a change of it, and returns the run's folder and what was printed."""
        config = json.loads(json.dumps(CONFIG))
        for path, value in (change or {}).items():
            *outer, last = path.split(".")
            part = config
            for key in outer:
                part = part[key]
            part[last] = value
        config["trainer"].update(default_root_dir=str(self.folder), name=name)
        file = self.folder / (name + ".json")
        file.write_text(json.dumps(config))
        code, text = self.run("fit", "--config", file, *words)
        check(f"{name} trains: {text}", code == 0)
        return self.folder / name / "version_0", text


def train(levin, plugin, folder):
    program = Program(levin, plugin, folder)
    for kind, name in (("optimizers", "Signum"), ("lr_schedulers", "InverseSqrt"), ("precisions", "CoarseInputs"),
                       ("strategies", "MajorityVote")):
        code, text = program.run("list", kind)
        check(f"levin list {kind} shows {name}: {text}", code == 0 and name in text.split())
    unbroken, text = program.fit("unbroken")
    check("the run says what it runs with: " + text, "strategy MajorityVote" in text and "precision CoarseInputs" in text)
    weights = (unbroken / "weights.pt").read_bytes()

    import torch  # the test's Python, which has nothing of levin's

    files = sorted((unbroken / "checkpoints").glob("epoch=0-*.ckpt"))
    check(f"one checkpoint of the first epoch: {files}", len(files) == 1)
    saved = torch.load(files[0], weights_only=True)
    state = saved["optimizer_states"][0]
    check(f"Python reads the optimizer's state: {state['state'][0].keys()}",
          state["state"][0]["mean"].shape == torch.Size([16, 784]) and state["param_groups"][0]["momentum"] == 0.5)
    step = saved["global_step"]
    expected = 0.004 * min((step + 1) / 5, (5 / (step + 1)) ** 0.5)
    check(f"the schedule set the rate: {state['param_groups'][0]['lr']}, not {expected}",
          abs(state["param_groups"][0]["lr"] - expected) < 1e-12)

    resumed, _ = program.fit("resumed", None, "--ckpt-path", files[0])
    check("a resumed run ends with the bits of the unbroken one", (resumed / "weights.pt").read_bytes() == weights)
    for name, change in {
        "other_momentum": {"model.optimizer.momentum": 0.0},
        "other_warmup": {"model.lr_scheduler.warmup": 2},
        "exact_inputs": {"trainer.precision": "32-true"},
        "finer_inputs": {"trainer.precision.step": 0.125},
        "means": {"trainer.strategy": "ddp"},
    }.items():
        other, _ = program.fit(name, change)
        check(f"{name} has an effect", (other / "weights.pt").read_bytes() != weights)

    code, text = program.run("config", "check", "--config", program.folder / "unbroken.json", "--trainer.precision.stepp", "1")
    check("a wrong option is named: " + text, code == 2 and "step" in text)


if __name__ == "__main__":
    {"write": write, "train": train}[sys.argv[1]](*sys.argv[2:])
