"""What is learned of the training data goes with a model: learned_from_data_test.py LEVIN."""

import csv
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy
import torch
from safetensors import safe_open

SAYS_OTHERWISE = "the training data of the config say otherwise than "


def levin(folder, *words, code=0):
    run = subprocess.run(
        [sys.argv[1], *map(str, words)], capture_output=True, text=True, timeout=300, cwd=folder,
        env={**os.environ, "LEVIN__TRAINER__NUM_THREADS": "1"},
    )  # fmt: skip
    assert run.returncode == code, (words, run.returncode, run.stdout, run.stderr)
    return run.stdout + run.stderr


def fit(folder, config, *more):
    return levin(folder, "fit", "--config", config, "--quiet", "--accelerator", "cpu", *more)


def rows_of(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def predict(folder, config, *more, code=0):
    said = levin(folder, "predict", "--config", config, "--quiet", "--accelerator", "cpu", "--output", "out.csv", *more,
                 code=code)  # fmt: skip
    return said, rows_of(folder / "out.csv") if code == 0 else None


def draw_table(seed, count, scale=1.0):
    """Rows of a table: two numbers, of which one is missing at times, a text, and the class that they tell."""
    draws = numpy.random.default_rng(seed)
    rows = []
    for i in range(count):
        kind = int(draws.integers(3))
        long, wide = draws.normal(100 + 40 * kind, 15) * scale, draws.normal(3 - kind, 0.7) * scale
        rows.append([f"{long:.3f}", "" if i % 9 == 4 else f"{wide:.3f}", "red blue green".split()[int(draws.integers(3))],
                     ["ash", "beech", "cedar"][kind]])  # fmt: skip
    return rows


def write_table(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["long", "wide", "colour", "tree"], *rows])


def check_table(folder):
    train, ask = draw_table(1, 150), draw_table(2, 40)
    write_table(folder / "train.csv", train)
    write_table(folder / "ask.csv", ask)
    levin(folder, "data", "guess", "train.csv", "--output", "table.json")
    fit(folder, "table.json", "--max-epochs", 4)
    run = folder / "table" / "version_0"
    said, before = predict(folder, "table.json", "--ckpt-path", "last", "--input", "ask.csv")
    assert SAYS_OTHERWISE not in said, said
    assert len({row["class"] for row in before}) > 1

    # Python reads it, of the checkpoint and beside the weights, which load as they did.
    section = torch.load(next((run / "checkpoints").glob("last.ckpt")), weights_only=True)["levin_data"]
    assert section["class"] == "Csv"
    learned = section["learned"]
    assert learned["class_names"] == ["ash", "beech", "cedar"] and learned["features"] == ["long", "wide"]
    assert learned["vocabularies"] == [["blue", "green", "red"]]
    weights = torch.load(run / "weights.pt", weights_only=True)
    assert weights.levin_data == section and all(isinstance(value, torch.Tensor) for value in weights.values())
    numbers = numpy.array([[float(row[0]), float(row[1] or "nan")] for row in train])
    assert min(abs(learned["mean"][0] - numbers[:, 0].mean()), 1) < 20  # of the rows that val_fraction left

    # Other rows, and a class that is called otherwise: the same predictions, and a warning.
    renamed = [[*row[:3], "zelkova" if row[3] == "ash" else row[3]] for row in train]
    write_table(folder / "train.csv", renamed + draw_table(3, 150, scale=1.7))
    for more in (["--ckpt-path", "last"], ["--ckpt-path", run], ["--model.weights", run / "weights.pt"]):
        said, after = predict(folder, "table.json", *more, "--input", "ask.csv")
        assert after == before, more
        assert SAYS_OTHERWISE in said and "mean, std, class_names" in said, said

    # Without the file: predict, test and export work.
    (folder / "train.csv").unlink()
    said, after = predict(folder, "table.json", "--ckpt-path", "last", "--input", "ask.csv")
    assert after == before and SAYS_OTHERWISE not in said
    levin(folder, "test", "--config", "table.json", "--ckpt-path", "last", "--data.test_file", "ask.csv", "--accelerator",
          "cpu")  # fmt: skip
    said, _ = predict(folder, "table.json", "--input", "ask.csv", code=2)
    assert "train.csv" in said

    # The script takes the rows as they are.
    said = levin(folder, "export", "--config", "table.json", "--ckpt-path", "last", "--out", "table.ts")
    assert "any size; takes input: the numbers long, wide; category: the codes of colour" in said, said
    files = {"levin_data.json": ""}
    script = torch.jit.load(folder / "table.ts", _extra_files=files)
    assert json.loads(files["levin_data.json"]) == section
    rows = torch.tensor([[float(row[0]), float(row[1] or "nan")] for row in ask])
    codes = torch.tensor([[learned["vocabularies"][0].index(row[2])] for row in ask])
    with torch.no_grad():
        probabilities = script(rows, codes)
    for i, name in enumerate(learned["class_names"]):
        expected = torch.tensor([float(row[f"p({name})"]) for row in before])
        torch.testing.assert_close(probabilities[:, i], expected, rtol=1e-5, atol=1e-6)

    # Weights that are exported have it too, in both formats.
    for name in ("table.pt", "table.safetensors"):
        levin(folder, "export", "--config", "table.json", "--ckpt-path", "last", "--out", name)
        said, after = predict(folder, "table.json", "--model.weights", name, "--input", "ask.csv")
        assert after == before, name
    with safe_open(folder / "table.safetensors", "pt") as file:
        assert json.loads(file.metadata()["levin_data"]) == section

    # So have converted ones.
    last = next((run / "checkpoints").glob("last.ckpt"))
    slim = ("slim.pt", "slim.safetensors")
    for origin, name in (*((last, name) for name in slim), (slim[1], "back.pt"), (slim[0], "back.safetensors")):
        said = levin(folder, "ckpt", "convert", origin, name, *(["--weights-only"] if origin == last else []))
        assert "levin_data" not in said, said
        said, after = predict(folder, "table.json", "--model.weights", name, "--input", "ask.csv")
        assert after == before, name

    # A checkpoint without the section is used as before.
    checkpoint = torch.load(next((run / "checkpoints").glob("last.ckpt")), weights_only=True)
    del checkpoint["levin_data"]
    torch.save(checkpoint, folder / "old.ckpt")
    write_table(folder / "train.csv", train)
    said, after = predict(folder, "table.json", "--ckpt-path", "old.ckpt", "--input", "ask.csv")
    assert after == before


def check_resume(folder):
    """A run that goes on over the same data is the unbroken one; over other data it keeps what was learned."""
    train = draw_table(5, 120)
    write_table(folder / "grow.csv", train)
    levin(folder, "data", "guess", "grow.csv", "--output", "grow.json")
    fit(folder, "grow.json", "--name", "whole", "--max-epochs", 4)
    fit(folder, "grow.json", "--name", "parts", "--max-epochs", 2)
    fit(folder, "grow.json", "--name", "parts", "--max-epochs", 4, "--ckpt-path", "last")
    whole, parts = (torch.load(sorted((folder / name).glob("*/weights.pt"))[-1]) for name in ("whole", "parts"))
    assert all(torch.equal(value, parts[name]) for name, value in whole.items())
    assert whole.levin_data == parts.levin_data
    write_table(folder / "grow.csv", train + draw_table(6, 60, scale=2.0))
    said = fit(folder, "grow.json", "--name", "parts", "--max-epochs", 5, "--ckpt-path", "last")
    assert SAYS_OTHERWISE in said, said
    grown = torch.load(sorted((folder / "parts").glob("*/weights.pt"))[-1])
    assert grown.levin_data == whole.levin_data


def write_png(path, pixels):
    """Writes uint8 [height, width, 3]."""
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines)), chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))


def check_images(folder):
    draws = numpy.random.default_rng(4)
    for kind, name in enumerate(("ant", "bee")):
        for i in range(12):
            pixels = draws.integers(60 + 100 * kind, 120 + 100 * kind, size=(16, 16, 3)).astype("uint8")
            write_png(folder / "pictures" / name / f"{i}.png", pixels)
            write_png(folder / "photos" / f"{name}{i}.png", pixels)
    levin(folder, "data", "guess", "pictures", "--output", "images.json")
    more = ("--model.net", "mlp")
    fit(folder, "images.json", "--max-epochs", 2, "--data.mean", "[0.5]", "--data.std", "[0.25]", *more)
    asked = ("--ckpt-path", "last", "--input", "photos", *more)
    said, before = predict(folder, "images.json", "--data.mean", "[0.5]", "--data.std", "[0.25]", *asked)
    assert SAYS_OTHERWISE not in said and {row["class"] for row in before} <= {"ant", "bee"}
    # Another normalisation, another class that shifts the numbers, and no folder at all.
    said, after = predict(folder, "images.json", *asked)
    assert after == before and SAYS_OTHERWISE in said and "mean, std" in said, said
    write_png(folder / "pictures" / "aardvark" / "0.png", numpy.zeros((16, 16, 3), "uint8"))
    said, after = predict(folder, "images.json", *asked)
    assert after == before and "class_names, mean, std" in said, said
    (folder / "pictures").rename(folder / "gone")
    said, after = predict(folder, "images.json", *asked)
    assert after == before and SAYS_OTHERWISE not in said
    levin(folder, "export", "--config", "images.json", "--ckpt-path", "last", "--out", "images.ts", *more)
    script = torch.jit.load(folder / "images.ts")
    photos = torch.stack([torch.from_numpy(read_png(folder / "photos" / f"{name}{i}.png")).permute(2, 0, 1)
                          for name in ("ant", "bee") for i in range(12)])  # fmt: skip
    by_name = {pathlib.Path(row["input"]).name: float(row["p(bee)"]) for row in before}
    expected = torch.tensor([by_name[f"{name}{i}.png"] for name in ("ant", "bee") for i in range(12)])
    with torch.no_grad():
        torch.testing.assert_close(script(photos)[:, 1], expected, rtol=1e-4, atol=1e-6)


def read_png(path):
    """Reads back what write_png wrote, of 16 x 16 pixels."""
    data = path.read_bytes()
    begin = data.index(b"IDAT")
    size = struct.unpack(">I", data[begin - 4 : begin])[0]
    lines = numpy.frombuffer(zlib.decompress(data[begin + 4 : begin + 4 + size]), "uint8").reshape(16, 1 + 48)
    return lines[:, 1:].reshape(16, 16, 3).copy()


def check_arrays(folder):
    """Bytes stay bytes for the script, whatever the file to predict from holds."""
    draws = numpy.random.default_rng(7)
    target = draws.integers(2, size=80)
    images = draws.integers(0, 200, size=(80, 1, 8, 8)) + 50 * target[:, None, None, None]
    numpy.savez(folder / "bytes.npz", input=images.astype("uint8"), target=target)
    numpy.save(folder / "ask.npy", images[:20].astype("uint8"))
    levin(folder, "data", "guess", "bytes.npz", "--output", "bytes.json")
    fit(folder, "bytes.json", "--max-epochs", 2)
    asked = ("--ckpt-path", "last", "--input", "ask.npy")
    _, before = predict(folder, "bytes.json", *asked)
    (folder / "bytes.npz").unlink()
    _, after = predict(folder, "bytes.json", *asked)
    assert after == before
    numpy.save(folder / "ask.npy", images[:20].astype("float32"))
    said, after = predict(folder, "bytes.json", *asked)
    assert after == before and "holds float32, the training inputs are uint8" in said, said
    levin(folder, "export", "--config", "bytes.json", "--ckpt-path", "last", "--out", "bytes.ts")
    with torch.no_grad():
        probabilities = torch.jit.load(folder / "bytes.ts")(torch.from_numpy(images[:20].astype("uint8")))
    expected = torch.tensor([[float(row["p(0)"]), float(row["p(1)"])] for row in before])
    torch.testing.assert_close(probabilities, expected, rtol=1e-4, atol=1e-6)


def check_text(folder):
    text = "the quick brown fox jumps over the lazy dog. " * 60
    (folder / "words.txt").write_text(text)
    levin(folder, "data", "guess", "words.txt", "--output", "words.json")
    small = ("--model.layers", 1, "--model.embedding", 16, "--model.heads", 2)
    fit(folder, "words.json", "--max-epochs", 1, *small)
    weights = torch.load(sorted((folder / "text").glob("*/weights.pt"))[-1], weights_only=True)
    assert weights.levin_data["learned"] == {"level": "characters", "vocabulary": "".join(sorted(set(text)))}
    evaluated = ("validate", "--config", "words.json", "--ckpt-path", "last", "--accelerator", "cpu", *small)
    assert SAYS_OTHERWISE not in levin(folder, *evaluated)
    # Without the characters that come first, the numbers of all others would be smaller.
    (folder / "words.txt").write_text(text.replace(" ", "").replace(".", ""))
    said = levin(folder, *evaluated)
    assert SAYS_OTHERWISE in said and "whose values are used: vocabulary" in said, said
    levin(folder, "export", "--config", "words.json", "--ckpt-path", "last", "--out", "words.ts", *small)


def main():
    for check in (check_table, check_resume, check_images, check_arrays, check_text):
        with tempfile.TemporaryDirectory() as name:
            check(pathlib.Path(name))
    print("what was learned of the training data goes with the model")


if __name__ == "__main__":
    main()
