"""BERT and GPT-2 of transformers, exported by torch.export, are fine-tuned by configs alone, and Python trains the same.

Compared are the weights after six steps of SGD, the losses of a validation and its accuracy, for heads of sequences and of
tokens, with data from .npz, CSV and tar files, rows of varying length, frozen parameters and groups of them.

usage: exported_transformers_test.py LEVIN FOLDER
"""

import csv
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile

import numpy as np
import torch

try:
    import safetensors.torch
    import transformers
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

LEVIN, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
SAMPLES, LENGTH, BATCH, CLASSES, LR = 24, 7, 4, 5, 0.05
SMALL = {"attn_implementation": "eager"}


class WithMask(torch.nn.Module):
    """The logits of a model that takes tokens and a mask."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, return_dict=True).logits


class WithLoss(torch.nn.Module):
    """The loss and the logits of a model that takes tokens and labels."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, labels):
        result = self.model(input_ids=input_ids, labels=labels, return_dict=True)
        return result.loss, result.logits


def bert(head, **more):
    config = transformers.BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                                     intermediate_size=24, max_position_embeddings=32, hidden_dropout_prob=0.0,
                                     attention_probs_dropout_prob=0.0, num_labels=CLASSES, **SMALL, **more)
    return head(config)


def gpt2():
    config = transformers.GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=32, resid_pdrop=0.0,
                                     embd_pdrop=0.0, attn_pdrop=0.0, num_labels=CLASSES, pad_token_id=0, use_cache=False,
                                     **SMALL)
    return transformers.GPT2ForSequenceClassification(config)


def export(wrapped, inputs, path):
    """Exports forward of the named inputs, of any number and any length."""
    batch, length = torch.export.Dim("batch", min=1, max=64), torch.export.Dim("length", min=2, max=32)
    shapes = {name: {0: batch, 1: length} if value.dim() > 1 else {0: batch} for name, value in inputs.items()}
    program = torch.export.export(wrapped.train(), (), kwargs=inputs, dynamic_shapes=shapes, strict=False)
    torch.export.save(program, path)
    return wrapped


def levin_fit(name, model, data, trainer=None):
    run = FOLDER / name
    shutil.rmtree(run, ignore_errors=True)
    config = {"seed": 0, "model": {"class": "ProgramModule", "optimizer": {"class": "SGD", "lr": LR}, **model},
              "data": {"shuffle": False, "batch_size": BATCH, **data},
              "trainer": {"max_epochs": 1, "accelerator": "cpu", "default_root_dir": str(run), "num_threads": 1,
                          "enable_progress_bar": False, "num_sanity_val_steps": 0, **(trainer or {})}}
    run.mkdir(parents=True)
    (run / "config.json").write_text(json.dumps(config))
    done = subprocess.run([LEVIN, "fit", "--config", str(run / "config.json")], capture_output=True, text=True)
    return run, done


def trained(name, model, data):
    run, done = levin_fit(name, model, data)
    assert done.returncode == 0, (name, done.stdout[-2000:], done.stderr[-3000:])
    weights = next(run.rglob("weights.pt"))
    rows = {}
    for row in csv.DictReader(open(next(run.rglob("metrics.csv")))):
        rows.update({key: float(value) for key, value in row.items() if value and key.startswith("val")})
    return torch.load(weights, weights_only=True), rows, done.stderr


def python_fit(wrapped, batches, loss_of, frozen=(), factors=None):
    named = dict(wrapped.named_parameters())
    for name, parameter in named.items():
        parameter.requires_grad_(not any(part in name for part in frozen))
    rates = lambda name: LR * next((factor for part, factor in (factors or {}).items() if part in name), 1)
    optimizer = torch.optim.SGD([{"params": [p], "lr": rates(n)} for n, p in named.items() if p.requires_grad])
    for batch in batches:
        optimizer.zero_grad()
        loss_of(wrapped, batch).backward()
        optimizer.step()


def close(name, weights, wrapped):
    state = wrapped.state_dict()
    assert set(weights) == set(state), set(weights) ^ set(state)
    worst = max((weights[key].double() - value.double()).abs().max().item() for key, value in state.items())
    assert worst < 2e-6, (name, worst)
    print(f"{name}: weights differ by {worst:.1e}")


def chunks(*tensors):
    return list(zip(*(tensor.split(BATCH) for tensor in tensors)))


def sequences():
    """Heads of sequences, from .npz; the batch has the inputs in another order."""
    rng = np.random.default_rng(0)
    ids = rng.integers(1, 50, (SAMPLES, LENGTH))
    mask = (np.arange(LENGTH) < rng.integers(3, LENGTH + 1, (SAMPLES, 1))).astype("i1")
    labels = rng.integers(0, CLASSES, SAMPLES).astype("i4")
    np.savez(FOLDER / "sequences.npz", attention_mask=mask, input_ids=ids.astype("i4") * mask, target=labels)
    ids = torch.tensor(ids * mask)
    batches = chunks(ids, torch.tensor(mask).long(), torch.tensor(labels).long())
    for name, model in (("bert", bert(transformers.BertForSequenceClassification)), ("gpt2", gpt2())):
        path = FOLDER / f"{name}.pt2"
        example = {"input_ids": batches[0][0], "attention_mask": batches[0][1]}
        wrapped = export(WithMask(model), example, path)
        data = {"class": "Npy", "arrays": {"*": str(FOLDER / "sequences.npz")}, "val_arrays": {"*": str(FOLDER / "sequences.npz")},
                "dtypes": {"input_ids": "int64", "attention_mask": "int64", "target": "int64"}}
        frozen, groups = ["embeddings"] if name == "bert" else ["*wte*"], {"*bias*": {"lr_factor": 0.5}}
        weights, metrics, said = trained(name, {"program": str(path), "frozen": frozen, "parameter_groups": groups}, data)
        cross_entropy = lambda net, batch: torch.nn.functional.cross_entropy(
            net(input_ids=batch[0], attention_mask=batch[1]), batch[2])
        python_fit(wrapped, batches, cross_entropy, [frozen[0].strip("*")], {"bias": 0.5})
        close(name, weights, wrapped)
        with torch.no_grad():
            losses = [cross_entropy(wrapped, batch).item() for batch in batches]
        assert abs(metrics["val_loss"] - np.mean(losses)) < 1e-5, (metrics, losses)
        missing = {**data, "arrays": {"input_ids": str(FOLDER / "sequences.npz"), "target": str(FOLDER / "sequences.npz")},
                   "dtypes": {}, "val_arrays": {}}
        _, done = levin_fit("missing", {"program": str(path)}, missing)
        assert done.returncode != 0 and "takes input_ids, attention_mask; the batch has no 'attention_mask'" in done.stderr and \
            "it has target, input_ids" in done.stderr, done.stderr
    return batches


def tokens():
    """A head of tokens, from a tar file with rows of varying length; targets of -100 do not count."""
    rng = np.random.default_rng(1)
    rows = [rng.integers(1, 50, rng.integers(2, 9)) for _ in range(SAMPLES)]
    tags = [np.where(row % 7 == 0, -100, row % CLASSES) for row in rows]
    with tarfile.open(FOLDER / "tokens.tar", "w") as out:
        for i in range(SAMPLES):
            for name, array in (("input_ids.npy", rows[i]), ("labels.npy", tags[i])):
                data = io.BytesIO()
                np.save(data, array)
                info = tarfile.TarInfo(f"{i:04}.{name}")
                info.size = data.tell()
                data.seek(0)
                out.addfile(info, data)
    pad = lambda some, value: torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in some], True, value)
    batches = []
    for at in range(0, SAMPLES, BATCH):
        part = slice(at, at + BATCH)
        batches.append((pad(rows[part], 0), pad([np.ones_like(row) for row in rows[part]], 0), pad(tags[part], -100)))
    model = bert(transformers.BertForTokenClassification)
    example = {"input_ids": batches[0][0], "attention_mask": batches[0][1]}
    wrapped = export(WithMask(model), example, FOLDER / "tokens.pt2")
    tar = str(FOLDER / "tokens.tar")
    data = {"class": "Tar", "shards": [tar], "val_shards": [tar], "target": "labels", "pad": {"input_ids": 0, "target": -100},
            "attention_mask": "input_ids"}
    weights, metrics, _ = trained("tokens", {"program": str(FOLDER / "tokens.pt2")}, data)
    loss = lambda net, batch: torch.nn.functional.cross_entropy(
        net(input_ids=batch[0], attention_mask=batch[1]).flatten(0, 1), batch[2].flatten())
    python_fit(wrapped, batches, loss)
    close("tokens", weights, wrapped)
    with torch.no_grad():
        hits = [(wrapped(input_ids=b[0], attention_mask=b[1]).argmax(-1) == b[2])[b[2] != -100] for b in batches]
    accuracy = torch.cat(hits).float().mean().item()
    assert abs(metrics["val_acc"] - accuracy) < 1e-6, (metrics, accuracy)
    predict = lambda out: subprocess.run(
        [LEVIN, "predict", "--config", str(FOLDER / "tokens" / "config.json"), "--ckpt-path", "last", "--data.batch_size", "1",
         "--input", tar, "--output", str(out)], capture_output=True, text=True)
    done = predict(FOLDER / "predicted.csv")
    assert done.returncode != 0 and "predict data of one length" in done.stderr, done.stderr[-2000:]
    done = predict(FOLDER / "predicted.jsonl")
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [json.loads(line) for line in (FOLDER / "predicted.jsonl").read_text().splitlines()]
    assert len(lines) == len(rows)
    with torch.no_grad():
        for row, line in zip(rows, lines):
            one = torch.tensor(row)[None]
            expected = wrapped(input_ids=one, attention_mask=torch.ones_like(one)).flatten()
            found = torch.tensor(line["prediction"])
            assert found.shape == expected.shape and (found - expected).abs().max() < 1e-4, (row, line)


def own_loss():
    """A program that returns its loss and the logits, from a table; the accuracy is of the logits. Its weights come from a
    file whose names lack a prefix."""
    rng = np.random.default_rng(2)
    rows, labels = rng.integers(1, 50, (SAMPLES, LENGTH)), rng.integers(0, CLASSES, SAMPLES)
    with open(FOLDER / "table.csv", "w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["ids", "label"])
        for row, label in zip(rows, labels):
            table.writerow([" ".join(map(str, row)), label])
    batches = chunks(torch.tensor(rows), torch.tensor(labels))
    model = bert(transformers.BertForSequenceClassification)
    example = {"input_ids": batches[0][0], "labels": batches[0][1]}
    wrapped = export(WithLoss(model), example, FOLDER / "own_loss.pt2")
    torch.manual_seed(9)
    other = bert(transformers.BertForSequenceClassification)
    saved = {"encoder." + key.removeprefix("bert.") if key.startswith("bert.") else key: value.clone()
             for key, value in other.state_dict().items()}
    safetensors.torch.save_file(saved, FOLDER / "other.safetensors")
    model.load_state_dict(other.state_dict())
    table = str(FOLDER / "table.csv")
    data = {"class": "Csv", "file": table, "val_file": table, "lists": {"input_ids": "ids"}, "fields": {"labels": "label"},
            "dtypes": {"input_ids": "int64", "labels": "int64"}}
    options = {"program": str(FOLDER / "own_loss.pt2"), "metric": "accuracy", "weights": str(FOLDER / "other.safetensors"),
               "weights_rename": {"encoder.*": "bert.*"}, "weights_add_prefix": "model."}
    weights, metrics, _ = trained("own_loss", options, data)
    python_fit(wrapped, batches, lambda net, batch: net(input_ids=batch[0], labels=batch[1])[0])
    close("own loss", weights, wrapped)
    with torch.no_grad():
        hits = [(wrapped(input_ids=b[0], labels=b[1])[1].argmax(-1) == b[1]) for b in batches]
    assert abs(metrics["val_acc"] - torch.cat(hits).float().mean().item()) < 1e-6, metrics
    _, done = levin_fit("no_map", {**options, "weights_rename": {}}, data)
    assert done.returncode != 0 and "unexpected" in done.stderr, done.stderr


torch.manual_seed(0)
torch.set_num_threads(1)
shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir(parents=True)
for part in (sequences, tokens, own_loss):
    part()
