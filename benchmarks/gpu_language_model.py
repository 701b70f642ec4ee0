"""Language models of full size on a GPU: levin's program beside PyTorch by hand, and llm.c.

usage: gpu_language_model.py LEVIN [--parts gpt2,lora] [--steps 30] [--rounds 2] [--llm-c FOLDER] [--tiny]

gpt2  GPT-2 of 124 M with random weights, sequences of 1,024, bf16 autocast, fused AdamW: `levin fit` as it is, with its cross entropy
      in blocks, and with captured steps besides; the network by hand with scaled_dot_product_attention, as it is and compiled; with
      --llm-c also llm.c, which is built from a copy of its source in FOLDER (needs nvcc)
lora  a llama of 1.24 billion frozen weights in bfloat16 with LoRA of rank 8 on all of its linear layers: the same

Prints a table: tokens a second (medians of rounds in which the ways run in turn), milliseconds a step, and the peak memory of tensors.
Then, for the networks by hand, whether a kernel of flash attention ran. A way that fails has its error in the table, and the exit status
is then 1. Folders of models and files of tokens are written by the script, which needs nothing but torch. --tiny: sizes of a test, also
on the CPU.
"""

import argparse
import json
import math
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch.nn import functional as F

from gpu_language_networks import ALPHA, GPT2, HEADER_WORDS, RANK, Llama, add_lora, write_safetensors, write_tokens

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
WARM_UP = 10 if GPU else 2
# Sizes of a part, and those of a test.
SIZES = {
    "gpt2": ({"layers": 12, "hidden": 768, "heads": 12, "vocabulary": 50257, "time": 1024, "batch": 16, "block": 4096},
             {"layers": 2, "hidden": 16, "heads": 2, "vocabulary": 70, "time": 8, "batch": 2, "block": 5}),
    "lora": ({"layers": 16, "hidden": 2048, "heads": 32, "kv_heads": 8, "inner": 8192, "vocabulary": 128256, "time": 1024, "batch": 4,
              "block": 1024},
             {"layers": 2, "hidden": 16, "heads": 4, "kv_heads": 2, "inner": 24, "vocabulary": 70, "time": 8, "batch": 2, "block": 5}),
}  # fmt: skip
LR = 1e-4


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("levin")
    parser.add_argument("--parts", default="gpt2,lora")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--llm-c", type=pathlib.Path)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--by-hand", help=argparse.SUPPRESS)  # a process of a network by hand: PART,WAY,FOLDER
    return parser.parse_args()


# --- what is written for levin ---


def network(part, size):
    """The frozen or trained network, with its values drawn by itself."""
    torch.manual_seed(1)
    if part == "gpt2":
        net = GPT2(size)
    else:
        with torch.device(DEVICE):
            net = Llama(size).to(torch.bfloat16)
    for parameter in net.parameters():
        if parameter.dim() == 2:
            torch.nn.init.normal_(parameter, std=0.02)
    return net.to(DEVICE)


def write_folder(part, size, folder):
    folder.mkdir()
    tensors = dict(network(part, size).named_parameters())
    if part == "gpt2":  # its files have the weights of linear layers as [in, out]
        tensors = {name: value.t() if ".c_" in name and value.dim() == 2 else value for name, value in tensors.items()}
        config = {"model_type": "gpt2", "vocab_size": size["vocabulary"], "n_positions": size["time"], "n_embd": size["hidden"],
                  "n_layer": size["layers"], "n_head": size["heads"], "attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0}
    else:
        config = {"model_type": "llama", "vocab_size": size["vocabulary"], "hidden_size": size["hidden"], "intermediate_size": size["inner"],
                  "num_hidden_layers": size["layers"], "num_attention_heads": size["heads"], "num_key_value_heads": size["kv_heads"],
                  "max_position_embeddings": size["time"], "tie_word_embeddings": True, "rms_norm_eps": 1e-6}
    write_safetensors(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))


# --- the ways ---


def batches(size, file):
    """The batches of the file in turn, with targets, on the device."""
    words = torch.from_file(str(file), size=file.stat().st_size // 2, dtype=torch.int16)[2 * HEADER_WORDS:]
    each = size["batch"] * size["time"]
    first = 0
    while True:
        rows = (words[first:first + each + 1].to(torch.int64) & 0xFFFF)
        rows = rows.pin_memory() if GPU else rows
        rows = rows.to(DEVICE, non_blocking=True)
        yield rows[:-1].view(size["batch"], -1), rows[1:].view(size["batch"], -1)
        first = first + each if first + 2 * each < len(words) else 0


def by_hand(part, way, size, steps, file):
    """Trains, and returns the seconds of a step, the peak memory, and the names of the kernels of one more step."""
    torch.set_float32_matmul_precision("high")
    if not GPU:
        torch.set_num_threads(1)
    net = network(part, size)
    if part == "lora":
        net = add_lora(net).to(DEVICE)
    run = torch.compile(net) if way == "compiled" else net
    optimizer = torch.optim.AdamW([one for one in net.parameters() if one.requires_grad], LR, fused=True)
    source = batches(size, file)

    def step():
        tokens, target = next(source)
        with torch.autocast(DEVICE, torch.bfloat16):
            logits = run(tokens)
            loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), target.reshape(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    for _ in range(WARM_UP):
        step().item()
    begin = time.perf_counter()
    for _ in range(steps):
        loss = step()
    last = loss.item()  # waits for the device
    seconds = (time.perf_counter() - begin) / steps
    assert math.isfinite(last), last
    peak = torch.cuda.max_memory_allocated() if GPU else 0
    with torch.profiler.profile() as profile:
        step().item()
    kernels = sorted({event.key for event in profile.key_averages() if re.search("flash", event.key, re.I)})
    return {"seconds": seconds, "peak": peak, "flash": kernels, "loss": last}


def levin_config(part, way, size, steps, folder):
    model = {"class": "CausalLM", "folder": str(folder / part), "optimizer": {"class": "AdamW", "lr": LR}}
    if part == "lora":
        model |= {"dtype": "file", "adapter": {"class": "LoRA", "rank": RANK, "alpha": ALPHA}}
    if way != "eager":
        model["cross_entropy_block_size"] = size["block"]
    trainer = {"max_steps": WARM_UP + steps, "precision": "bf16-mixed", "accelerator": "gpu" if GPU else "cpu", "devices": 1,
               "log_every_n_steps": steps, "logger": ["CSVLogger"], "enable_progress_bar": False, "enable_checkpointing": False,
               "default_root_dir": str(folder / "runs"), "num_sanity_val_steps": 0,
               "callbacks": [{"class": "ThroughputMonitor", "window_size": max(steps, 2), "items_of": "input", "count_flops": False},
                             {"class": "DeviceStatsMonitor", "every_n_steps": steps}]}
    trainer |= {"cuda_graphs": way == "captured"} if GPU else {"num_threads": 1}
    data = {"class": "TokenFile", "files": [str(folder / "tokens.bin")], "block_size": size["time"], "batch_size": size["batch"]}
    return {"model": model, "data": data, "trainer": trainer, "seed": 1}


def by_levin(given, part, way, size, folder):
    # Values are logged, and waited for, at multiples of `steps`: the last window lies between two of them.
    config = levin_config(part, way, size, given.steps, folder)
    config["trainer"]["max_steps"] = 2 * given.steps * math.ceil(WARM_UP / given.steps)
    (folder / "fit.json").write_text(json.dumps(config))
    shutil.rmtree(folder / "runs", ignore_errors=True)
    done = subprocess.run([given.levin, "fit", "--config", str(folder / "fit.json")], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip() or done.stdout.strip())[-300:])
    lines = next((folder / "runs").glob("**/metrics.csv")).read_text().splitlines()
    values = {}
    for line in lines[1:]:
        values |= {key: float(value) for key, value in zip(lines[0].split(","), line.split(",")) if value}
    tokens = size["batch"] * size["time"]
    peak = next((value for key, value in values.items() if key.endswith("/allocated_bytes.peak")), 0)
    return {"seconds": tokens / values["train/device/items_per_sec"], "peak": peak, "loss": values["train_loss"]}


def by_llm_c(given, size, folder):
    """Builds llm.c in a copy of its source, and trains a random GPT-2 of the same depth."""
    source = folder / "llm.c"
    if not source.exists():
        shutil.copytree(given.llm_c, source)
        made = subprocess.run(["make", "-C", str(source), "train_gpt2cu", "NO_MULTI_GPU=1"], capture_output=True, text=True)
        if made.returncode != 0:
            raise RuntimeError(made.stderr.strip()[-300:])
    tokens = size["batch"] * size["time"]
    done = subprocess.run(["./train_gpt2cu", "-i", str(folder / "tokens.bin"), "-j", str(folder / "tokens.bin"), "-o", str(folder / "log"),
                           "-e", f"d{size['layers']}", "-b", str(size["batch"]), "-t", str(size["time"]), "-d", str(tokens),
                           "-x", str(WARM_UP + given.steps), "-v", "100000", "-m", "1", "-s", "0", "-h", "0", "-l", str(LR)],
                          cwd=source, capture_output=True, text=True)  # fmt: skip
    times = [float(found) for found in re.findall(r"^step .*\| *([0-9.]+) ms \|", done.stdout, re.M)]
    if done.returncode != 0 or len(times) <= WARM_UP:
        raise RuntimeError((done.stderr.strip() or done.stdout.strip())[-300:])
    return {"seconds": statistics.median(times[WARM_UP:]) / 1e3, "peak": 0, "loss": 0}


def in_own_process(given, part, way, folder):
    """Calls by_hand, or write_folder, so that each network finds the memory of the device free."""
    words = [sys.executable, __file__, given.levin, "--by-hand", f"{part},{way},{folder}", "--steps", str(given.steps)]
    done = subprocess.run([*words, *(["--tiny"] if given.tiny else [])], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else None


def ways_of(given, part, size, folder):
    ways = {"PyTorch by hand": lambda: in_own_process(given, part, "eager", folder)}
    if GPU:
        ways["PyTorch by hand, torch.compile"] = lambda: in_own_process(given, part, "compiled", folder)
    for way, name in (("eager", "levin"), ("blocks", f"levin, cross entropy in blocks of {size['block']}"),
                      ("captured", "levin, in blocks and captured")):
        if GPU or way != "captured":
            ways[name] = lambda way=way: by_levin(given, part, way, size, folder)
    if part == "gpt2" and given.llm_c:
        ways["llm.c"] = lambda: by_llm_c(given, size, folder)
    return ways


def measure(given, part, folder):
    """Prints the table of a part; returns how many ways failed."""
    size = SIZES[part][given.tiny]
    in_own_process(given, part, "write", folder)
    write_tokens(size, size["batch"] * (WARM_UP + 2 * given.steps), folder / "tokens.bin")
    ways, runs, errors = ways_of(given, part, size, folder), {}, {}
    for _ in range(given.rounds):
        for name, way in ways.items():
            if name in errors:
                continue
            try:
                runs.setdefault(name, []).append(way())
            except (RuntimeError, subprocess.SubprocessError, OSError, KeyError, StopIteration) as error:
                errors[name] = " ".join(f"{type(error).__name__}: {error}".split()).replace("|", "/")
    tokens = size["batch"] * size["time"]
    print(f"\n{part}: {size['layers']} layers of {size['hidden']}, a vocabulary of {size['vocabulary']:,}, {size['batch']} x {size['time']} "
          f"tokens\n\n| way | tokens/s | ms a step | peak MB | loss |\n|---|---|---|---|---|")
    for name in ways:
        if name in errors:
            print(f"| {name} | failed: {errors[name]} | | | |")
            continue
        seconds = statistics.median(one["seconds"] for one in runs[name])
        last = runs[name][-1]
        print(f"| {name} | {tokens / seconds:,.0f} | {1e3 * seconds:.1f} | {last['peak'] / 1e6:,.0f} | {last['loss']:.3f} |")
    for name, found in runs.items():
        if name not in errors and "flash" in found[-1]:
            print(f"\nKernels of flash attention in {name}: {', '.join(found[-1]['flash']) or 'none'}")
    if part == "gpt2" and not given.llm_c:
        print("\nllm.c was left out: no folder with its source was given.")
    return len(errors)


def main():
    given = arguments()
    if given.by_hand:
        part, way, folder = given.by_hand.split(",")
        if way == "write":
            write_folder(part, SIZES[part][given.tiny], pathlib.Path(folder) / part)
            return 0
        print(json.dumps(by_hand(part, way, SIZES[part][given.tiny], given.steps, pathlib.Path(folder) / "tokens.bin")))
        return 0
    failed = 0
    for part in given.parts.split(","):
        with tempfile.TemporaryDirectory() as folder:
            failed += measure(given, part, pathlib.Path(folder))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
