"""Fine-tuning by the command line beside transformers and PEFT: a folder in, an adapter, merged weights and text out.

usage: finetuning_test.py LEVIN FOLDER
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import numpy as np
import torch

try:
    import peft
    import tokenizers
    import transformers
    from safetensors.torch import load_file
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

LEVIN, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
STEPS, BATCH, WIDTH, VOCABULARY = 50, 4, 16, 300
TEXT = pathlib.Path(__file__).read_text() * 4
SIZES = {"vocab_size": VOCABULARY, "eos_token_id": 0, "bos_token_id": 0, "initializer_range": 0.2}
MODELS = {
    "llama": (transformers.LlamaConfig(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                                       num_key_value_heads=2, max_position_embeddings=128, **SIZES), ["q_proj", "down_proj"]),
    # The weight of its c_proj is square and stored as [in, out].
    "gpt2": (transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=128, attn_pdrop=0, resid_pdrop=0, embd_pdrop=0,
                                     **SIZES), ["c_attn", "attn.c_proj"]),
}


def levin(*arguments):
    done = subprocess.run([LEVIN, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"levin {' '.join(map(str, arguments))}:\n{done.stdout}{done.stderr}")
    return done.stdout


def tokenizer():
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator([TEXT], tokenizers.trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=["<eos>"],
                                                                     initial_alphabet=alphabet, show_progress=False))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>")


def base(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def differ(name, one, other, most):
    worst = (one - other).abs().max().item()
    if not worst <= most:
        sys.exit(f"{name}: {worst} apart, {most} at most")
    return worst


def train(model, tokens):
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 0.005, foreach=False)
    for step in range(STEPS):
        rows = [tokens[i * WIDTH:(i + 1) * WIDTH + 1] for i in range(step * BATCH, (step + 1) * BATCH)]
        rows = torch.tensor(np.stack(rows).astype(np.int64))
        logits = model(input_ids=rows[:, :-1]).logits
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
    return model.eval()


def check(name):
    config, targets = MODELS[name]
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(1)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder / "base")
    words = tokenizer()
    words.save_pretrained(folder / "base")

    # Tokens by levin's command, equal to the package's.
    (folder / "text.txt").write_text(TEXT)
    levin("tokenize", "--tokenizer", folder / "base", "--in", folder / "text.txt", "--out", folder / "text.bin")
    tokens = np.fromfile(folder / "text.bin", np.uint16)
    if tokens.tolist() != [*words(TEXT).input_ids, words.eos_token_id]:
        sys.exit(f"{name}: levin tokenize writes other tokens than the package")

    # The same adapter, trained by both.
    model = peft.get_peft_model(base(folder / "base"), peft.LoraConfig(r=4, lora_alpha=6, target_modules=targets))
    for key, parameter in model.named_parameters():
        if "lora_B" in key:
            torch.nn.init.normal_(parameter, std=0.1)
    model.save_pretrained(folder / "first")
    train(model, tokens)
    run = {
        "model": {"class": "CausalLM", "folder": str(folder / "base"),
                  "adapter": {"class": "LoRA", "folder": str(folder / "first")}, "optimizer": {"class": "AdamW", "lr": 0.005}},
        "data": {"class": "TokenFile", "files": [str(folder / "text.bin")], "block_size": WIDTH, "batch_size": BATCH,
                 "shuffle": False},
        "trainer": {"max_steps": STEPS, "enable_progress_bar": False, "default_root_dir": str(folder / "runs"), "seed": 1},
    }
    (folder / "fit.json").write_text(json.dumps(run))
    levin("fit", "--config", folder / "fit.json", "--max-steps", STEPS // 2)
    levin("fit", "--config", folder / "fit.json", "--ckpt-path", "last")
    levin("export", "--config", folder / "fit.json", "--ckpt-path", "last", "--out", folder / "adapter", "--adapter")
    trained = load_file(folder / "adapter" / "adapter_model.safetensors")
    expected = {key.replace(".default.", "."): value.detach() for key, value in model.named_parameters() if "lora_" in key}
    if trained.keys() != expected.keys():
        sys.exit(f"{name}: other tensors: {sorted(trained.keys() ^ expected.keys())}")
    worst = max(differ(key, trained[key], expected[key], 1e-5) for key in trained)

    # PEFT opens levin's adapter; what levin merges computes the same; and so does what it exports.
    prompt = words("def check(name):", return_tensors="pt").input_ids
    with torch.no_grad():
        logits = model(input_ids=prompt).logits
        opened = peft.PeftModel.from_pretrained(base(folder / "base"), folder / "adapter").eval()
        differ(f"{name}: levin's adapter in PEFT", opened(input_ids=prompt).logits, logits, 1e-4)
        levin("merge", "--base", folder / "base", "--adapter", folder / "adapter", "--out", folder / "merged")
        levin("export", "--config", folder / "fit.json", "--ckpt-path", "last", "--out", folder / "exported")
        for made in ("merged", "exported"):
            differ(f"{name}: {made}", base(folder / made).eval()(input_ids=prompt).logits, logits, 1e-4)
        tokens_of = model.generate(input_ids=prompt, max_new_tokens=40, do_sample=False)[0][prompt.shape[1]:]
        text = words.decode(tokens_of, skip_special_tokens=True)
    for how in (["--folder", folder / "merged"], ["--folder", folder / "base", "--adapter", folder / "adapter"],
                ["--config", folder / "fit.json", "--ckpt-path", "last"],
                ["--folder", folder / "exported", "--no-cache"]):
        lines = folder / "text.jsonl"
        levin("generate", *how, "--prompt", "def check(name):", "--tokens", 40, "--out", lines)
        got = json.loads(lines.read_text())["text"]
        if got != text:
            sys.exit(f"{name}: generate {how} gives {got!r}, transformers {text!r}")
        stop = text[len(text) // 2:][:2]
        levin("generate", *how, "--prompt", "def check(name):", "--tokens", 40, "--stop", stop, "--out", lines)
        if json.loads(lines.read_text())["text"] != text[:text.index(stop)]:
            sys.exit(f"{name}: generate goes past the text that stops it")
    print(f"{name}: {len(trained)} factors differ by {worst:.2g} at most after {STEPS} steps")


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in MODELS:
        check(name)


main()
