"""What a CausalLM learns in place of the next token, beside the formulas with transformers and PEFT: DPO and distillation.

usage: objectives_test.py LEVIN FOLDER
"""

import csv
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

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
STEPS, BATCH, RATE, VOCABULARY = int(os.environ.get("LEVIN_OBJECTIVE_STEPS", "12")), 4, 0.05, 280
PROMPTS = [" red tree", " one"]
BETA, SMOOTHING, TEMPERATURE, WEIGHT = 0.3, 0.1, 1.5, 0.7
SIZES = {"vocab_size": VOCABULARY, "eos_token_id": 0, "bos_token_id": 0, "initializer_range": 0.2}


def levin(*arguments, fails=False):
    done = subprocess.run([LEVIN, *map(str, arguments)], capture_output=True, text=True)
    if (done.returncode != 0) != fails:
        sys.exit(f"levin {' '.join(map(str, arguments))}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def make_folder(name, width, seed):
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(hidden_size=width, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
                                      num_key_value_heads=2, max_position_embeddings=128, **SIZES)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(FOLDER / name)
    words = tokenizer()
    words.save_pretrained(FOLDER / name)
    return words


def tokenizer():
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    text = pathlib.Path(__file__).read_text()
    made.train_from_iterator([text], tokenizers.trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=["<eos>"],
                                                                     initial_alphabet=alphabet, show_progress=False))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>")


def base(name):
    return transformers.AutoModelForCausalLM.from_pretrained(FOLDER / name, dtype=torch.float32)


def write_pairs():
    draws = random.Random(2)

    def words():
        return " " + " ".join(draws.choices(["red", "tree", "walks", "one", "far"], k=draws.randint(1, 6)))

    pairs = [{"prompt": words(), "chosen": words(), "rejected": words()} for _ in range(STEPS * BATCH)]
    (FOLDER / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    texts = [{"prompt": pair["prompt"], "completion": pair["chosen"]} for pair in pairs]
    (FOLDER / "texts.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
    return pairs


def encoded(words, samples):
    """Tokens, targets and the mask of samples of a prompt and a completion."""
    rows = []
    for prompt, completion in samples:
        both = words(prompt + completion, return_offsets_mapping=True)
        learned = [end > len(prompt) for _, end in both["offset_mapping"]]
        rows.append((both["input_ids"] + [0], learned + [True]))
    longest = max(len(ids) for ids, _ in rows)
    tokens, target = torch.zeros(len(rows), longest, dtype=torch.long), torch.full((len(rows), longest), -100)
    mask = torch.zeros(len(rows), longest, dtype=torch.long)
    for i, (ids, learned) in enumerate(rows):
        tokens[i, :len(ids)], mask[i, :len(ids)] = torch.tensor(ids), 1
        for at in range(1, len(ids)):
            if learned[at]:
                target[i, at - 1] = ids[at]
    return tokens, target, mask


def log_probability(logits, target):
    counts = target != -100
    each = logits.log_softmax(-1).gather(2, target.clamp_min(0).unsqueeze(2)).squeeze(2)
    return (each * counts).sum(1)


def dpo_loss(model, reference, batch):
    tokens, target, mask = batch
    with torch.no_grad():
        known = log_probability(reference(tokens, mask), target)
    ratios = log_probability(model(input_ids=tokens, attention_mask=mask).logits, target) - known
    chosen, rejected = ratios[0::2], ratios[1::2]
    margin = BETA * (chosen - rejected)
    loss = -(1 - SMOOTHING) * margin.sigmoid().log() - SMOOTHING * (-margin).sigmoid().log()
    return loss.mean(), {"rewards_chosen": BETA * chosen.mean(), "rewards_rejected": BETA * rejected.mean(),
                         "rewards_margin": margin.mean(), "rewards_accuracy": (margin > 0).float().mean()}


def distillation_loss(model, teacher, batch):
    tokens, target, mask = batch
    counts = target != -100
    with torch.no_grad():
        taught = (teacher(tokens, mask)[counts] / TEMPERATURE).softmax(-1)
    logits = model(input_ids=tokens, attention_mask=mask).logits[counts]
    divergence = (taught * (taught.log() - (logits / TEMPERATURE).log_softmax(-1))).sum(-1).mean()
    entropy = torch.nn.functional.cross_entropy(logits, target[counts])
    return (WEIGHT * TEMPERATURE**2 * divergence + (1 - WEIGHT) * entropy,
            {"divergence": divergence, "cross_entropy": entropy})


def train(model, second, loss_of, batches):
    """Returns what each step logs."""
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], RATE)
    rows = []
    for batch in batches:
        loss, values = loss_of(model, second, batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        rows.append({"train_loss": loss.item(), **{f"train_{name}": value.item() for name, value in values.items()}})
    return rows


def config_of(name, model, data):
    config = {
        "model": {"class": "CausalLM", "folder": str(FOLDER / "student"), "optimizer": {"class": "SGD", "lr": RATE}, **model},
        "data": {"batch_size": BATCH, "shuffle": False, "tokenizer": str(FOLDER / "student"), **data},
        "trainer": {"callbacks": [{"class": "SampleText", "prompts": PROMPTS, "tokens": 8}], "max_steps": STEPS, "log_every_n_steps": 1, "logger": "CSVLogger", "enable_progress_bar": False,
                    "default_root_dir": str(FOLDER / name), "seed": 1},
    }
    file = FOLDER / f"{name}.json"
    file.write_text(json.dumps(config))
    return file


def check_run(name, model, data, rows, expected, adapter=False):
    shutil.rmtree(FOLDER / name, ignore_errors=True)
    config = config_of(name, model, data)
    levin("fit", "--config", config)
    logged = [row for row in csv.DictReader(next((FOLDER / name).rglob("metrics.csv")).open()) if row["train_loss"]]
    if len(logged) != STEPS:
        sys.exit(f"{name}: {len(logged)} rows with a loss, {STEPS} expected")
    for i, (row, wanted) in enumerate(zip(logged, rows)):
        for key, value in wanted.items():
            if not abs(float(row[key]) - value) <= 1e-4 * max(1, abs(value)):
                sys.exit(f"{name}: step {i}: {key} is {row[key]}, by the formula {value}")
    levin("export", "--config", config, "--ckpt-path", "last", "--out", FOLDER / name / "out", *(["--adapter"] if adapter else []))
    got = load_file(FOLDER / name / "out" / ("adapter_model.safetensors" if adapter else "model.safetensors"))
    worst = max((got[key] - value).abs().max().item() for key, value in expected.items() if key in got)
    if not worst <= 1e-4:
        sys.exit(f"{name}: weights differ by {worst}")
    if not adapter:
        check_texts(name)
    checkpoint = torch.load(next((FOLDER / name).rglob("last.ckpt")), weights_only=False)
    second = [key for key in checkpoint["state_dict"] if key not in dict(base("student").named_parameters()) and "lora_" not in key]
    if second:
        sys.exit(f"{name}: the checkpoint has {second}")
    print(f"{name}: weights differ by {worst:.2g} at most after {STEPS} steps")


def check_texts(name):
    """SampleText wrote at the end what the exported model makes of the prompts."""
    model, words = base(f"{name}/out"), transformers.AutoTokenizer.from_pretrained(FOLDER / "student")
    written = json.loads(next((FOLDER / name).rglob(f"samples/step={STEPS}.json")).read_text())
    for prompt, sample in zip(PROMPTS, written["texts"], strict=True):
        ids = words(prompt, return_tensors="pt").input_ids
        made = model.generate(input_ids=ids, max_new_tokens=8, do_sample=False, pad_token_id=0)[0][ids.shape[1]:]
        if sample != {"prompt": prompt, "text": words.decode(made, skip_special_tokens=True)}:
            sys.exit(f"{name}: SampleText wrote {sample}, transformers {words.decode(made, skip_special_tokens=True)!r}")


def check_divided(name, model, data):
    """Two ranks, accumulated gradients and a run that resumes end with the weights of one process."""
    def last(kind, batch, trainer, *arguments):
        folder = f"{name}_{kind}"
        shutil.rmtree(FOLDER / folder, ignore_errors=True)
        file = config_of(folder, model, {**data, "batch_size": batch})
        config = json.loads(file.read_text())
        config["trainer"].update(trainer)
        file.write_text(json.dumps(config))
        levin("fit", "--config", file, *arguments)
        return next((FOLDER / folder).rglob("last.ckpt"))

    def weights(checkpoint):
        return torch.load(checkpoint, weights_only=False)["state_dict"]

    whole = weights(last("whole", BATCH, {}))
    half = last("half", BATCH, {"max_steps": STEPS // 2})
    others = {"ddp": last("ddp", BATCH // 2, {"strategy": "ddp", "accelerator": "cpu", "devices": 2}),
              "accumulated": last("accumulated", BATCH // 2, {"accumulate_grad_batches": 2}),
              "resumed": last("resumed", BATCH, {}, "--ckpt-path", half)}
    for kind, checkpoint in others.items():
        worst = max((value - whole[key]).abs().max().item() for key, value in weights(checkpoint).items())
        if not worst <= (0 if kind == "resumed" else 1e-5):
            sys.exit(f"{name}: {kind}: the weights are {worst} from those of one process")
    print(f"{name}: two ranks, accumulated gradients and a resumed run have the weights of one process")


def weights_of(model):
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    words = make_folder("student", 32, 1)
    make_folder("teacher", 48, 2)
    pairs = write_pairs()
    steps = [pairs[i * BATCH:(i + 1) * BATCH] for i in range(STEPS)]
    batches = [encoded(words, [(p["prompt"], p[which]) for p in step for which in ("chosen", "rejected")]) for step in steps]
    texts = [encoded(words, [(p["prompt"], p["chosen"]) for p in step]) for step in steps]
    preferences = {"class": "TextPreferences", "files": [str(FOLDER / "pairs.jsonl")]}
    dpo = {"class": "DPO", "beta": BETA, "label_smoothing": SMOOTHING}

    def of(model):
        return lambda tokens, mask: model(input_ids=tokens, attention_mask=mask).logits

    model = base("student")
    rows = train(model, of(base("teacher")), dpo_loss, batches)
    check_run("dpo", {"objective": {**dpo, "reference": str(FOLDER / "teacher")}}, preferences, rows, weights_of(model))

    model = peft.get_peft_model(base("student"), peft.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "up_proj"]))
    for key, parameter in model.named_parameters():
        if "lora_B" in key:
            torch.nn.init.normal_(parameter, std=0.1)
    model.save_pretrained(FOLDER / "first")

    def without_adapter(tokens, mask):
        with model.disable_adapter():
            return model(input_ids=tokens, attention_mask=mask).logits

    rows = train(model, without_adapter, dpo_loss, batches)
    adapter = {"class": "LoRA", "folder": str(FOLDER / "first")}
    factors = {key.replace(".default.", "."): value for key, value in weights_of(model).items() if "lora_" in key}
    check_run("dpo_lora", {"objective": dpo, "adapter": adapter}, preferences, rows, factors, adapter=True)

    model = base("student")
    rows = train(model, of(base("teacher")), distillation_loss, texts)
    taught = {"class": "Distillation", "teacher": str(FOLDER / "teacher"), "temperature": TEMPERATURE, "weight": WEIGHT}
    texts_of = {"class": "TextJsonl", "files": [str(FOLDER / "texts.jsonl")]}
    check_run("distillation", {"objective": taught}, texts_of, rows, weights_of(model))

    check_divided("dpo", {"objective": {**dpo, "reference": str(FOLDER / "teacher")}}, preferences)
    by_token = {"class": "WarmupCosine", "warmup_steps": 60, "total_steps": 400, "interval": "token"}
    check_divided("tokens", {"lr_scheduler": by_token}, texts_of)

    # What cannot be a reference, and data of another kind.
    said = levin("fit", "--config", config_of("bad", {"objective": dpo}, preferences), fails=True)
    if "the model has no adapter without which it would be the reference" not in said:
        sys.exit(f"a model without a reference says: {said}")
    said = levin("fit", "--config", config_of("bad", {"objective": dpo, "adapter": {**adapter, "folder": "", "train": ["lm_head"]}},
                                              preferences), fails=True)
    if "lm_head.weight is trained whole" not in said:
        sys.exit(f"a reference with a trained head says: {said}")
    said = levin("fit", "--config", config_of("bad", {"objective": dpo, "adapter": adapter}, texts_of), fails=True)
    if "the data are those of TextPreferences" not in said:
        sys.exit(f"other data say: {said}")


main()
