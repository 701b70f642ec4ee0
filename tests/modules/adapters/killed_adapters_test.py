"""A fit of adapters that is killed (SIGKILL) at random moments and resumed ends with the bytes of the unbroken one.

usage: killed_adapters_test.py LEVIN FOLDER [--kills 4] [--seed N]

Runs of LoRA, of DoRA, and of both on frozen weights of 4 bits take turns until there were enough kills; each run is killed until it
reaches its end.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import time

KINDS = ({}, {"base": "nf4", "double_quant": True}, {"dora": True}, {"base": "int8", "dora": True, "rslora": True})


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("levin")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    return parser.parse_args()


def command(given, name, adapter):
    """Returns the words of a fit in a folder of its own, which resumes if there is something to resume."""
    root = given.folder / name
    config = {
        "model": {"class": "ImageClassifier", "net": "mlp",
                  "adapter": {"class": "LoRA", "rank": 4, "dropout": 0.1, **adapter},
                  "optimizer": {"class": "AdamW", "lr": 0.003}},
        "data": {"class": "SyntheticDigits", "train_size": 512, "val_size": 64, "batch_size": 16},
        "trainer": {"max_epochs": 12, "enable_progress_bar": False, "logger": False, "seed": 3, "num_threads": 1,
                    "accumulate_grad_batches": 2, "default_root_dir": str(root),
                    "callbacks": [{"class": "ModelCheckpoint", "every_n_train_steps": 10, "save_last": True},
                                  {"class": "EMAWeightAveraging", "decay": 0.9}]},
    }
    root.mkdir(parents=True, exist_ok=True)
    (root / "fit.json").write_text(json.dumps(config))
    return [given.levin, "fit", "--config", str(root / "fit.json"), "--ckpt-path", "last"]


def ended(words, seconds=None):
    """Runs a fit to its end, or kills it after some seconds; returns whether it ended."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        text, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return False
    if process.returncode != 0:
        sys.exit(f"{' '.join(words)}: {text}")
    return True


def bytes_of_result(given, name):
    """Returns the files with weights of the run that ended."""
    folder = next((given.folder / name).glob("**/weights.pt")).parent
    return {file: (folder / file).read_bytes()
            for file in ("weights.pt", "adapter/adapter_model.safetensors", "adapter/adapter_config.json")}


def main():
    given = arguments()
    draw = random.Random(given.seed)
    shutil.rmtree(given.folder, ignore_errors=True)
    unbroken, seconds = [], []
    for kind, adapter in enumerate(KINDS):
        words = command(given, f"unbroken_{kind}", adapter)
        begin = time.monotonic()
        ended(words)
        seconds.append(time.monotonic() - begin)
        unbroken.append(bytes_of_result(given, f"unbroken_{kind}"))
    kills = runs = 0
    while kills < given.kills:
        kind, name = runs % len(KINDS), f"killed_{runs}"
        words = command(given, name, KINDS[kind])
        while not ended(words, draw.uniform(0.1, 1) * seconds[kind] if kills < given.kills else None):
            kills += 1
        if bytes_of_result(given, name) != unbroken[kind]:
            sys.exit(f"seed {given.seed}: {name} ({KINDS[kind]}) ends otherwise than the unbroken run")
        shutil.rmtree(given.folder / name)
        runs += 1
    print(f"seed {given.seed}: {kills} kills, {runs} runs ended with the bytes of the unbroken ones")


main()
