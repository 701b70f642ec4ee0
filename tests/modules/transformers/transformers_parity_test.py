"""CausalLM against transformers: logits, gradients, training, generation, and folders that each reads of the other.

usage: transformers_parity_test.py PROGRAM FOLDER [CASE...]
"""

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

from parity_check import MOST_OFF, Check, compare_all
from safetensors.torch import load_file, save_file
from small_models import CASES, OLD, VOCABULARY, make_model, rewrite

# Keys in a cache were turned by the angles of a shorter sequence.
TURNED_BY_LENGTH = ("llama_dynamic", "phi3_longrope", "phi3_old")
STEPS = int(os.environ.get("LEVIN_CAUSAL_LM_STEPS", "50"))
BATCH, TIME = 3, 24  # longer than all windows, and than the positions that RoPE's scalings begin with


def inputs_for(seed):
    random = torch.Generator().manual_seed(seed)
    tokens = torch.randint(4, VOCABULARY, (BATCH, TIME + 1), generator=random)
    mask = torch.ones(BATCH, TIME, dtype=torch.int64)
    mask[0, TIME - 5:] = 0  # padding on the right, on the left, and none
    mask[1, :4] = 0
    tokens[:, :TIME][mask == 0] = 3
    target = tokens[:, 1:].clone()
    target[mask == 0] = -100
    target[:, 0] = -100
    positions = torch.cat([torch.arange(7), torch.arange(TIME - 16), torch.arange(9)]).repeat(BATCH, 1)
    prompt_mask = torch.ones(BATCH, 6, dtype=torch.int64)
    prompt_mask[0, :3] = 0
    prompt = torch.randint(4, VOCABULARY, (BATCH, 6), generator=random)
    prompt[prompt_mask == 0] = 3
    train = torch.randint(3, VOCABULARY, (STEPS, 2, 14), generator=random)
    train_target = train[:, :, 1:].clone()
    train_target[:, 0, 9:] = -100
    return {
        "tokens": tokens[:, :TIME].contiguous(), "attention_mask": mask, "target": target, "position_ids": positions,
        "prompt": prompt, "prompt_mask": prompt_mask, "train_tokens": train[:, :, :-1].contiguous(),
        "train_target": train_target.contiguous(),
    }


def is_trained(name):
    """One model of each family; the gradients of all are compared."""
    return name in CASES and name == CASES[name][0]


def loss_of(model, tokens, target, **more):
    logits = model(input_ids=tokens, **more).logits
    return torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), target.flatten(), ignore_index=-100)


def in_out(model, name, value):
    """GPT-2's layers have their weights the other way around."""
    module = model.get_submodule(name.rsplit(".", 1)[0])
    return value.t() if type(module).__name__ == "Conv1D" and name.endswith("weight") else value


def our_name(model, name):
    """The names of files are ours too; transformers renames what GPT-NeoX has there."""
    return name.replace("lm_head", "embed_out") if model.config.model_type == "gpt_neox" else name


def same_tensors(some, others):
    return some.keys() == others.keys() and all(torch.equal(some[name], others[name]) for name in some)


def fresh(folder):
    """Dynamic ropes remember the longest sequence, so each use takes a model of its own."""
    return transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)


def check_inference(check, data, got):
    model = fresh(check.folder / "model")
    with torch.no_grad():
        check.close("logits", got["logits"], model(data["tokens"]).logits)
    model = fresh(check.folder / "model")
    mask = data["attention_mask"]
    with torch.no_grad():
        expected = model(data["tokens"], attention_mask=mask).logits
        real = mask.bool()
        check.close("padded_logits", got["padded_logits"][real], expected[real])
        packed = fresh(check.folder / "model")(data["tokens"], position_ids=data["position_ids"], use_cache=False).logits
        check.close("packed_logits", got["packed_logits"], packed)
        check.close("loss", got["loss"], loss_of(model, data["tokens"], data["target"], attention_mask=mask))
        if check.name not in TURNED_BY_LENGTH:
            check.close("cached_logits", got["cached_logits"], got["logits"])


def check_gradients(check, data, got):
    model = fresh(check.folder / "model")
    loss_of(model, data["tokens"], data["target"], attention_mask=data["attention_mask"]).backward()
    largest = max(parameter.grad.abs().max() for parameter in model.parameters())
    for name, parameter in model.named_parameters():
        expected = in_out(model, name, parameter.grad)
        found = got.get(f"gradient.{our_name(model, name)}")
        if found is None:
            check.holds(f"gradient.{name} is missing", False)
            continue
        # Gradients that are zero but for rounding are compared with the largest of all.
        value = float((found - expected).abs().max() / torch.maximum(expected.abs().max(), largest * 1e-2))
        check.worst["gradient"] = max(check.worst.get("gradient", 0), value)
        check.holds(f"gradient.{name} is off by {value:.2g}", value <= MOST_OFF)
        check.holds(f"checkpointed.{name} differs", torch.equal(found, got[f"checkpointed.{our_name(model, name)}"]))
    names = [our_name(model, name) for name, _ in model.named_parameters()]
    check.holds("has other parameters", {f"gradient.{name}" for name in names} == {n for n in got if n.startswith("gradient.")})


def check_generation(check, data, got):
    def generate(**more):
        model = fresh(check.folder / "model")
        return model.generate(input_ids=data["prompt"], max_new_tokens=20, do_sample=False, **more)

    everything = torch.ones_like(data["prompt"])
    endless = {"eos_token_id": None, "pad_token_id": 3}
    check.holds("generated other tokens", torch.equal(got["generated"], generate(attention_mask=everything, **endless)))
    check.holds("generated other tokens behind padding",
                torch.equal(got["generated_padded"], generate(attention_mask=data["prompt_mask"], **endless)))
    if check.name != "llama_dynamic":  # generate computes longrope's keys again
        for kind in ("generated", "generated_padded"):
            check.holds(f"{kind} other tokens without the cache", torch.equal(got[kind], got[f"{kind}_without_cache"]))
    check.holds("ended in another way", torch.equal(got["generated_to_end"], generate(attention_mask=everything)))


def check_training(check, data, got):
    for name, make in (("sgd", lambda p: torch.optim.SGD(p, 0.005, foreach=False)),
                       ("adamw", lambda p: torch.optim.AdamW(p, 1e-3, eps=1e-3, weight_decay=0.1, foreach=False))):
        model = fresh(check.folder / "model")
        optimizer = make(model.parameters())
        losses = []
        for tokens, target in zip(data["train_tokens"], data["train_target"], strict=True):
            optimizer.zero_grad()
            loss = loss_of(model, tokens, target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        check.close(f"{name}_losses", got[f"{name}_losses"], torch.tensor(losses, dtype=torch.float64))
        check.holds(f"{name} learned nothing", losses[-1] != losses[0])
        for key, parameter in model.named_parameters():
            check.close(f"{name}.{key}", got[f"{name}.{our_name(model, key)}"], in_out(model, key, parameter.detach()))


def check_folders(check, data, _got):
    original = fresh(check.folder / "model")
    expected = load_file(check.folder / "model" / "model.safetensors")
    written = load_file(check.folder / "saved" / "model.safetensors")
    check.holds("saved other tensors", check.name.endswith("bare") or same_tensors(expected, written))
    shards = sorted((check.folder / "sharded").glob("model-*.safetensors"))
    check.holds("saved one file", len(shards) > 1)
    with torch.no_grad():
        logits = original(data["tokens"]).logits
        for folder in ("saved", "sharded"):
            model = transformers.AutoModelForCausalLM.from_pretrained(check.folder / folder, attn_implementation="eager")
            check.holds(f"{folder}: transformers computes other logits", torch.equal(model(data["tokens"]).logits, logits))
    before, after = (model.config.to_dict() for model in (original, fresh(check.folder / "saved")))
    differ = [key for key in before if before[key] != after.get(key) and key != "_name_or_path"]
    check.holds(f"has another config: {differ}", not differ)


def check_bfloat16(check, data, got):
    folder = check.folder / "bfloat16"
    with torch.no_grad():
        wide = fresh(folder)(data["tokens"]).logits
        check.close("wide_logits", got["wide_logits"], wide)
        narrow = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
        check.holds("bfloat16: has another dtype", got["narrow_logits"].dtype == narrow.dtype == torch.bfloat16)
        # Sums are rounded to 8 bits in another order: levin is as near to float32 as transformers is.
        ours, theirs = (float((x.float() - wide).norm()) for x in (got["narrow_logits"], narrow(data["tokens"]).logits))
        check.worst["narrow"] = ours / theirs
        check.holds(f"bfloat16: is {ours / theirs:.2g} times as far from float32 as transformers", ours <= 1.5 * theirs)
    expected, written = (load_file(part / "model.safetensors") for part in (folder, check.folder / "saved_bfloat16"))
    check.holds("bfloat16: saved other tensors", same_tensors(expected, written))


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    names = sys.argv[3:] or [*CASES, *OLD]
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    shutil.rmtree(folder, ignore_errors=True)
    data = {}
    for number, name in enumerate(names):
        case, change = OLD.get(name, (name, None))
        model = make_model(case, seed=number)
        model.save_pretrained(folder / name / "model")
        if change is not None:
            rewrite(folder / name / "model", change)
        model.to(torch.bfloat16).save_pretrained(folder / name / "bfloat16")
        data[name] = inputs_for(seed=1000 + number)
        if not is_trained(name):
            del data[name]["train_tokens"]
        save_file(data[name], folder / name / "inputs.safetensors")

    def parts_of(check):
        # What a config.json says is in the logits.
        parts = [check_inference, check_folders]
        if check.name not in OLD:
            parts += [check_gradients, check_generation, check_bfloat16]
        return parts + ([check_training] if is_trained(check.name) else [])

    compare_all(program, [Check(name, folder / name) for name in names], data, parts_of,
                lambda line: line and not line.startswith("[W"))


main()
