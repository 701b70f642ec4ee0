"""Encoders with heads against transformers: outputs, losses, gradients, training, and folders that each reads of the other.

usage: encoder_parity_test.py PROGRAM FOLDER [CASE...]
"""

import json
import os
import pathlib
import shutil
import sys

try:
    import torch
    import transformers
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

from encoder_models import CASES, HEADS, VOCABULARY, label_count, make_encoder, pad_token
from parity_check import MOST_OFF, Check, compare_all
from safetensors.torch import load_file, save_file

STEPS = int(os.environ.get("LEVIN_ENCODER_STEPS", "50"))
BATCH, TIME = 4, 11
# A folder without the head: the names of an encoder alone, those below a language model's head, and of old files of BERT.
HEADLESS = ("bert_sequence", "roberta_sequence", "distilbert_sequence", "electra_token", "mpnet_token", "camembert_sequence",
            "modernbert_sequence", "modernbert_token")
MASKED_LM = ("bert_sequence", "roberta_token", "distilbert_token", "xlm-roberta_sequence")


def is_trained(name):
    """One model of each family, and one of each head; the gradients of all are compared."""
    family, head, options = CASES[name]
    return not options and (head == "sequence" or family == "bert" or name == "mpnet_sentence")


def target_for(name, random, batch, time, mask):
    _, head, options = CASES[name]
    count = label_count(name)
    if head == "token":
        target = torch.randint(0, count, (batch, time), generator=random)
        target[mask == 0] = -100
        target[:, 0] = -100
        return target
    if head == "sentence" or count == 1:
        return torch.rand(batch, generator=random) * 2 - 1
    problem = options.get("problem_type")
    if problem == "regression":
        return torch.randn(batch, count, generator=random)
    if problem == "multi_label_classification":
        return torch.randint(0, 2, (batch, count), generator=random).float()
    return torch.randint(0, count, (batch,), generator=random)


def tokens_for(name, random, rows, time):
    mask = torch.ones(rows, time, dtype=torch.int64)
    for row in range(rows):
        mask[row, time - row % (time - 2):] = 0 if row % (time - 2) else 1
    tokens = torch.randint(4, VOCABULARY, (rows, time), generator=random)
    tokens[mask == 0] = pad_token(name)
    return tokens, mask


def inputs_for(name, seed):
    random = torch.Generator().manual_seed(seed)
    data = {}
    for prefix, rows in (("", BATCH), ("train_", STEPS * 2)):
        data[f"{prefix}tokens"], mask = tokens_for(name, random, rows, TIME)
        data[f"{prefix}attention_mask"] = mask
        types = torch.zeros(rows, TIME, dtype=torch.int64)
        types[:, TIME // 2:] = 1
        data[f"{prefix}token_type_ids"] = types
        data[f"{prefix}second_tokens"], data[f"{prefix}second_attention_mask"] = tokens_for(name, random, rows, TIME)
        data[f"{prefix}target"] = target_for(name, random, rows, TIME, mask)
    return {key: value.contiguous() for key, value in data.items()}


def has_types(model):
    return getattr(model.config, "type_vocab_size", 1) > 1 and model.config.model_type not in ("distilbert", "mpnet")


def pooled(hidden, mask):
    weights = mask.unsqueeze(-1).float()
    return (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)


def part(data, prefix, rows):
    return {key.removeprefix(prefix): value[rows] for key, value in data.items() if key.startswith(prefix)}


def forward(model, batch, padded=True, second=""):
    """What levin's forward returns: the logits, or the vectors of sentences."""
    more = {"attention_mask": batch[f"{second}attention_mask"]} if padded else {}
    if padded and not second and has_types(model):
        more["token_type_ids"] = batch["token_type_ids"]
    out = model(input_ids=batch[f"{second}tokens"], **more)
    if hasattr(out, "logits"):
        return out.logits
    mask = batch[f"{second}attention_mask"] if padded else torch.ones_like(batch[f"{second}tokens"])
    return pooled(out.last_hidden_state, mask)


def loss_of(model, batch, head, kind="cosine"):
    if head != "sentence":
        more = {"token_type_ids": batch["token_type_ids"]} if has_types(model) else {}
        return model(input_ids=batch["tokens"], attention_mask=batch["attention_mask"], labels=batch["target"], **more).loss
    first, second = forward(model, batch), forward(model, batch, second="second_")
    cosine = torch.nn.functional.cosine_similarity
    if kind == "cosine":  # CosineSimilarityLoss of sentence-transformers
        return torch.nn.functional.mse_loss(cosine(first, second), batch["target"])
    scores = cosine(first.unsqueeze(1), second.unsqueeze(0), dim=2) * 20  # MultipleNegativesRankingLoss
    return torch.nn.functional.cross_entropy(scores, torch.arange(len(first)))


class HeadCheck(Check):
    def __init__(self, name, folder):
        super().__init__(name, folder)
        self.head = CASES[name][1]

    def model(self, folder="model"):
        more = {} if self.head != "sentence" or self.name.startswith(("distilbert", "electra", "modernbert")) else {"add_pooling_layer": False}
        return HEADS[self.head].from_pretrained(self.folder / folder, attn_implementation="eager", dtype=torch.float32, **more)


def check_inference(check, data, got):
    model = check.model()
    with torch.no_grad():
        check.close("outputs", got["outputs"], forward(model, data, padded=False))
        expected, found = forward(model, data), got["padded_outputs"]
        real = data["attention_mask"].bool() if check.head == "token" else slice(None)
        check.close("padded_outputs", found[real], expected[real])
        check.close("loss", got["loss"], loss_of(model, data, check.head))
        if check.head == "sentence":
            check.close("ranking_loss", got["ranking_loss"], loss_of(model, data, check.head, "ranking"))


def check_gradients(check, data, got):
    """Compares with the gradients in float64: those of two programs in float32 differ by the noise of both, which in the biases
    of keys, whose gradient is zero, is all that there is."""
    model = check.model().double()
    loss_of(model, {key: value.double() if value.is_floating_point() else value for key, value in data.items()}, check.head).backward()
    known = {name: parameter for name, parameter in model.named_parameters() if parameter.grad is not None}
    largest = max(parameter.grad.abs().max() for parameter in known.values())
    prefix = "" if check.head != "sentence" else got_prefix(got)
    for name, parameter in known.items():
        found = got.get(f"gradient.{prefix}{name}")
        if found is None:
            check.holds(f"gradient.{name} is missing", False)
            continue
        value = float((found - parameter.grad).abs().max() / torch.maximum(parameter.grad.abs().max(), largest * 1e-2))
        check.worst["gradient"] = max(check.worst.get("gradient", 0), value)
        check.holds(f"gradient.{name} is off by {value:.2g}", value <= MOST_OFF)
        check.holds(f"checkpointed.{name} differs", torch.equal(found, got[f"checkpointed.{prefix}{name}"]))
    check.holds("has other parameters", {f"gradient.{prefix}{name}" for name in known} == {n for n in got if n.startswith("gradient.")})


def got_prefix(got):
    """The name of the encoder in levin's module, which files of a bare encoder lack."""
    return next(name for name in got if name.startswith("gradient.")).split(".")[1] + "."


def check_training(check, data, got):
    prefix = "" if check.head != "sentence" else got_prefix(got)
    for name, make in (("sgd", lambda p: torch.optim.SGD(p, 0.005, foreach=False)),
                       ("adamw", lambda p: torch.optim.AdamW(p, 1e-3, eps=1e-3, weight_decay=0.1, foreach=False))):
        model = check.model()
        optimizer = make(model.parameters())
        losses = []
        for step in range(STEPS):
            optimizer.zero_grad()
            loss = loss_of(model, part(data, "train_", slice(2 * step, 2 * step + 2)), check.head)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        check.close(f"{name}_losses", got[f"{name}_losses"], torch.tensor(losses, dtype=torch.float64))
        check.holds(f"{name} learned nothing", losses[-1] != losses[0])
        for key, parameter in model.named_parameters():
            if f"{name}.{prefix}{key}" in got:
                check.close(f"{name}.{key}", got[f"{name}.{prefix}{key}"], parameter.detach())
        check.holds(f"{name} trained other parameters", len([k for k in got if k.startswith(f"{name}.")]) >= len(got) // 10)


def check_folders(check, data, _got):
    expected, written = (load_file(check.folder / part / "model.safetensors") for part in ("model", "saved"))
    same = expected.keys() == written.keys() and all(torch.equal(expected[name], written[name]) for name in expected)
    check.holds("saved other tensors", same)
    before, after = (json.loads((check.folder / part / "config.json").read_text()) for part in ("model", "saved"))
    differ = [key for key in {*before, *after} if before.get(key) != after.get(key)]
    check.holds(f"has another config.json: {differ}", not differ)
    with torch.no_grad():
        same = torch.equal(forward(check.model(), data), forward(check.model("saved"), data))
    check.holds("saved: transformers computes something else", same)


def is_drawn_right(model, name, value):
    """Whether a new weight of a head has the deviation that transformers gives it."""
    if name.endswith("bias"):
        return bool(value.eq(0).all())
    if not model.startswith("modernbert"):
        return 0.01 < float(value.std()) < 0.03
    if name == "head.norm.weight":
        return bool(value.eq(1).all())
    # Normal numbers within two deviations have 0.88 of the deviation.
    deviation = 48 ** -0.5 if name.startswith("classifier") else 0.02 / 8 ** 0.5
    return 0.7 < float(value.std()) / (0.88 * deviation) < 1.3 and float(value.abs().max()) <= 2 * deviation


def check_new_heads(check, data, got):
    """A folder without the head: levin saves one that transformers opens, with a head as transformers draws it."""
    for kind in ("bare", "masked"):
        if not (check.folder / kind).exists():
            continue
        written = load_file(check.folder / f"saved_{kind}" / "model.safetensors")
        own = load_file(check.folder / "model" / "model.safetensors")
        check.holds(f"{kind}: has other names", written.keys() == own.keys())
        taken = [name for name in own if torch.equal(own[name], written[name])]
        heads = [name for name in own if name not in taken]
        expected = all(name.startswith(("classifier", "pre_classifier", "head.")) or "pooler" in name for name in heads)
        check.holds(f"{kind}: {heads} are new", heads and expected)
        for name in heads:
            value = written[name]
            check.holds(f"{kind}: {name} is not drawn as in transformers", is_drawn_right(check.name, name, value))
        with torch.no_grad():
            expected = forward(check.model(f"saved_{kind}"), data)
            real = data["attention_mask"].bool() if check.head == "token" else slice(None)
            check.close(f"{kind}_outputs", got[f"{kind}_outputs"][real], expected[real])


def write_headless(name, folder, model):
    """The same encoder without the head."""
    if name in HEADLESS:
        model.base_model.save_pretrained(folder / "bare")
    if name in MASKED_LM:
        masked = transformers.AutoModelForMaskedLM.from_config(model.config, attn_implementation="eager")
        own = masked.state_dict()
        own.update({key: value for key, value in model.state_dict().items() if key in own})
        masked.load_state_dict(own)
        masked.save_pretrained(folder / "masked")
    if name == "bert_sequence":  # as the first files of BERT have it
        file = folder / "masked" / "model.safetensors"
        old = {key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
               for key, value in load_file(file).items()}
        save_file(old, file, {"format": "pt"})


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    names = sys.argv[3:] or [*CASES]
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    shutil.rmtree(folder, ignore_errors=True)
    data = {}
    for number, name in enumerate(names):
        model = make_encoder(name, seed=number)
        model.save_pretrained(folder / name / "model")
        write_headless(name, folder / name, model)
        data[name] = inputs_for(name, seed=1000 + number)
        if not is_trained(name):
            data[name] = {key: value for key, value in data[name].items() if not key.startswith("train_")}
        save_file(data[name], folder / name / "inputs.safetensors")
        (folder / name / "head").write_text(CASES[name][1])

    def parts_of(check):
        parts = [check_inference, check_gradients, check_folders, check_new_heads]
        return parts + ([check_training] if is_trained(check.name) else [])

    compare_all(program, [HeadCheck(name, folder / name) for name in names], data, parts_of,
                lambda line: line.startswith("error: "))


main()
