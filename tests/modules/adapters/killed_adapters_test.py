"""A fit that is killed (SIGKILL) at random moments and resumed ends with the bytes of the unbroken one.

usage: killed_adapters_test.py LEVIN FOLDER [--kills 4] [--seed N] [--language]

Runs of LoRA, of DoRA, and of both on frozen weights of 4 bits take turns until there were enough kills; each run is killed until it
reaches its end. With --language the runs are those of a CausalLM, with LoRA and with all of its weights.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import time

IMAGE_ADAPTERS = ({}, {"base": "nf4", "double_quant": True}, {"dora": True}, {"base": "int8", "dora": True, "rslora": True})


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("levin")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--language", action="store_true")
    return parser.parse_args()


def image_kinds():
    """Returns the model and the data of each kind of run."""
    data = {"class": "SyntheticDigits", "train_size": 512, "val_size": 64, "batch_size": 16}
    return [({"class": "ImageClassifier", "net": "mlp", "adapter": {"class": "LoRA", "rank": 4, "dropout": 0.1, **adapter},
              "optimizer": {"class": "AdamW", "lr": 0.003}}, data) for adapter in IMAGE_ADAPTERS]


def language_kinds(folder):
    """The same for a small Llama, on packed lines and on batches of similar length."""
    try:
        import tokenizers
        import transformers
    except ImportError as missing:
        print(f"SKIPPED: {missing}")
        sys.exit(77)
    words = random.Random(5)
    lines = ["".join(words.choices("abcdefgh ", k=words.randint(4, 40))) for _ in range(240)]
    folder.mkdir(parents=True)
    (folder / "lines.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(lines, tokenizers.trainers.BpeTrainer(vocab_size=300, special_tokens=["</s>"], initial_alphabet=alphabet,
                                                                        show_progress=False))
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>").save_pretrained(folder / "llama")
    config = transformers.LlamaConfig(vocab_size=300, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                                      num_key_value_heads=2, max_position_embeddings=64, eos_token_id=0, bos_token_id=0)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder / "llama")
    model = {"class": "CausalLM", "folder": str(folder / "llama"), "optimizer": {"class": "AdamW", "lr": 0.003}}
    data = {"class": "TextJsonl", "files": [str(folder / "lines.jsonl")], "tokenizer": str(folder / "llama"), "batch_size": 8,
            "val_fraction": 0.1, "max_length": 64}
    adapted = {**model, "adapter": {"class": "LoRA", "rank": 4, "dropout": 0.1}}
    return [(adapted, {**data, "pack": "in_order"}), (model, {**data, "group_by_length": True}), (adapted, {**data, "group_by_length": True}),
            (model, {**data, "pack": "best_fit"})]


def command(given, name, kind):
    """Returns the words of a fit in a folder of its own, which resumes if there is something to resume."""
    root = given.folder / name
    model, data = kind
    config = {
        "model": model,
        "data": data,
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
    files = [file for file in ("weights.pt", "adapter/adapter_model.safetensors", "adapter/adapter_config.json") if (folder / file).exists()]
    return {file: (folder / file).read_bytes() for file in files}


def main():
    given = arguments()
    draw = random.Random(given.seed)
    shutil.rmtree(given.folder, ignore_errors=True)
    kinds = language_kinds(given.folder / "language") if given.language else image_kinds()
    unbroken, seconds = [], []
    for number, kind in enumerate(kinds):
        words = command(given, f"unbroken_{number}", kind)
        begin = time.monotonic()
        ended(words)
        seconds.append(time.monotonic() - begin)
        unbroken.append(bytes_of_result(given, f"unbroken_{number}"))
    kills = runs = 0
    while kills < given.kills:
        number, name = runs % len(kinds), f"killed_{runs}"
        words = command(given, name, kinds[number])
        while not ended(words, draw.uniform(0.1, 1) * seconds[number] if kills < given.kills else None):
            kills += 1
        if bytes_of_result(given, name) != unbroken[number]:
            sys.exit(f"seed {given.seed}: {name} ({kinds[number]}) ends otherwise than the unbroken run")
        shutil.rmtree(given.folder / name)
        runs += 1
    print(f"seed {given.seed}: {kills} kills, {runs} runs ended with the bytes of the unbroken ones")


main()
