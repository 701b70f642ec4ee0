"""LoRA in levin beside PEFT: the same adapter is trained for 50 steps by both, and each opens what the other has saved.

usage: peft_test.py LEVIN FOLDER
"""

import json
import os
import pathlib
import subprocess
import sys

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
import torch

try:
    import peft
    import safetensors.torch
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

STEPS, BATCH = 50, 4
LEVIN, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.k_proj = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16, bias=False)
        self.v_proj, self.o_proj = torch.nn.Linear(16, 24), torch.nn.Linear(24, 16)

    def forward(self, x):
        scores = self.q_proj(x) @ self.k_proj(x).transpose(-1, -2) / 4
        return self.o_proj(torch.softmax(scores, -1) @ self.v_proj(x))


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.attn = torch.nn.LayerNorm(16), Attention()

    def forward(self, x):
        return x + self.attn(self.norm(x))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Block() for _ in range(2))
        self.score = torch.nn.Linear(16, 3)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.score(x.mean(1))


def base():
    torch.manual_seed(1)
    return Net()


def data():
    torch.manual_seed(2)
    x = torch.randn(STEPS * BATCH, 5, 16)
    return x, x.mean((1, 2)).mul(20).long().clamp(-1, 1) + 1


def adapted(config):
    """Returns PEFT's model with an adapter that is not zero at first."""
    torch.manual_seed(3)
    model = peft.get_peft_model(base(), config)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    return model


def train(model, accumulate=1, clip=None):
    """A loop by hand."""
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 0.01, foreach=False)
    x, y = data()
    for i in range(STEPS):
        loss = torch.nn.functional.cross_entropy(model(x[i * BATCH:(i + 1) * BATCH]), y[i * BATCH:(i + 1) * BATCH])
        (loss / accumulate).backward()
        if (i + 1) % accumulate == 0:
            if clip:
                torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            optimizer.zero_grad()


def fit(name, adapter, **trainer):
    """Trains with levin, and returns the run's folder."""
    config = {
        "model": {"class": "ProgramModule", "program": str(FOLDER / "net.pt2"),
                  "adapter": {"class": "LoRA", **adapter}, "optimizer": {"class": "AdamW", "lr": 0.01}},
        "data": {"class": "Npy", "input": str(FOLDER / "x.npy"), "target": str(FOLDER / "y.npy"), "batch_size": BATCH,
                 "shuffle": False},
        "trainer": {"max_epochs": 1, "enable_progress_bar": False, "logger": False, "seed": 1,
                    "default_root_dir": str(FOLDER / name), **trainer},
    }
    (FOLDER / f"{name}.json").write_text(json.dumps(config))
    done = subprocess.run([LEVIN, "fit", "--config", FOLDER / f"{name}.json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{name}: {done.stdout}\n{done.stderr}")
    return next((FOLDER / name).glob("**/weights.pt")).parent


def weights_of(folder):
    return safetensors.torch.load_file(folder / "adapter_model.safetensors")


def compare(name, got, expected, most=1e-5):
    if got.keys() != expected.keys():
        sys.exit(f"{name}: other tensors: {sorted(got.keys() ^ expected.keys())}")
    worst = max((got[key] - expected[key]).abs().max().item() for key in got)
    print(f"{name}: {len(got)} tensors differ by {worst:.2g} at most")
    if worst > most:
        sys.exit(f"{name}: they differ by more than {most}")


def check(name, config, most=1e-5, **trainer):
    model = adapted(config)
    model.save_pretrained(FOLDER / f"{name}.peft")
    run = fit(name, {"folder": str(FOLDER / f"{name}.peft")}, **trainer)
    train(model, trainer.get("accumulate_grad_batches", 1), trainer.get("gradient_clip_val"))
    model.save_pretrained(FOLDER / f"{name}.trained")
    compare(name, weights_of(run / "adapter"), weights_of(FOLDER / f"{name}.trained"), most)
    # PEFT opens levin's folder, and computes what its own model does.
    opened = peft.PeftModel.from_pretrained(base(), str(run / "adapter")).eval()
    model.eval()
    x, _ = data()
    with torch.no_grad():
        if not torch.allclose(opened(x), model(x), rtol=0, atol=1e-4):
            sys.exit(f"{name}: PEFT computes something else with levin's adapter")
        # And merged weights.
        merged = peft.PeftModel.from_pretrained(base(), str(run / "adapter")).merge_and_unload().eval()
        if not torch.allclose(merged(x), model(x), rtol=0, atol=1e-4):
            sys.exit(f"{name}: PEFT merges something else")


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    x, y = data()
    np.save(FOLDER / "x.npy", x.numpy())
    np.save(FOLDER / "y.npy", y.numpy())
    batch = torch.export.Dim("batch", min=1, max=4096)
    torch.export.save(torch.export.export(base().train(), (x[:BATCH],), dynamic_shapes=({0: batch},)), FOLDER / "net.pt2")

    lora = peft.LoraConfig
    check("all", lora(r=4, lora_alpha=8, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"]))
    check("one", lora(r=2, lora_alpha=3, target_modules=["q_proj"], use_rslora=True), accumulate_grad_batches=5)
    check("head", lora(r=3, target_modules=["v_proj", "o_proj"], modules_to_save=["score"]), gradient_clip_val=0.05)
    check("patterns", lora(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], rank_pattern={"layers.1.attn.q_proj": 2},
                           alpha_pattern={"layers.0.attn.v_proj": 5}))
    check("dora", lora(r=4, lora_alpha=8, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], use_dora=True))
    # Magnitudes begin as the norms of the weights' rows.
    start = weights_of(fit("dora_start", {"targets": ["q_proj"], "dora": True}, max_steps=1) / "adapter")
    for index, layer in enumerate(base().layers):
        norms = layer.attn.q_proj.weight.norm(dim=1)
        name = f"base_model.model.layers.{index}.attn.q_proj.lora_magnitude_vector"
        if (start[name] - norms).abs().max() > 0.0101:  # one step of AdamW moves them by the rate at most
            sys.exit("dora: other magnitudes at the start")
    # Two ranks equal one process that accumulates two batches, from levin's own initial values.
    own = {"targets": ["q_proj", "v_proj"], "rank": 4}
    alone = weights_of(fit("alone", own, max_steps=10, accumulate_grad_batches=2) / "adapter")
    for strategy in ("ddp", "zero1", "fsdp"):
        ranks = fit(strategy, own, strategy=strategy, devices=2, accelerator="cpu", max_steps=10)
        compare(f"two ranks of {strategy}", weights_of(ranks / "adapter"), alone)


main()
