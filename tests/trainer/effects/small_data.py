"""The files that the bases of effects_test.py read: small, and the same in each run."""

import csv
import io
import json
import pathlib
import random
import struct
import sys
import tarfile
import zlib

import numpy
import safetensors.numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from small_bert import write_bert  # noqa: E402
from small_llama import write_llama  # noqa: E402
from small_resnet import write_resnet  # noqa: E402


def png(pixels):
    """Of red, green and blue, [height, width, 3], or gray, [height, width]."""
    height, width = pixels.shape[:2]
    rows = b"".join(b"\0" + pixels[y].tobytes() for y in range(height))

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def picture(generator, height=10, width=12):
    return generator.integers(0, 256, (height, width, 3), dtype=numpy.uint8)


def write_idx(folder, generator):
    folder.mkdir()
    for part, count in (("train", 48), ("t10k", 16)):
        images = generator.integers(0, 256, (count, 28, 28), dtype=numpy.uint8)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, count, 28, 28) + images.tobytes())
        labels = (numpy.arange(count) % 10).astype(numpy.uint8)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels.tobytes())


def write_cifar(folder, generator):
    def records(count, labels):
        return b"".join(bytes((i * 7 + k) % (100 if k else 20) if labels == 2 else i % 10 for k in range(labels)) +
                        generator.integers(0, 256, 3072, dtype=numpy.uint8).tobytes() for i in range(count))

    folder.mkdir()
    for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
        (folder / name).write_bytes(records(8, 1))
    for name in ("train.bin", "test.bin"):
        (folder / name).write_bytes(records(36, 2))


def write_images(folder, generator):
    for label in ("ants", "bees"):
        (folder / label).mkdir(parents=True)
        for i in range(18):
            (folder / label / f"{i:02}.png").write_bytes(png(picture(generator)))
    others = folder.parent / "others"
    others.mkdir()
    for i in range(5):
        (others / f"{i}.png").write_bytes(png(picture(generator)))
    broken = folder.parent / "broken_images"
    for label in ("ants", "bees"):
        (broken / label).mkdir(parents=True)
        for i in range(18):
            content = png(picture(generator))
            (broken / label / f"{i:02}.png").write_bytes(content[:40] if i == 3 else content)


def write_boxes(folder, generator):
    """Pictures with boxes of two classes, in COCO's format; `others` are other pictures of the same names."""
    for place in ("images", "others"):
        (folder / place).mkdir(parents=True)
        for i in range(32):
            (folder / place / f"{i:02}.png").write_bytes(png(picture(generator, 24, 32)))
    for name, numbers in (("train", range(24)), ("test", range(24, 32))):
        boxes = [[int(generator.integers(0, 16)), int(generator.integers(0, 8)), int(generator.integers(6, 16)),
                  int(generator.integers(6, 16))] for _ in numbers]
        (folder / f"{name}.json").write_text(json.dumps({
            "images": [{"id": i, "file_name": f"{i:02}.png"} for i in numbers],
            "categories": [{"id": 1, "name": "ant"}, {"id": 2, "name": "bee"}],
            "annotations": [{"id": n + 1, "image_id": i, "category_id": 1 + i % 2, "bbox": boxes[n]} for n, i in enumerate(numbers)]}))


def write_masks(folder, generator):
    """Pictures with masks of three classes: train, test, and other masks of the same names, also of colours."""
    for part, count in (("train", 24), ("test", 8)):
        for place in ("images", "masks", "others", "colors", "images_0"):
            (folder / part / place).mkdir(parents=True)
        for i in range(count):
            (folder / part / f"images/{i:02}.png").write_bytes(png(picture(generator)))
            mask = generator.integers(0, 3, (10, 12), dtype=numpy.uint8)
            (folder / part / f"masks/{i:02}.png").write_bytes(png(mask))
            (folder / part / f"others/{i:02}_0.png").write_bytes(png(2 - mask))
            (folder / part / f"colors/{i:02}.png").write_bytes(png(numpy.repeat(mask[:, :, None] * 100, 3, 2)))
            content = png(picture(generator))
            (folder / part / f"images_0/{i:02}.png").write_bytes(content[:40] if i == 3 else content)


def write_image_lists(folder):
    """Lists of the pictures that write_images has written: a class, labels, a number, and labels in one column."""
    folder.mkdir()
    rows = [[f"{label}/{i:02}.png", label, i % 2, i % 3 // 2, i / 10, " ".join(["red", "green"][: i % 3])]
            for i in range(18) for label in ("ants", "bees")]
    for name, part in (("train", rows[:24]), ("val", rows[24:30]), ("test", rows[30:])):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["path", "label", "winged", "black", "size", "colors"], *part])
    for name, delimiter, head in (("semicolon", ";", True), ("bare", ",", False)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file, delimiter=delimiter).writerows(([["path", "label", "a", "b", "c", "d"]] if head else []) + rows[:24])
    with (folder / "places.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["place", "path", "label"], *([row[0], rows[-1 - n][0], row[1]] for n, row in enumerate(rows[:24]))])


def grouped(text):
    """A number with thousands, as in 5,012.25; other texts as they are."""
    try:
        return f"{float(text) + 5000:,.4f}"
    except ValueError:
        return text


def write_tables(folder, generator):
    folder.mkdir()
    draw = random.Random(3)
    for name, count in (("train", 40), ("val", 16), ("test", 16), ("gaps", 40), ("new_color", 16)):
        rows = []
        for i in range(count):
            left, right = draw.gauss(3, 2), draw.gauss(-1, 1)
            color = draw.choice(["red", "green", "blue"])
            rows.append([f"{left:.4f}", f"{right:.4f}", color, "yes" if left + right > 2 else "no", f"{left - right:.4f}"])
        if name == "gaps":
            rows[5][0] = rows[11][1] = ""
            rows[20][0] = "?"
        if name == "new_color":
            rows[2][2] = "violet"
        for suffix, delimiter, has_header, change in (
                ("", ",", True, str), ("_semicolon", ";", True, str), ("_bare", ",", False, str),
                ("_comma", ";", True, lambda text: text.replace(".", ",")), ("_grouped", ";", True, grouped)):
            with (folder / f"{name}{suffix}.csv").open("w", newline="") as file:
                writer = csv.writer(file, delimiter=delimiter)
                if has_header:
                    writer.writerow(["left", "right", "color", "label", "amount"])
                writer.writerows([change(text) for text in row] for row in rows)


def write_columns(folder):
    """The same rows in Parquet, HDF5 and JSON lines; where these modules are tested, pyarrow and h5py are there."""
    for path in folder.glob("*.csv"):
        if "_" in path.stem and path.stem != "new_color":
            continue
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        number = lambda text: float(text) if text not in ("", "?") else None
        columns = {name: [row[name] if name in ("color", "label") else number(row[name]) for row in rows] for name in rows[0]}
        with path.with_suffix(".jsonl").open("w") as file:
            file.writelines(json.dumps({name: values[i] for name, values in columns.items()}) + "\n" for i in range(len(rows)))
        try:
            import h5py
            import pyarrow.parquet
        except ImportError:
            continue
        pyarrow.parquet.write_table(pyarrow.table(columns), path.with_suffix(".parquet"), row_group_size=9)
        with h5py.File(path.with_suffix(".h5"), "w") as file:
            for name, values in columns.items():
                is_text = name in ("color", "label")
                file.create_dataset(name, data=values if is_text else numpy.array(values, "f8"),
                                    dtype=h5py.string_dtype() if is_text else "f8")


def write_arrays(folder, generator):
    folder.mkdir()
    for name, count in (("train", 40), ("val", 16), ("test", 16)):
        inputs = generator.normal(size=(count, 6)).astype(numpy.float32)
        targets = (inputs.sum(1) > 0).astype(numpy.int64)
        numpy.save(folder / f"{name}_input.npy", inputs)
        numpy.save(folder / f"{name}_target.npy", targets)
        numpy.savez(folder / f"{name}.npz", input=inputs, target=targets, half=inputs / 2, opposite=1 - targets)
    numpy.save(folder / "double_input.npy", generator.normal(size=(40, 6)))


def write_shards(folder, generator):
    folder.mkdir()
    for shard in range(6):
        with tarfile.open(folder / f"{shard}.tar", "w") as file:
            for i in range(10):
                array = io.BytesIO()
                numpy.save(array, generator.normal(size=(3, 8, 8)).astype(numpy.float32))
                members = {"png": png(picture(generator, 8, 8)), "npy": array.getvalue(), "cls": b"%d" % (i % 2),
                           "txt": b"%d" % (i % 3 == 0)}
                for extension, content in members.items():
                    info = tarfile.TarInfo(f"{shard}_{i}.{extension}")
                    info.size = len(content)
                    file.addfile(info, io.BytesIO(content))


def write_weights(path):
    """A bias of each module, once by its name and once, with other values, behind "other."."""
    sizes = {"net.3.bias": 10, "net.blocks.0.attention_norm.bias": 8, "net.layers.0.bias": 4, "layer.bias": 2,
             "net.class_output.bias": 2, "net.head.bias": 3}
    header, content = {}, b""
    for prefix, value in (("", 0.5), ("other.", -0.5)):
        for name, size in sizes.items():
            header[prefix + name] = {"dtype": "F32", "shape": [size], "data_offsets": [len(content), len(content) + 4 * size]}
            content += numpy.full(size, value, numpy.float32).tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)


def write_programs(folder):
    """Models that Python exports: import torch only where a row needs them, since that takes seconds."""
    import torch

    folder.mkdir()

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(6, 2)

        def forward(self, input):
            return self.layer(input)

    class TwoOutputs(Net):
        def forward(self, input):
            scores = self.layer(input)
            return scores, scores * 2

    class TwoParts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.BatchNorm1d(4))
            self.head = torch.nn.Linear(4, 2)

        def forward(self, input):
            return self.head(self.backbone(input))

    class Swapped(Net):
        def forward(self, other):
            return self.layer(other)

    class Unused(Net):
        def __init__(self):
            super().__init__()
            self.rest = torch.nn.Linear(2, 2)

    @torch.library.custom_op("effects::twice", mutates_args=())
    def twice(input: torch.Tensor) -> torch.Tensor:
        return input * 2

    twice.register_fake(torch.empty_like)

    class OwnOperator(Net):
        def forward(self, input):
            return twice(self.layer(input).detach()) + self.layer(input)

    class Tokens(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.layer = torch.nn.Embedding(257, 8), torch.nn.Linear(8, 257)

        def forward(self, input):
            return self.layer(self.embedding(input))

    class OwnLoss(Net):
        @torch.jit.export
        def loss(self, input, target):
            return torch.nn.functional.cross_entropy(self.layer(input) * 3, target)

    torch.manual_seed(1)
    batch = torch.export.Dim("batch")
    for name, net in (("net", Net()), ("two", TwoOutputs()), ("swapped", Swapped()), ("parts", TwoParts()),
                      ("unused", Unused()), ("operator", OwnOperator())):
        exported = torch.export.export(net, (torch.randn(4, 6),), dynamic_shapes=({0: batch},))
        torch.export.save(exported, folder / f"{name}.pt2")
    sizes = {0: batch, 1: torch.export.Dim("length", min=2, max=1024)}
    exported = torch.export.export(Tokens(), (torch.zeros(4, 6, dtype=torch.int64),), dynamic_shapes=(sizes,))
    torch.export.save(exported, folder / "tokens.pt2")
    torch.jit.save(torch.jit.script(OwnLoss()), folder / "net.ts")
    torch.jit.save(torch.jit.script(Swapped()), folder / "swapped.ts")


def chat(text):
    """A chat in two fields; the second role and the second content of a message stand in fields of other names."""
    asked = {"role": "user", "who": "user", "content": text(3), "said": text(3)}
    answered = {"role": "assistant", "who": "user", "content": text(3), "said": text(3)}
    end = {"role": "assistant", "who": "assistant", "content": text(3), "said": text(3)}
    return {"messages": [asked, answered], "turns": [{**asked, "content": text(4)}, {**end, "content": text(4)}]}


def write_lines(folder, generator):
    """Samples for language models: JSON lines of the three kinds, and files of tokens."""
    folder.mkdir()
    words = random.Random(3)

    def text(least):
        return "".join(words.choices("abcdefgh ", k=words.randint(least, 14)))

    for part, count in (("train", 40), ("val", 16), ("test", 16)):
        (folder / f"{part}.jsonl").write_text("".join(json.dumps({"text": text(5), "body": text(5)}) + "\n" for _ in range(count)))
        pairs = [{"prompt": text(3), "completion": text(3), "question": text(3), "answer": text(3)} for _ in range(count)]
        (folder / f"{part}_pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
        (folder / f"{part}_chats.jsonl").write_text("".join(json.dumps(chat(text)) + "\n" for _ in range(count)))
        generator.integers(0, 256, 700, dtype=numpy.uint16).tofile(folder / f"{part}.bin")


WORDS = "good fine great bad poor awful film book song was the a very".split()


def write_texts(folder):
    """Texts with labels, words with tags, and pairs of texts with scores, each also in fields of other names."""
    folder.mkdir()
    words = random.Random(11)

    def text():
        return " ".join(words.choices(WORDS, k=words.randint(3, 12)))

    for part, count in (("train", 40), ("val", 16), ("test", 16)):
        labeled, tagged, pairs = [], [], []
        for i in range(count):
            labeled.append({"text": text(), "body": text(), "second": text(), "label": ("bad", "good")[i % 2], "kind": i % 3 % 2})
            lists = [text().split() for _ in range(2)]
            tags = [[("O", "THING")[words.randrange(2)] for _ in range(12)] for _ in range(2)]
            tagged.append({"tokens": lists[0], "tags": tags[0][:len(lists[0])], "words": lists[0][::-1], "kinds": tags[1][:len(lists[0])]})
            pairs.append({"sentence1": text(), "sentence2": text(), "first": text(), "second": text(), "score": words.randrange(6)})
        for name, records in (("labeled", labeled), ("tagged", tagged), ("pairs", pairs)):
            (folder / f"{part}_{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


def write_bert_weights(folder):
    """All weights of a module with an encoder, and those but one, as levin names them."""
    own = {f"bert.{name}": value for name, value in safetensors.numpy.load_file(folder / "bert/model.safetensors").items()}
    head = {"classifier.weight": numpy.ones((2, 8), numpy.float32), "classifier.bias": numpy.zeros(2, numpy.float32)}
    bare = {name: value for name, value in own.items() if "pooler" not in name}
    for module, weights in (("SequenceClassifier", own | head), ("TokenClassifier", bare | head), ("SentenceEncoder", bare)):
        safetensors.numpy.save_file(weights, folder / f"{module}.safetensors")
        part = {name: value * 2 for name, value in weights.items() if "word_embeddings" not in name}
        safetensors.numpy.save_file(part, folder / f"{module}_part.safetensors")


PYTHON_DATA = '''
import pathlib

import numpy

ARRAYS = pathlib.Path(__file__).parent / "arrays"


def rows(part, scale):
    return list(zip(numpy.load(ARRAYS / f"{part}_input.npy") * numpy.float32(scale), numpy.load(ARRAYS / f"{part}_target.npy")))


def make_dataset(split, scale=1):
    return rows({"predict": "test"}.get(split, split), scale)


def other(split="val", scale=2):
    return rows("train" if split == "train" else "val", scale)
'''


def write_small_data(folder):
    generator = numpy.random.default_rng(7)
    write_idx(folder / "idx", generator)
    write_cifar(folder / "cifar", generator)
    write_images(folder / "images", generator)
    write_masks(folder / "shapes", numpy.random.default_rng(9))
    write_image_lists(folder / "lists")
    write_boxes(folder / "boxes", numpy.random.default_rng(8))
    write_tables(folder / "tables", generator)
    write_columns(folder / "tables")
    write_arrays(folder / "arrays", generator)
    write_shards(folder / "shards", generator)
    (folder / "python_data.py").write_text(PYTHON_DATA)
    write_weights(folder / "weights.safetensors")
    (folder / "text.txt").write_text("".join(random.Random(5).choices("abcdefgh \n", k=700)))
    write_bert(folder / "bert", WORDS)
    write_bert(folder / "odd_bert", WORDS, {"odd_field": 3})
    write_bert_weights(folder)
    write_texts(folder / "texts")
    write_llama(folder / "llama")
    write_llama(folder / "odd_llama", {"odd_field": 3})
    part = safetensors.numpy.load_file(folder / "llama/model.safetensors")
    part.pop("lm_head.weight")
    safetensors.numpy.save_file({name: value * 2 for name, value in part.items()}, folder / "llama_part.safetensors")
    write_resnet(folder / "resnet")
    write_resnet(folder / "odd_resnet", {"odd_field": 3})
    part = safetensors.numpy.load_file(folder / "resnet/model.safetensors")
    part.pop("classifier.1.weight")
    safetensors.numpy.save_file({name: numpy.asarray(value * 2) for name, value in part.items()},
                                folder / "resnet_part.safetensors")
    write_lines(folder / "lines", generator)
