"""A step of LoRA on a language model: levin's program beside PEFT, on one thread, the same network and tokens.

usage: lora.py LEVIN [--rounds 5] [--steps 8] [--hidden 384] [--layers 12] [--batch 4] [--time 128] [--rank 8] [--compiled] [--folder DIR]

Prints for each: tokens a second (the time of 2 N steps less that of N, medians over the rounds, in turns), the peak memory of a process
that trains, the time from its start to its first step (a process of one step less that step), and that of the process of one step.
--compiled: torch.compile of the network, and levin's compiled step, which is made before. --folder keeps network, tokens and compiled
step there for other runs of the same sizes; it also lets a short run prepare a measurement. Needs transformers and peft.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.update({"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false",
                   "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"})
VOCABULARY = 8192


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("levin")
    for name, default in (("rounds", 5), ("steps", 8), ("hidden", 384), ("layers", 12), ("batch", 4), ("time", 128), ("rank", 8)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--python", help=argparse.SUPPRESS)  # a process that trains with PEFT: a folder
    return parser.parse_args()


def train_with_peft(given):
    """Prints the seconds to the first step's end, and those of all steps."""
    import numpy
    import torch
    import peft
    import transformers
    torch.set_num_threads(1)
    folder = pathlib.Path(given.python)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder / "base", dtype=torch.float32)
    model = peft.PeftModel.from_pretrained(model, folder / "adapter", is_trainable=True).train()
    run = torch.compile(model) if given.compiled else model
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-3)
    tokens = numpy.fromfile(folder / "tokens.bin", numpy.uint16).astype(numpy.int64)
    for step in range(given.steps):
        first = step * given.batch * given.time
        rows = torch.from_numpy(numpy.stack([tokens[first + i * given.time:][:given.time + 1] for i in range(given.batch)]))
        logits = run(input_ids=rows[:, :-1]).logits
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()


def prepare(given, folder):
    import numpy
    import torch
    import peft
    import transformers
    torch.manual_seed(1)
    numpy.random.default_rng(1).integers(0, VOCABULARY, 2 * given.steps * given.batch * given.time + 1).astype(
        numpy.uint16).tofile(folder / "tokens.bin")
    if (folder / "adapter").exists():
        return
    heads = given.hidden // 64
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=given.hidden, intermediate_size=3 * given.hidden, num_hidden_layers=given.layers,
        num_attention_heads=heads, num_key_value_heads=heads, max_position_embeddings=1024))
    model.save_pretrained(folder / "base")
    peft.get_peft_model(model, peft.LoraConfig(r=given.rank, lora_alpha=16, target_modules="all-linear")).save_pretrained(
        folder / "adapter")


def levin_command(given, folder, steps):
    config = {
        "model": {"class": "CausalLM", "folder": str(folder / "base"), "adapter": {"class": "LoRA", "folder": str(folder / "adapter")},
                  "optimizer": {"class": "AdamW", "lr": 1e-3}},
        "data": {"class": "TokenFile", "files": [str(folder / "tokens.bin")], "dtype": "uint16", "block_size": given.time,
                 "batch_size": given.batch, "shuffle": False},
        "trainer": {"max_steps": steps, "enable_progress_bar": False, "enable_model_summary": False, "logger": False,
                    "enable_checkpointing": False, "default_root_dir": str(folder / "runs")},
    }
    (folder / "fit.json").write_text(json.dumps(config))
    package = folder / "step.pt2"
    more = ["--compiled-step", str(package)] if given.compiled else []
    if given.compiled and not package.exists():
        subprocess.run([given.levin, "compile", "--config", str(folder / "fit.json"), "--out", str(package), "--threads", "1"],
                       check=True, stdout=subprocess.DEVNULL)
    return [given.levin, "fit", "--config", str(folder / "fit.json"), *more]


def peft_command(given, folder, steps):
    return [sys.executable, __file__, given.levin, "--python", str(folder), "--steps", str(steps), "--batch", str(given.batch),
            "--time", str(given.time), *(["--compiled"] if given.compiled else [])]


def measured(command):
    """(seconds, peak bytes) of a process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}:\n{error}")
    return time.perf_counter() - start, usage.ru_maxrss * 1024


def main():
    given = arguments()
    if given.python:
        train_with_peft(given)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = given.folder or pathlib.Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        # In a process of its own: a child's peak memory begins with that of the process that starts it.
        preparing = multiprocessing.Process(target=prepare, args=(given, folder))
        preparing.start()
        preparing.join()
        rates, peaks, starts = {"levin": [], "PEFT": []}, {"levin": [], "PEFT": []}, {"levin": [], "PEFT": []}
        for _ in range(given.rounds):
            for name, command in (("levin", levin_command), ("PEFT", peft_command)):
                one = measured(command(given, folder, 1))[0]
                few, peak = measured(command(given, folder, given.steps))
                many = measured(command(given, folder, 2 * given.steps))[0]
                rates[name].append(given.steps * given.batch * given.time / (many - few))
                peaks[name].append(peak)
                starts[name].append(one)
        print(f"{given.layers} layers of {given.hidden}, rank {given.rank} on all linear layers, {given.batch} x {given.time} tokens, one "
              f"thread, load at the end {os.getloadavg()[0]:.1f}")
        before = {name: [one - given.batch * given.time / rate for one, rate in zip(starts[name], rates[name])] for name in rates}
        for name in rates:
            print(f"{name:6} {statistics.median(rates[name]):8.0f} tokens/s ({min(rates[name]):.0f} to {max(rates[name]):.0f}), "
                  f"peak {statistics.median(peaks[name]) / 2**20:.0f} MiB, a step begins after {statistics.median(before[name]):.2f} s, "
                  f"a process of one step takes {statistics.median(starts[name]):.2f} s")
        ratio = [a / b for a, b in zip(rates["levin"], rates["PEFT"])]
        print(f"levin's rate is {statistics.median(ratio):.2f} of PEFT's ({min(ratio):.2f} to {max(ratio):.2f}), its memory "
              f"{statistics.median(peaks['levin']) / statistics.median(peaks['PEFT']):.2f}, its start until the first step "
              f"{statistics.median(before['levin']) / statistics.median(before['PEFT']):.2f}, its process of one step "
              f"{statistics.median(starts['levin']) / statistics.median(starts['PEFT']):.2f}")


main()
