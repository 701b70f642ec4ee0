"""A CausalLM whose loss is computed in blocks of tokens trains as with all logits at once: on ranks, in other precisions, with adapters.

usage: blocked_loss_test.py LEVIN FOLDER
"""

import json
import pathlib
import shutil
import subprocess
import sys

import numpy
import safetensors.numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from small_llama import write_llama  # noqa: E402

LEVIN, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
WIDTH, BATCH, STEPS = 16, 4, 6
LORA = {"class": "LoRA", "rank": 2, "targets": ["q_proj", "lm_head"]}
FSDP = {"devices": 2, "strategy": "fsdp"}
# What runs, and how far from the unblocked run its weights may be, relative to the largest of a tensor.
CASES = {
    "one process": ({}, {}, 1e-6),
    "accumulated, clipped": ({"accumulate_grad_batches": 2, "gradient_clip_val": 0.1}, {}, 1e-6),
    "checkpointed": ({"activation_checkpointing": True}, {}, 1e-6),
    "ddp": ({"devices": 2, "strategy": "ddp"}, {}, 1e-6),
    "zero1": ({"devices": 2, "strategy": "zero1"}, {}, 1e-6),
    "dp": ({"devices": 2, "strategy": "dp"}, {}, 1e-6),
    "fsdp": (FSDP, {}, 1e-6),
    "fsdp, tied": (FSDP, {"folder": "tied"}, 1e-6),
    "fsdp, adapters on an int8 base": (FSDP, {"adapter": {**LORA, "base": "int8"}}, 1e-6),
    "adapters and the head": ({}, {"adapter": {**LORA, "targets": ["q_proj"], "train": ["lm_head"]}}, 1e-6),
    "bf16-mixed": ({"precision": "bf16-mixed"}, {}, 1e-2),
    "fsdp, bf16-mixed": ({**FSDP, "precision": "bf16-mixed"}, {"folder": "tied"}, 1e-2),
}


def config(name, trainer, model):
    run = FOLDER / "runs" / name
    run.mkdir(parents=True)
    model = {"class": "CausalLM", "optimizer": {"class": "SGD", "lr": 0.01}, "folder": "llama", **model}
    model["folder"] = str(FOLDER / model["folder"])
    devices = trainer.get("devices", 1)
    written = {
        "model": {**model, "save_to": str(run / "out")},
        "data": {"class": "TokenFile", "files": [str(FOLDER / "tokens.bin")], "val_files": [str(FOLDER / "val.bin")], "dtype": "uint16",
                 "block_size": WIDTH, "batch_size": BATCH // devices},
        "trainer": {"max_steps": STEPS, "seed": 1, "accelerator": "cpu", "num_threads": 1, "logger": ["CSVLogger"],
                    "enable_progress_bar": False, "default_root_dir": str(run), **trainer},
    }
    (run / "fit.json").write_text(json.dumps(written))
    return run / "fit.json"


def levin(*words):
    done = subprocess.run([LEVIN, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"levin {' '.join(map(str, words))}:\n{done.stdout}{done.stderr}")
    return done.stdout


def trained(name, trainer, model):
    """The weights that a fit writes."""
    file = config(name, trainer, model)
    levin("fit", "--config", file)
    return safetensors.numpy.load_file(file.parent / "out" / "model.safetensors")


def apart(one, other):
    """How far tensors are from each other, relative to the largest number of each, at most; and in which."""
    far = {key: float(numpy.abs(other[key].astype(numpy.float64) - one[key].astype(numpy.float64)).max() / numpy.abs(one[key]).max())
           for key in one}
    worst = max(far, key=far.get)
    return far[worst], worst


def check(name, trainer, model, most):
    whole = trained(f"{name}, whole", trainer, model)
    blocks = trained(f"{name}, blocks", trainer, {**model, "cross_entropy_block_size": 5})
    assert whole.keys() == blocks.keys(), name
    start = safetensors.numpy.load_file(FOLDER / model.get("folder", "llama") / "model.safetensors")
    (off, worst), (moved, _) = apart(whole, blocks), apart({key: start[key] for key in whole}, whole)
    print(f"{name}: {off:.1e} apart at most, in {worst}; training moved by {moved:.1e}", flush=True)
    if not off <= most < moved / 5:
        sys.exit(f"{name}: expected {most} at most")


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    write_llama(FOLDER / "llama")
    write_llama(FOLDER / "tied", {"tie_word_embeddings": True})
    weights = safetensors.numpy.load_file(FOLDER / "tied" / "model.safetensors")
    weights.pop("lm_head.weight")
    safetensors.numpy.save_file(weights, FOLDER / "tied" / "model.safetensors")
    random = numpy.random.default_rng(2)
    for file, rows in (("tokens.bin", BATCH * STEPS * 2), ("val.bin", BATCH)):
        random.integers(0, 257, rows * WIDTH + 1).astype(numpy.uint16).tofile(FOLDER / file)
    for name, (trainer, model, most) in CASES.items():
        check(name, trainer, model, most)
    # A run that is interrupted ends with the bits of the unbroken one.
    for name, trainer in (("resumed", {}), ("resumed, fsdp", FSDP)):
        levin("verify-resume", "--config", config(name, trainer, {"cross_entropy_block_size": 5}), "--steps", STEPS)


main()
