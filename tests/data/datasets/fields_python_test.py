"""Python writes arrays, tables and tar files with fields of any names; levin's batches of them are compared with NumPy's.

usage: fields_python_test.py TOOL
"""

import csv
import io
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tarfile
import tempfile
import zipfile

try:
    import numpy
except ImportError:
    print("SKIPPED: this Python has no numpy")
    sys.exit(77)

TOOL = sys.argv[1]


def run(kind, options, rank=0, world=1, skip=0):
    """The batches of a rank, {field: array} by number; or the text of what is refused."""
    with tempfile.TemporaryDirectory() as out:
        options = {"shuffle": False, "batch_size": 4, "seed": 3, **options}
        done = subprocess.run([TOOL, kind, json.dumps(options), out, str(rank), str(world)] + ([str(skip)] if skip else []),
                              capture_output=True, text=True, errors="replace")
        if done.returncode == 3:
            return done.stdout.strip()
        assert done.returncode == 0, (done.returncode, done.stderr)
        batches = {}
        for path in pathlib.Path(out).iterdir():
            _, number, name = path.name.split(".", 2)
            batches.setdefault(int(number), {})[name.removesuffix(".npy")] = numpy.load(path)
        return [batches[number] for number in sorted(batches)]


def refused(text, kind, options):
    answer = run(kind, options)
    assert isinstance(answer, str) and text in answer, (text, answer)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and numpy.array_equal(a, b)


def check(batches, expected):
    """`expected` makes a batch of a list of samples' numbers."""
    assert not isinstance(batches, str), batches
    at = 0
    for batch in batches:
        count = len(next(iter(batch.values())))
        wanted = expected(range(at, at + count))
        assert batch.keys() == wanted.keys(), (batch.keys(), wanted.keys())
        for name, value in wanted.items():
            assert same(batch[name], value), (name, batch[name], value)
        at += count
    return at


def padded(rows, value, dtype):
    longest = max(len(row) for row in rows)
    result = numpy.full((len(rows), longest) + numpy.asarray(rows[0]).shape[1:], value, dtype)
    for place, row in zip(result, rows):
        place[: len(row)] = row
    return result


def arrays(folder, rng):
    ids = rng.integers(0, 1000, (10, 6)).astype("i4")
    mask = rng.integers(0, 2, (10, 6)).astype("u1")
    labels = rng.integers(0, 3, 10).astype("i2")
    weights = numpy.asfortranarray(rng.normal(size=(10, 2, 3)).astype(">f8"))
    numpy.save(folder / "ids.npy", ids)
    numpy.save(folder / "weights.npy", weights)
    for name, save in (("stored", numpy.savez), ("deflated", numpy.savez_compressed)):
        file = folder / f"{name}.npz"
        save(file, input_ids=ids, attention_mask=mask, labels=labels, weights=weights)
        everything = lambda i: {"input_ids": ids[i], "attention_mask": mask[i], "labels": labels[i],
                                "weights": weights[i].astype("f8")}
        assert check(run("Npy", {"arrays": {"*": str(file)}}), everything) == 10
        some = {"input_ids": str(folder / "ids.npy"), "target": f"{file}:labels", "attention_mask": str(file)}
        assert check(run("Npy", {"arrays": some, "dtypes": {"input_ids": "int64", "attention_mask": "float32"}}), lambda i: {
            "input_ids": ids[i].astype("i8"), "target": labels[i].astype("i8"), "attention_mask": mask[i].astype("f4")}) == 10
        for text in ("no array 'absent'", "it holds input_ids, attention_mask, labels, weights"):
            refused(text, "Npy", {"arrays": {"absent": str(file)}})
        refused("holds Double values that Long does not have", "Npy", {"arrays": {"*": str(file)}, "dtypes": {"weights": "int64"}})
    refused("there is no field 'lables'", "Npy", {"arrays": {"*": str(file)}, "dtypes": {"lables": "int64"}})
    refused("'int46' of labels is no type", "Npy", {"arrays": {"*": str(file)}, "dtypes": {"labels": "int46"}})
    numpy.save(folder / "three.npy", ids[:3])
    refused("3 samples in", "Npy", {"arrays": {"a": str(folder / "ids.npy"), "b": str(folder / "three.npy")}})


def rows_of_lengths(rng, samples, most=9):
    return [rng.integers(1, 500, rng.integers(0 if i % 3 else 1, most + 1)) for i in range(samples)]


def varying(folder, rng):
    rows = rows_of_lengths(rng, 23)
    tags = [row % 5 for row in rows]
    lengths = numpy.array([len(row) for row in rows])
    file = folder / "rows.npz"
    numpy.savez(file, input_ids=numpy.concatenate(rows).astype("u2"), input_ids_lengths=lengths,
                target=numpy.concatenate(tags), target_lengths=lengths, number=numpy.arange(23))
    options = {"arrays": {"*": str(file)}, "pad": {"input_ids": 7, "target": -100}, "attention_mask": "input_ids",
               "dtypes": {"input_ids": "int64"}}
    batch_of = lambda numbers: {
        "input_ids": padded([rows[i] for i in numbers], 7, "i8"), "target": padded([tags[i] for i in numbers], -100, "i8"),
        "attention_mask": padded([numpy.ones(len(rows[i])) for i in numbers], 0, "i8"), "number": numpy.array(numbers)}
    assert check(run("Npy", options), batch_of) == 23
    refused("name what fills up the shorter ones", "Npy", {**options, "pad": {"input_ids": 7}})
    refused("is no value of its type", "Npy", {**options, "pad": {"input_ids": -1, "target": -100}})

    # Batches of similar length: every sample once, what is padded is little, and the same for any number of ranks.
    grouped = {**options, "group_by_length": "input_ids", "shuffle": True}
    batches = run("Npy", grouped)
    order = [int(n) for batch in batches for n in batch["number"]]
    assert sorted(order) == list(range(23)) and order != list(range(23))
    for batch in batches:
        wanted = batch_of([int(n) for n in batch["number"]])
        assert all(same(batch[name], wanted[name]) for name in wanted)
    area = lambda all: sum(batch["input_ids"].size for batch in all)
    assert area(batches) < area(run("Npy", {**options, "shuffle": True}))
    two = [run("Npy", {**grouped, "batch_size": 2}, rank, 2) for rank in (0, 1)]
    rounds = [int(n) for pair in itertools.zip_longest(*two) for batch in pair if batch for n in batch["number"]]
    assert rounds == [int(n) for batch in run("Npy", {**grouped, "batch_size": 2}) for n in batch["number"]]
    resumed = run("Npy", grouped, skip=2)
    assert len(resumed) == len(batches) - 2
    for batch, whole in zip(resumed, batches[2:]):
        assert all(same(batch[name], whole[name]) for name in whole)
    held_out = run("Npy", {**grouped, "val_fraction": 0.4})
    assert sum(len(batch["number"]) for batch in held_out) == 14
    refused("needs data.shuffle", "Npy", {**grouped, "shuffle": False})
    refused("is no field whose rows have different lengths", "Npy", {**grouped, "group_by_length": "number"})
    for wrong, text in ((lengths + 1, "are left"), (lengths - (lengths > 0), "add up to"), (-lengths, "has the length -")):
        numpy.savez(file, input_ids=numpy.concatenate(rows), input_ids_lengths=wrong)
        refused(text, "Npy", {"arrays": {"*": str(file)}, "pad": {"input_ids": 0}})


def tables(folder, rng):
    rows = rows_of_lengths(rng, 11)
    left, right = rng.normal(size=(2, 11))
    labels = rng.integers(0, 4, 11)
    forms = (lambda row: str([int(n) for n in row]), lambda row: " ".join(map(str, row)) if len(row) else "[]",
             lambda row: ",".join(map(str, row)) if len(row) else " [ ] ", lambda row: str(row))
    file = folder / "table.csv"
    with open(file, "w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["tokens", "p0", "label", "p1", "text"])
        for i, row in enumerate(rows):
            table.writerow([forms[i % 4](row), left[i], labels[i], right[i], "no number"])
    options = {"file": str(file), "lists": {"input_ids": "tokens"}, "fields": {"target": "label", "features": "p*"},
               "dtypes": {"input_ids": "int64", "target": "int64"}, "pad": {"input_ids": 0}, "attention_mask": "input_ids"}
    batch_of = lambda numbers: {
        "input_ids": padded([rows[i] for i in numbers], 0, "i8"), "target": labels[numbers].astype("i8"),
        "features": numpy.stack([left[numbers], right[numbers]], 1).astype("f4"),
        "attention_mask": padded([numpy.ones(len(rows[i])) for i in numbers], 0, "i8")}
    with_lists = lambda i: batch_of(list(i))
    assert check(run("Csv", options), with_lists) == 11
    grouped = run("Csv", {**options, "group_by_length": "input_ids", "shuffle": True})
    assert sum(len(batch["target"]) for batch in grouped) == 11
    named = run("Csv", {**options, "fields": {"features": "p1, p0"}, "target": "label", "dtypes": {"input_ids": "int32"}})
    assert same(named[0]["features"], numpy.stack([right[:4], left[:4]], 1).astype("f4"))
    assert named[0]["input_ids"].dtype == "i4" and named[0]["target"].dtype == "i8"
    for wrong, text in (("fields", "fits the name of no column"), ("lists", "no column")):
        refused(text, "Csv", {**options, wrong: {"x": "q*"}})
    refused("is not one number", "Csv", {"file": str(file), "fields": {"x": "tokens"}})
    for cell in ("[1, 2", "1 x", "[[1], [2]]", "1,,2", "[1, 2,]", "nan", "1e999", "9007199254740993"):
        file.write_text('tokens\n"[1]"\n"' + cell + '"\n')
        answer = run("Csv", {"file": str(file), "lists": {"x": "tokens"}, "pad": {"x": 0}, "missing_values": []})
        assert "table.csv:3: column 'tokens': " in answer, (cell, answer)
    file.write_text('tokens,y\n"[1]",1\n,2\n')
    refused("is missing; set --data.missing", "Csv", {"file": str(file), "lists": {"x": "tokens"}, "target": "y"})
    zero = run("Csv", {"file": str(file), "lists": {"x": "tokens"}, "target": "y", "missing": "zero", "pad": {"x": 0}})
    assert same(zero[0]["x"], numpy.array([[1], [0]], "f4"))
    dropped = run("Csv", {"file": str(file), "lists": {"x": "tokens"}, "target": "y", "missing": "drop"})
    assert same(dropped[0]["x"], numpy.array([[1]], "f4"))


def archives(folder, rng):
    rows = [numpy.append(row, 1) for row in rows_of_lengths(rng, 9)]
    file = folder / "samples.tar"

    def write(names):
        with tarfile.open(file, "w") as out:
            for i, row in enumerate(rows):
                for name, array in names(i, row):
                    data = io.BytesIO()
                    numpy.save(data, array)
                    info = tarfile.TarInfo(f"{i:03}.{name}")
                    info.size = data.tell()
                    data.seek(0)
                    out.addfile(info, data)

    write(lambda i, row: [("Input_ids.npy", row), ("labels.npy", numpy.array(i, "u1"))])
    options = {"shards": [str(file)], "target": "labels", "pad": {"input_ids": 9}, "attention_mask": "input_ids",
               "dtypes": {"target": "int64", "input_ids": "int32"}}
    assert check(run("Tar", options), lambda numbers: {
        "input_ids": padded([rows[i] for i in numbers], 9, "i4"), "target": numpy.array(numbers),
        "attention_mask": padded([numpy.ones(len(rows[i])) for i in numbers], 0, "i8")}) == 9
    as_input = run("Tar", {**options, "input": "input_ids", "pad": {"input": 9}, "attention_mask": "input", "dtypes": {}})
    assert same(as_input[0]["input"], padded(rows[:4], 9, "i8"))
    refused("of the same batch", "Tar", {**options, "pad": {}, "attention_mask": ""})
    refused("the samples have no field 'x'; they have target, input_ids", "Tar", {**options, "dtypes": {"x": "int8"}})
    write(lambda i, row: [("npy", row[:1]), ("mask.npy", row[:1])])
    assert run("Tar", {"shards": [str(file)]})[0].keys() == {"input", "mask"}


def damaged(folder, rng):
    """A damaged .npz gives an error or the right numbers, and never anything else."""
    ids = numpy.arange(64, dtype="i4").reshape(8, 8)
    loops = int(sys.argv[2]) if len(sys.argv) > 2 else 6
    draw = random.Random(5)
    for save in (numpy.savez, numpy.savez_compressed):
        file = folder / "damaged.npz"
        save(file, a=ids, b=ids.astype("f4"))
        whole = file.read_bytes()
        for cut in (0, 1, 30, 200, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:cut])
            answer = run("Npy", {"arrays": {"*": str(file)}})
            assert isinstance(answer, str) and "damaged.npz" in answer, (cut, answer)
        for _ in range(loops):
            bytes_ = bytearray(whole)
            for _ in range(draw.choice((1, 1, 2, 8))):
                bytes_[draw.randrange(len(bytes_))] = draw.randrange(256)
            file.write_bytes(bytes_)
            run("Npy", {"arrays": {"*": str(file)}})
    with zipfile.ZipFile(folder / "notes.npz", "w") as out:
        out.writestr("notes.txt", "hello")
    refused("member notes.txt is no .npy file", "Npy", {"arrays": {"*": str(folder / "notes.npz")}})


for part in (arrays, varying, tables, archives, damaged):
    with tempfile.TemporaryDirectory() as folder:
        part(pathlib.Path(folder), numpy.random.default_rng(1))
        print(part.__name__, "is as NumPy's")
