"""The loss of a small language model after a fixed number of tokens: levin's program beside transformers.

usage: language_model.py LEVIN TEXT [--seeds 3] [--first 1] [--steps 300] [--batch 8] [--time 128] [--hidden 128] [--layers 5]
                         [--threads 1]

Each byte of TEXT (tinyshakespeare's input.txt, say) is a token; its last tenth is for validation. For each seed, from --first on, both
programs begin with the same random weights of a llama and draw an order of the same windows by themselves; transformers' network is
trained by a loop by hand. One function computes the validation loss of both trained folders. Prints the losses in nats per token, their
means and standard deviations over the seeds, and the difference of the means with its standard error. Needs transformers.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

os.environ.update({"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"})

import numpy  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

LR = 2e-3


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("levin")
    parser.add_argument("text", type=pathlib.Path)
    for name, default in (("seeds", 3), ("first", 1), ("steps", 300), ("batch", 8), ("time", 128), ("hidden", 128), ("layers", 5),
                          ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args()


def windows(tokens, time):
    """Returns [count, time + 1]: the targets of a window are the tokens after its inputs."""
    count = (len(tokens) - 1) // time
    return torch.from_numpy(numpy.stack([tokens[i * time:(i + 1) * time + 1] for i in range(count)]).astype(numpy.int64))


def loss_of(model, rows):
    logits = model(input_ids=rows[:, :-1]).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())


def make_weights(given, seed, folder):
    torch.manual_seed(seed)
    heads = given.hidden // 32
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=256, hidden_size=given.hidden, intermediate_size=3 * given.hidden, num_hidden_layers=given.layers,
        num_attention_heads=heads, num_key_value_heads=heads, max_position_embeddings=given.time))
    model.save_pretrained(folder)
    return model


def train_with_transformers(given, seed, model, rows):
    optimizer = torch.optim.AdamW(model.parameters(), LR)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, given.steps)
    draws = torch.Generator().manual_seed(seed)
    order = torch.cat([torch.randperm(len(rows), generator=draws) for _ in range(given.steps * given.batch // len(rows) + 1)])
    for step in range(given.steps):
        loss_of(model, rows[order[step * given.batch:(step + 1) * given.batch]]).backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()


def train_with_levin(given, seed, folder):
    config = {
        "model": {"class": "CausalLM", "folder": str(folder / "random"), "save_to": str(folder / "trained"),
                  "optimizer": {"class": "AdamW", "lr": LR},
                  "lr_scheduler": {"class": "CosineAnnealingLR", "T_max": given.steps, "interval": "step"}},
        "data": {"class": "TokenFile", "files": [str(folder.parent / "train.bin")], "dtype": "uint16", "block_size": given.time,
                 "batch_size": given.batch},
        "trainer": {"max_steps": given.steps, "seed": seed, "num_threads": given.threads, "logger": False,
                    "enable_progress_bar": False, "enable_checkpointing": False, "default_root_dir": str(folder / "runs")},
    }
    (folder / "fit.json").write_text(json.dumps(config))
    subprocess.run([given.levin, "fit", "--config", str(folder / "fit.json")], check=True, stdout=subprocess.DEVNULL)
    return transformers.AutoModelForCausalLM.from_pretrained(folder / "trained", dtype=torch.float32)


@torch.no_grad()
def validation_loss(model, rows):
    model.eval()
    return statistics.mean(loss_of(model, rows[i:i + 1]).item() for i in range(len(rows)))


def main():
    given = arguments()
    torch.set_num_threads(given.threads)
    tokens = numpy.frombuffer(given.text.read_bytes(), numpy.uint8).astype(numpy.uint16)
    border = len(tokens) * 9 // 10
    train, validation = windows(tokens[:border], given.time), windows(tokens[border:], given.time)
    losses = {"levin": [], "transformers": []}
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        tokens[:border].tofile(root / "train.bin")
        for seed in range(given.first, given.first + given.seeds):
            folder = root / str(seed)
            folder.mkdir()
            model = make_weights(given, seed, folder / "random")
            train_with_transformers(given, seed, model, train)
            losses["transformers"].append(validation_loss(model, validation))
            losses["levin"].append(validation_loss(train_with_levin(given, seed, folder), validation))
            print(f"seed {seed}: levin {losses['levin'][-1]:.4f}, transformers {losses['transformers'][-1]:.4f}", flush=True)
    weights = sum(parameter.numel() for parameter in model.parameters())
    means = {name: statistics.mean(values) for name, values in losses.items()}
    deviations = {name: statistics.stdev(values) if given.seeds > 1 else 0.0 for name, values in losses.items()}
    print(f"{weights / 1e6:.2f} M weights, {given.steps * given.batch * given.time} tokens, {given.seeds} seeds")
    for name in losses:
        print(f"{name:12} {means[name]:.4f}, standard deviation {deviations[name]:.4f}")
    error = (sum(deviation**2 for deviation in deviations.values()) / given.seeds)**0.5
    print(f"levin less transformers: {means['levin'] - means['transformers']:+.4f}, standard error {error:.4f}")


main()
