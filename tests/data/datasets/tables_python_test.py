"""pyarrow, h5py and json write tables of random schemas; levin's batches of them are compared with what these read.

usage: tables_python_test.py TOOL FUZZ [SCHEMAS [DAMAGED]]
SCHEMAS and DAMAGED are numbers of tables and of damaged files for each format; LEVIN_MODULES is the folder of levin's modules.
"""

import datetime
import decimal
import gzip
import json
import operator
import os
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy
    import pyarrow
    import pyarrow.parquet
except ImportError as missing:
    print(f"SKIPPED: this Python has no {missing.name}")
    sys.exit(77)
try:
    import h5py
except ImportError:
    h5py = None

TOOL, FUZZ = sys.argv[1:3]
SCHEMAS = int(sys.argv[3]) if len(sys.argv) > 3 else 30
DAMAGED = int(sys.argv[4]) if len(sys.argv) > 4 else 40
TINY = 1e-9  # gigabytes: data are read block by block


class Tool:
    """Runs the tool, which answers a line for each task."""

    def __init__(self):
        self.process = subprocess.Popen([TOOL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, kind, options, **task):
        """The batches, [{field: array}], and the class names; or the text of what is refused."""
        with tempfile.TemporaryDirectory() as out:
            options = {"shuffle": False, "batch_size": 4, "seed": 3, **options}
            self.process.stdin.write(json.dumps({"class": kind, "options": options, "out": out, **task}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
            assert line, f"the tool ended with {self.process.wait()}"
            answer = json.loads(line)
            if isinstance(answer, dict):
                return answer["error"]
            batches = {}
            for path in pathlib.Path(out).iterdir():
                number, name = path.name.split(".", 1)
                batches.setdefault(int(number), {})[name.removesuffix(".npy")] = numpy.load(path)
            self.class_names = answer
            return {number: batches[number] for number in sorted(batches)}


run = Tool()


def refused(text, kind, options, **task):
    answer = run(kind, options, **task)
    assert isinstance(answer, str) and text in answer, (text, answer)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def padded(rows, dtype):
    """Rows of different lengths, filled up with zeros."""
    rows = [numpy.asarray(row, dtype) for row in rows]
    inner = next((row.shape[1:] for row in rows if row.size), rows[0].shape[1:])
    result = numpy.zeros((len(rows), max(len(row) for row in rows)) + inner, dtype)
    for place, row in zip(result, rows):
        if len(row):
            place[: len(row)] = row
    return result


def coded(words):
    """The code of each word, as levin orders them."""
    unique = set(words)
    if all(word.lstrip("-").isdigit() and str(int(word)) == word for word in unique):
        return {word: i for i, word in enumerate(sorted(unique, key=int))}
    return {word: i for i, word in enumerate(sorted(unique, key=lambda word: word.encode()))}


# A column: its Arrow type, its dtype in batches (None: texts), and the shape of its values: [] for one, "list", a number of a
# list of one length; from the outermost in.
NUMBERS = {"int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "uint8": "u1", "uint16": "u2", "uint32": "u4",
           "uint64": "u8", "float16": "f2", "float32": "f4", "float64": "f8", "bool_": "?"}


def draw_shape(draw):
    return draw.choice([[], [], [], ["list"], [3], ["list", 2], [2, 3], ["list", "even"]])


def draw_leaf(draw, kind):
    if kind == "text":
        return draw.choice(["red", "green", "blue", "", "naïve", "two words", "a,b", "x" * 40])
    if kind == "digits":
        return str(draw.randint(-20, 20))
    if kind == "bool_":
        return draw.random() < 0.5
    if kind.startswith("float"):
        return float(numpy.dtype(NUMBERS[kind]).type(draw.choice([draw.gauss(0, 100), 0.0, -0.5, float("inf"), 1e-3])))
    info = numpy.iinfo(NUMBERS[kind])
    return draw.choice([draw.randint(int(info.min), int(info.max)), int(info.max), int(info.min), 1, 7])


def draw_value(draw, kind, shape, even):
    if not shape:
        return draw_leaf(draw, kind)
    length = draw.randint(0, 5) if shape[0] == "list" else even if shape[0] == "even" else shape[0]
    return [draw_value(draw, kind, shape[1:], even) for _ in range(length)]


def zero_of(kind, shape, even):
    if not shape:
        return "" if kind in ("text", "digits") else numpy.zeros((), NUMBERS[kind])[()]
    return [] if shape[0] == "list" else [zero_of(kind, shape[1:], even)] * (even if shape[0] == "even" else shape[0])


def arrow_type(draw, kind, shape):
    if not shape:
        if kind in ("text", "digits"):
            return draw.choice([pyarrow.string(), pyarrow.large_string(), pyarrow.dictionary(pyarrow.int32(), pyarrow.string())])
        return getattr(pyarrow, kind)()
    # Arrow writes lists of dictionaries of no more than one level.
    inner = arrow_type(draw, kind, shape[1:])
    inner = pyarrow.string() if pyarrow.types.is_dictionary(inner) else inner
    if isinstance(shape[0], int):
        return pyarrow.list_(inner, shape[0])
    return draw.choice([pyarrow.list_, pyarrow.large_list])(inner)


class Random:
    """A table of a random schema: names, values, what is missing, and what batches hold."""

    def __init__(self, draw, kinds, shapes=draw_shape, gaps=True):
        self.rows = draw.randint(1, 40)
        self.columns = {"id": ("int64", [], 0, list(range(self.rows)))}
        has_gaps = gaps and draw.random() < 0.5
        for i in range(draw.randint(1, 6)):
            kind, shape, even = draw.choice(kinds), shapes(draw), draw.randint(1, 3)
            values = [draw_value(draw, kind, shape, even) for _ in range(self.rows)]
            if has_gaps:
                values = [None if draw.random() < 0.15 else value for value in values]
            self.columns[f"{draw.choice('abc')}{i}"] = (kind, shape, even, values)
        self.has_gaps = any(value is None for *_, values in self.columns.values() for value in values)
        self.missing = draw.choice(["zero", "drop"]) if self.has_gaps else "error"

    def kept(self, columns=None):
        if self.missing != "drop":
            return list(range(self.rows))
        return [row for row in range(self.rows) if all(values[row] is not None for *_, values in self.columns.values())]

    def filled(self, name):
        kind, shape, even, values = self.columns[name]
        return [zero_of(kind, shape, even) if value is None else value for value in values]

    def expected(self, rows, all_rows):
        """The batch of some rows; vocabularies are those of all rows."""
        batch = {}
        for name, (kind, shape, even, _) in self.columns.items():
            values = self.filled(name)
            dtype = NUMBERS.get(kind)
            if dtype is None:
                words = []
                collect = lambda value: words.append(value) if isinstance(value, str) else [collect(item) for item in value]
                for row in all_rows:
                    collect(values[row])
                codes = coded(words)
                code = lambda value: codes[value] if isinstance(value, str) else [code(item) for item in value]
                values, dtype = {row: code(values[row]) for row in all_rows}, "i8"
            chosen = [values[row] for row in rows]
            batch[name] = padded(chosen, dtype) if shape[:1] == ["list"] else numpy.array(chosen, dtype)
        return batch

    def options(self, draw):
        lists = {name: 0 for name, (_, shape, _, _) in self.columns.items() if shape[:1] == ["list"]}
        return {"missing": self.missing, "pad": lists, "memory_gb": draw.choice([4, TINY]), "batch_size": draw.randint(1, 9)}


def is_as_expected(batch, expected):
    assert batch.keys() == expected.keys(), (batch.keys(), expected.keys())
    for name, value in expected.items():
        own = batch[name]
        # Of lists that are all empty the inner ones have no length.
        if own.size == 0 and value.size == 0 and own.dtype == value.dtype and len(own) == len(value):
            continue
        assert same(own, value), (name, own, value)


def check(draw, kind, table, options):
    """Batches in order, in a drawn one, of several ranks, and after a resume are those that are expected."""
    options = {**table.options(draw), **options}
    kept = table.kept()
    if not kept:
        return refused("no row is left", kind, options)
    whole = run(kind, options)
    assert not isinstance(whole, str), whole
    seen = []
    for batch in whole.values():
        rows = kept[len(seen): len(seen) + len(batch["id"])]
        is_as_expected(batch, table.expected(rows, kept))
        seen += rows
    assert seen == kept
    world = draw.randint(1, 3)
    shuffled = {**options, "shuffle": True, "batch_size": draw.randint(1, 4)}
    epoch = draw.randint(0, 5)
    ranks = [run(kind, shuffled, rank=rank, world=world, epoch=epoch) for rank in range(world)]
    alone = run(kind, {**shuffled, "batch_size": shuffled["batch_size"]}, epoch=epoch) if world == 1 else None
    seen = []
    for rank in ranks:
        for batch in rank.values():
            rows = [int(number) for number in batch["id"]]
            is_as_expected(batch, table.expected(rows, kept))
            seen += rows
    assert sorted(seen) == kept, (sorted(seen), kept)
    # Rounds of ranks are the batches of one rank whose batch is as large as a round.
    as_one = run(kind, {**shuffled, "memory_gb": 4, "batch_size": shuffled["batch_size"] * world}, epoch=epoch)
    if options["memory_gb"] == 4:
        rounds = [int(n) for number in ranks[0] for rank in ranks if number in rank for n in rank[number]["id"]]
        assert rounds == [int(n) for batch in as_one.values() for n in batch["id"]]
    assert alone is None or all(same(alone[i][name], ranks[0][i][name]) for i in alone for name in alone[i])
    skip = draw.randint(1, len(ranks[0]))
    resumed = run(kind, shuffled, rank=0, world=world, epoch=epoch, skip=skip)
    assert list(resumed) == list(ranks[0])[skip:]
    for number, batch in resumed.items():
        is_as_expected(batch, ranks[0][number])


def write_parquet(draw, table, path):
    fields, arrays = [], []
    for name, (kind, shape, _, values) in table.columns.items():
        fields.append(pyarrow.field(name, arrow_type(draw, kind, shape)))
        half = lambda value: (None if value is None else [half(item) for item in value] if isinstance(value, list)
                              else numpy.float16(value))
        arrays.append(pyarrow.array([half(v) for v in values] if kind == "float16" else values, fields[-1].type))
    written = pyarrow.table(arrays, schema=pyarrow.schema(fields))
    pyarrow.parquet.write_table(written, path, row_group_size=draw.randint(1, table.rows), compression=draw.choice(
        ["none", "snappy", "zstd", "gzip"]), use_dictionary=draw.random() < 0.5, data_page_version=draw.choice(["1.0", "2.0"]),
        data_page_size=draw.choice([64, 1 << 20]), write_statistics=draw.random() < 0.5)
    try:
        return pyarrow.parquet.read_table(path)
    except pyarrow.ArrowInvalid:  # some nested lists of one length it writes, and cannot read
        return None


def parquet(folder, draw):
    for _ in range(SCHEMAS):
        table = Random(draw, [*NUMBERS, "text", "digits"])
        path = folder / "table.parquet"
        read = write_parquet(draw, table, path)
        if read is None:
            refused("table.parquet: ", "Parquet", {"files": [str(path)]})
            continue
        for name, (kind, *_, values) in table.columns.items():  # what is compared with is what pyarrow reads
            assert [str(v) for v in read[name].to_pylist()] == [str(v) for v in values] or kind == "float16", name
        check(draw, "Parquet", table, {"files": [str(path)]})


def hdf5(folder, draw):
    if h5py is None:
        return print("h5py is not there")
    shapes = lambda draw: draw.choice([[], [], [3], [2, 3], ["list"]])
    for _ in range(SCHEMAS):
        table = Random(draw, [*NUMBERS, "text"], shapes, gaps=False)
        path = folder / "table.h5"
        with h5py.File(path, "w") as file:
            for name, (kind, shape, even, values) in list(table.columns.items()):
                if kind in ("text", "digits") and shape[:1] == ["list"] or (kind == "bool_" and shape[:1] == ["list"]):
                    table.columns.pop(name)
                    continue
                options = {}
                if draw.random() < 0.6:
                    options = {"chunks": (draw.randint(1, table.rows), *shape) if "list" not in shape else (min(3, table.rows),),
                               "compression": draw.choice(["gzip", None]), "shuffle": draw.random() < 0.5}
                if kind == "text":
                    sized = max(1, max(len(item.encode()) for item in numpy.array(values, "O").ravel()))
                    dtype = draw.choice([h5py.string_dtype(), h5py.string_dtype("utf-8", sized)])
                    encode = lambda value: value.encode() if isinstance(value, str) else [encode(item) for item in value]
                    data = numpy.array([encode(value) for value in values], "O" if dtype.kind == "O" else dtype)
                elif shape == ["list"]:
                    dtype = h5py.vlen_dtype(numpy.dtype(NUMBERS[kind]))
                    data = numpy.empty(len(values), "O")
                    for i, value in enumerate(values):
                        data[i] = numpy.array(value, NUMBERS[kind])
                else:
                    dtype = numpy.dtype(NUMBERS[kind])
                    if draw.random() < 0.3 and kind != "float16":
                        dtype = dtype.newbyteorder(">")
                    data = numpy.array(values, NUMBERS[kind])
                if dtype.kind == "O":
                    options.pop("compression", None), options.pop("shuffle", None)
                file.create_dataset(name, data=data, dtype=dtype, **options)
        check(draw, "Hdf5", table, {"files": [str(path)]})


def large(folder, draw):
    """HDF5 in several blocks: numbers that are mapped, behind a block of the user's own, and compressed ones, which several
    processes read."""
    if h5py is None:
        return
    generator = numpy.random.default_rng(draw.randrange(1 << 30))
    rows = 70_000
    data = {"mapped": generator.integers(0, 256, (rows, 1000), "u1"), "odd": generator.integers(0, 9, rows, "u1"),
            "behind": generator.normal(size=rows), "gzip": generator.integers(0, 9, (rows, 8, 2), "i4")}
    path = folder / "large.h5"
    with h5py.File(path, "w", userblock_size=512) as file:
        for name in ("mapped", "odd", "behind"):
            file[name] = data[name][:-1] if name == "odd" else data[name]
        file.create_dataset("gzip", data=data["gzip"], chunks=(512, 8, 2), compression=1)
    options = {"files": [str(path)], "fields": {name: name for name in ("mapped", "behind", "gzip")}, "batch_size": 30_000}
    for memory in (TINY, 4):
        batches = run("Hdf5", {**options, "memory_gb": memory})
        assert isinstance(batches, dict), batches
        for name in options["fields"]:
            assert same(numpy.concatenate([batch[name] for batch in batches.values()]), data[name]), (name, memory)


def read_by_children():
    """The bytes that the processes which the tool has started have read."""
    pids = pathlib.Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children").read_text().split()
    return sum(int(pathlib.Path(f"/proc/{pid}/io").read_text().split()[1]) for pid in pids)


def chunks(folder, draw):
    """HDF5 in chunks that are not compressed: this process copies those that hold whole rows, and the library reads the others."""
    if h5py is None:
        return
    generator = numpy.random.default_rng(draw.randrange(1 << 30))
    rows = 80_001
    data = {"single": generator.normal(size=rows), "rows": generator.integers(0, 256, (rows, 900), "u1"),
            "half": generator.normal(size=(rows, 2)).astype("f2")}
    others = {"divided": generator.integers(0, 9, (rows, 8, 2), "i4"), "absent": generator.integers(0, 9, rows),
              "swapped": generator.integers(0, 9, rows).astype(">i4")}
    shapes = {"single": (777,), "rows": (123, 900), "half": (rows + 5, 2), "divided": (999, 3, 2), "absent": (1000,), "swapped": (1000,)}
    with h5py.File(folder / "plain.h5", "w") as plain, h5py.File(folder / "others.h5", "w") as other, \
            h5py.File(folder / "block.h5", "w", userblock_size=1024) as behind:
        for name, values in (data | others).items():
            for file in (plain, behind) if name in data else (other,):
                file.create_dataset(name, (0, *values.shape[1:]), values.dtype, chunks=shapes[name], maxshape=(None, *values.shape[1:]), fillvalue=7)
        for begin in range(0, rows, 5000):  # so that chunks of one data set lie between those of another
            for file in (plain, behind, other):
                for name, column in file.items():
                    column.resize(min(rows, begin + 5000), 0)
                    if name != "absent" or begin != 20_000:
                        column[begin:] = (data | others)[name][begin:begin + 5000]
        others["absent"] = other["absent"][:]
        others["swapped"] = others["swapped"].astype("i4")
    try:
        before = read_by_children()
    except OSError:  # this system does not count
        before = None
    for name, expected in (("plain", data), ("others", others), ("block", data)):
        options = {"files": [str(folder / f"{name}.h5")], "fields": {name: name for name in expected}, "batch_size": 30_000}
        for memory in (TINY, 4):
            batches = run("Hdf5", {**options, "memory_gb": memory})
            assert isinstance(batches, dict), batches
            for field, values in expected.items():
                assert same(numpy.concatenate([batch[field] for batch in batches.values()]), values), (name, field, memory)
        if name == "plain" and before is not None:
            assert read_by_children() - before < 5_000_000 < sum(values.nbytes for values in data.values()), read_by_children() - before


def json_lines(folder, draw):
    shapes = lambda draw: draw.choice([[], [], ["list"], ["list", "even"]])
    for _ in range(SCHEMAS):
        table = Random(draw, ["int64", "float64", "bool_", "text", "digits"], shapes)
        for name, (kind, shape, even, values) in table.columns.items():
            if kind == "float64":  # JSON has no infinities, and tells a float by its point
                finite = lambda v: v if v is None else [finite(i) for i in v] if isinstance(v, list) else (v if abs(v) < 1e300 else 0.5)
                values[:] = [finite(value) for value in values]
        lines = []
        for row in range(table.rows):
            line = {name: values[row] for name, (*_, values) in table.columns.items()
                    if values[row] is not None or draw.random() < 0.5}
            lines.append(json.dumps(line, ensure_ascii=draw.random() < 0.5) + draw.choice(["\n", "\r\n", "\n\n"]))
        text = "".join(lines).encode()
        path = folder / draw.choice(["table.jsonl", "table.jsonl.gz"])
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
        empty = [name for name, (kind, *_, values) in table.columns.items() if all(value in (None, []) for value in values)]
        never = [name for name in empty if not any(f'"{name}":' in line for line in lines)]
        for name in empty:
            # Nothing tells its type: float64, if it is there at all.
            kind, shape, even, values = table.columns.pop(name)
            if name not in never and table.missing != "drop":
                continue
        options = {"files": [str(path)], "fields": {name: name for name in table.columns}}
        if table.missing == "error" and any(None in values for *_, values in table.columns.values()):
            continue
        check(draw, "JsonLines", table, options)


def fields(folder, draw):
    """Fields of several columns, targets, standardized input, conditions, shares, several files, and what is refused."""
    rows = 60
    generator = numpy.random.default_rng(4)
    numbers = generator.normal(5, 3, (rows, 3))
    data = {"x0": numbers[:, 0], "x1": numbers[:, 1].astype("f4"), "x2": [None if i % 7 == 3 else float(v) for i, v in
            enumerate(numbers[:, 2])], "label": [("cat", "dog", "owl")[i % 3] for i in range(rows)], "year": 2000 + numpy.arange(rows),
            "color": [("red", "blue")[i % 2] for i in range(rows)], "big": 2**53 + numpy.arange(rows)}
    table = pyarrow.table(data)
    (folder / "days").mkdir()
    for part in range(3):
        pyarrow.parquet.write_table(table.slice(part * 20, 20), folder / "days" / f"{part}.parquet", row_group_size=7)
    names = {"input": "x*", "target": "label", "when": "year,big", "color": "color"}
    filled = numpy.where(numpy.array([value is None for value in data["x2"]]), 0, numbers[:, 2])
    stacked = numpy.stack([numbers[:, 0], numbers[:, 1].astype("f4"), filled], 1)
    for memory in (4, TINY):
        base = {"files": [str(folder / "days")], "fields": names, "missing": "zero", "batch_size": 60, "memory_gb": memory}
        (batch,) = run("Parquet", base).values()
        assert run.class_names == ["cat", "dog", "owl"]
        assert same(batch["input"], stacked.astype("f4")) and same(batch["target"], numpy.arange(rows) % 3)
        assert same(batch["when"], numpy.stack([data["year"], data["big"]], 1)) and same(batch["color"], 1 - numpy.arange(rows) % 2)
        known = numpy.where(numpy.array([value is None for value in data["x2"]]), numpy.nan, numbers[:, 2])
        columns = numpy.stack([numbers[:, 0], numbers[:, 1].astype("f4").astype("f8"), known], 1)
        mean, deviation = numpy.nanmean(columns, 0), numpy.nanstd(columns, 0)
        (scaled,) = run("Parquet", {**base, "missing": "mean", "standardize": True}).values()
        wanted = (numpy.where(numpy.isnan(columns), mean, columns) - mean) / deviation
        assert numpy.allclose(scaled["input"], wanted, 1e-6, 1e-6)
        for where, chosen in ((["year >= 2020", "label == cat"], [i for i in range(20, rows) if i % 3 == 0]),
                              (["color != 'red'"], list(range(1, rows, 2))), (["x2 > -1e9"], [i for i in range(rows) if i % 7 != 3]),
                              ([f"big = {2**53 + 1}"], [1]), (["year < 2002.5"], [0, 1, 2])):
            (batch,) = run("Parquet", {**base, "where": where}).values()
            assert same(batch["when"][:, 0], 2000 + numpy.array(chosen)), where
        refused("no row is left", "Parquet", {**base, "where": ["year > 3000"]})
        dropped = run("Parquet", {**base, "missing": "drop", "fields": {"year": "year", "x2": "x2"}})[0]
        assert same(dropped["year"], numpy.array([2000 + i for i in range(rows) if i % 7 != 3]))
        whole = run("Parquet", {**base, "val_fraction": 0.3, "batch_size": 7})
        held_out = run("Parquet", {**base, "val_fraction": 0.3, "batch_size": 7}, split="val")
        years = [[int(year) for batch in part.values() for year in batch["when"][:, 0]] for part in (whole, held_out)]
        assert len(years[1]) == 18 and sorted(years[0] + years[1]) == list(range(2000, 2060))
        assert same(run("Parquet", {**base, "dtypes": {"when": "float64", "input": "float64"}})[0]["when"],
                    numpy.stack([data["year"], data["big"]], 1).astype("f8"))
        refused("lacks a value; set --data.missing", "Parquet", {**base, "missing": "error"})
        refused("1.parquet: row group 0, row 4: column 'x2'", "Parquet", {**base, "missing": "error", "fields": {"x": "x2"},
                                                                        "files": [str(folder / "days" / "1.parquet")]})
        new = pyarrow.table({**{name: data[name][:2] for name in data}, "label": ["cat", "fox"]})
        pyarrow.parquet.write_table(new, folder / "new.parquet")
        refused("'fox' does not occur in the training data", "Parquet", {**base, "val_files": [str(folder / "new.parquet")]},
                split="val")
        predict = run("Parquet", {**base, "test_files": [str(folder / "new.parquet")]}, split="predict")
        assert predict[0].keys() == {"input", "when", "color"}
    refused("there is no column 'lable' for 'target' (did you mean label?)", "Parquet", {**base, "fields": {"target": "lable"}})
    refused("there is no column 'yaer'", "Parquet", {**base, "where": ["yaer > 1"]})
    refused("is no condition", "Parquet", {**base, "where": ["year"]})
    refused("'x' is none", "Parquet", {**base, "where": ["year > x"]})
    refused("columns of numbers and columns of texts", "Parquet", {**base, "fields": {"a": "year,label"}})
    (folder / "empty").mkdir()
    refused("has no files that end with .parquet, .pq", "Parquet", {**base, "files": [str(folder / "empty")]})
    refused("larger than data.memory_gb", "Parquet", {**base, "shuffle": True, "group_by_length": "color", "memory_gb": TINY})
    refused("'color' is no field whose rows have different lengths", "Parquet", {**base, "shuffle": True, "group_by_length": "color",
                                                                                 "memory_gb": 4})


def types(folder, draw):
    """Dates, decimals, structs, gaps inside of lists, and files that differ."""
    path = folder / "types.parquet"
    days = [datetime.date(2020, 1, 1 + i) for i in range(4)]
    columns = {"day": pyarrow.array(days), "price": pyarrow.array([decimal.Decimal(f"-{i}.25") for i in range(4)], pyarrow.decimal128(20, 3)),
               "time": pyarrow.array([1, 2, 3, 4], pyarrow.timestamp("us", tz="UTC"))}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    (batch,) = run("Parquet", {"files": [str(path)]}).values()
    assert same(batch["day"], columns["day"].cast(pyarrow.int32()).to_numpy()) and same(batch["time"], numpy.arange(1, 5))
    assert same(batch["price"], numpy.array([0.0, -1.25, -2.25, -3.25]) - [0.25, 0, 0, 0])
    pyarrow.parquet.write_table(pyarrow.table({"s": pyarrow.array([{"a": 1}]), "n": [1]}), path)
    refused("column 's' holds neither numbers, bools, texts nor lists of these", "Parquet", {"files": [str(path)]})
    assert same(run("Parquet", {"files": [str(path)], "fields": {"n": "n"}})[0]["n"], numpy.array([1]))
    lists = pyarrow.table({"a": pyarrow.array([[1, None, 3], [4]], pyarrow.list_(pyarrow.int32()))})
    pyarrow.parquet.write_table(lists, path)
    refused("row group 0, row 0: column 'a' lacks a value", "Parquet", {"files": [str(path)], "pad": {"a": 0}})
    zero = run("Parquet", {"files": [str(path)], "pad": {"a": 0}, "missing": "zero"})[0]
    assert same(zero["a"], numpy.array([[1, 0, 3], [4, 0, 0]], "i4"))
    pyarrow.parquet.write_table(pyarrow.table({"a": [[[1], [2, 3]]]}), path)
    refused("row group 0: column 'a': its inner lists have 1 and 2 values", "Parquet", {"files": [str(path)]})
    for i, kind in enumerate((pyarrow.int32(), pyarrow.int64())):
        pyarrow.parquet.write_table(pyarrow.table({"a": pyarrow.array([1, 2], kind)}), folder / f"{i}.parquet")
    refused("column 'a' holds Long, and Int at the beginning", "Parquet", {"files": [str(folder / "{0,1}.parquet")], "batch_size": 1})
    path.write_bytes(b"no Parquet")
    refused("types.parquet: ", "Parquet", {"files": [str(path)]})
    (folder / "a.jsonl").write_text('{"a": 1, "b": [1, 2]}\n{"a": "x", "b": [[1]]}\n')
    refused("a.jsonl: line 2: field 'a' is \"x\", and whole numbers before", "JsonLines", {"files": [str(folder / "a.jsonl")]})
    refused("a.jsonl: line 2: field 'b'", "JsonLines", {"files": [str(folder / "a.jsonl")], "fields": {"b": "b"}})
    (folder / "a.jsonl").write_text('{"a": 1}\n' * 20000 + '{"a": 1.5}\n')
    refused("line 20001: field 'a' is 1.5, and the first lines have whole numbers", "JsonLines", {"files": [str(folder / "a.jsonl")]})
    floats = run("JsonLines", {"files": [str(folder / "a.jsonl")], "dtypes": {"a": "float32"}, "batch_size": 30000})[0]
    assert floats["a"].dtype == "f4" and floats["a"][-1] == 1.5
    (folder / "a.jsonl").write_text('{"a": 1}\n{"a": 2\n')
    refused("a.jsonl: line 2: is no JSON", "JsonLines", {"files": [str(folder / "a.jsonl")]})


def numbers_of_other_types(folder, draw):
    """A value that a type lacks is refused, also where the type of the file has as many bits, and gives back what was wrapped."""
    path = folder / "wide.parquet"
    for kind, dtype, value in (("uint16", "int16", 2**15), ("int8", "uint8", -1), ("uint32", "int32", 2**32 - 1),
                               ("uint64", "int64", 2**63), ("int64", "int32", 2**31), ("float64", "uint8", -1.0),
                               ("float64", "float32", 1e39), ("float32", "float16", 1e30), ("int64", "float16", 10**5)):
        for good in (True, False):
            pyarrow.parquet.write_table(pyarrow.table({"x": pyarrow.array([1, 2 if good else value], kind)}), path)
            options = {"files": [str(path)], "dtypes": {"x": dtype}}
            if not good:
                refused("data.dtypes: 'x' holds", "Parquet", options)
                continue
            (batch,) = run("Parquet", options).values()
            assert same(batch["x"], numpy.array([1, 2], dtype)), batch
    pyarrow.parquet.write_table(pyarrow.table({"target": pyarrow.array([1, 2**63], "uint64")}), path)
    refused("data.dtypes: 'target' holds", "Parquet", {"files": [str(path)]})
    (batch,) = run("Parquet", {"files": [str(path)], "dtypes": {"target": "float64"}}).values()
    assert same(batch["target"], numpy.array([1, 2**63], "f8")), batch


def columns_of_one_name(folder, draw):
    """Of two columns of one name none is meant, unless no field takes them."""
    path = folder / "twice.parquet"
    columns = [pyarrow.array([1.0, 3.0]), pyarrow.array([2.0, 4.0]), pyarrow.array([0, 1])]
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(columns, names=["x", "x", "y"]), path)
    for options in ({}, {"fields": {"input": "x"}}, {"fields": {"input": "x*"}}, {"fields": {"input": "y,x"}}):
        refused("two columns have the name 'x'", "Parquet", {"files": [str(path)], **options})
    (batch,) = run("Parquet", {"files": [str(path)], "fields": {"input": "y"}}).values()
    assert batch["input"].tolist() == [[0], [1]], batch


def statistics(folder, draw):
    """Row groups that the option where excludes by their statistics are not read: they are damaged, and nobody notices."""
    rows, size = 400, 20
    lacks = [draw.random() < 0.2 for _ in range(rows)]
    columns = {
        "whole": pyarrow.array([None if gap else i // 3 - 40 for i, gap in enumerate(lacks)], "int32"),
        "large": pyarrow.array([2**63 + i for i in range(rows)], "uint64"),
        "unsigned": pyarrow.array([2**31 - 200 + i for i in range(rows)], "uint32"),
        "real": pyarrow.array([float("nan") if gap else i / 7 for i, gap in enumerate(lacks)], "float32"),
        "flag": pyarrow.array([i >= 200 for i in range(rows)]),
        "word": pyarrow.array([f"w{i // 30:02}" for i in range(rows)]),
        "mixed": pyarrow.array([draw.randrange(30) for _ in range(rows)], "int8"),
        "time": pyarrow.array([i * 1000 for i in range(rows)], pyarrow.timestamp("s")),
    }
    table = pyarrow.table({"row": range(rows), **columns})
    values = {name: columns[name].to_pylist() for name in columns}
    compared = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
    skipped = 0
    for number in range(60):
        names = draw.sample([name for name in columns if name != "time"], draw.choice((1, 1, 2)))
        where, keep, may_be = [], [True] * rows, [True] * (rows // size)
        for name in names:
            there = [value for value in values[name] if value is not None and value == value]
            sign, value = draw.choice(list(compared)), draw.choice(there)
            where.append(f"{name} {sign} {str(value).lower() if name == 'flag' else repr(value) if name == 'real' else value}")
            for i, own in enumerate(values[name]):
                keep[i] = keep[i] and own is not None and own == own and compared[sign](own, value)
            for group in range(rows // size):
                own = [one for one in values[name][group * size:(group + 1) * size] if one is not None and one == one]
                least, most = min(own), max(own)
                may_be[group] = may_be[group] and {"==": least <= value <= most, "!=": True, "<": least < value, "<=": least <= value,
                                                   ">": most > value, ">=": most >= value}[sign]
        path = folder / f"{number}.parquet"
        pyarrow.parquet.write_table(table, path, row_group_size=size, compression="none")
        metadata, content = pyarrow.parquet.ParquetFile(path).metadata, bytearray(path.read_bytes())
        for group in range(1, rows // size):  # the types are learnt from the first
            if not may_be[group]:
                skipped += 1
                for column in range(metadata.num_columns):
                    chunk = metadata.row_group(group).column(column)
                    begin = chunk.dictionary_page_offset or chunk.data_page_offset
                    content[begin:begin + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
        path.write_bytes(content)
        options = {"files": [str(path)], "fields": {"input": "row", "word": "word"}, "where": where, "missing": "zero", "batch_size": rows}
        for memory in (1, 1e-6):  # held whole, or read block by block
            batches = run("Parquet", {**options, "memory_gb": memory})
            if not any(keep):
                assert "no row is left" in batches, (where, batches)
                continue
            assert isinstance(batches, dict), (where, batches)
            found = numpy.sort(numpy.concatenate([batch["input"].ravel() for batch in batches.values()]))
            assert found.astype("i8").tolist() == [i for i in range(rows) if keep[i]], (where, memory)
    assert skipped > 100, skipped


def groups(folder, draw):
    """Groups and paths of HDF5 files; what lies elsewhere is refused."""
    if h5py is None:
        return
    path = folder / "data.h5"
    with h5py.File(path, "w") as file:
        for part, rows in (("train", 10), ("val", 4)):
            file[f"{part}/x"] = numpy.arange(rows * 2, dtype="f4").reshape(rows, 2)
            file[f"{part}/deep/y"] = numpy.arange(rows) % 3
        file["version"] = 3
        file.create_dataset("pairs", data=numpy.zeros(3, [("a", "i4"), ("b", "f4")]))
    fields = {"input": "x", "target": "deep/y"}
    options = {"files": [f"{path}:train"], "val_files": [f"{path}:val"], "fields": fields, "batch_size": 20}
    (train,), (val,) = run("Hdf5", options).values(), run("Hdf5", options, split="val").values()
    assert same(train["input"], numpy.arange(20, dtype="f4").reshape(10, 2)) and same(train["target"], numpy.arange(10) % 3)
    assert len(val["input"]) == 4
    refused("samples, and", "Hdf5", {"files": [str(path)], "fields": {"a": "train/x", "b": "val/x"}})
    refused("has no group '/tarin'", "Hdf5", {"files": [f"{path}:tarin"]})
    refused("column 'pairs' holds neither", "Hdf5", {"files": [str(path)], "fields": {"a": "pairs"}})
    with h5py.File(folder / "links.h5", "w") as file:
        file["x"] = h5py.ExternalLink("data.h5", "train/x")
        file.create_dataset("far", (4,), "u1", external=[("secret.bin", 0, 4)])
    (folder / "secret.bin").write_bytes(b"1234")
    with h5py.File(folder / "lzf.h5", "w") as file:
        file.create_dataset("x", data=numpy.zeros(99), compression="lzf")
    refused("is compressed by 'lzf' (filter 32000)", "Hdf5", {"files": [str(folder / "lzf.h5")]})
    refused("lie in other files", "Hdf5", {"files": [str(folder / "links.h5")]})


def damaged(folder, draw):
    """A damaged file is refused, or read, and never anything else."""
    generator = numpy.random.default_rng(1)
    small = pyarrow.table({"x": generator.normal(size=50), "ids": [list(range(i % 5)) for i in range(50)],
                           "text": [f"t{i % 4}" for i in range(50)], "flag": [i % 2 == 0 for i in range(50)]})
    seeds = {}
    for number, options in enumerate(({"compression": "none"}, {"compression": "snappy", "row_group_size": 20},
                                      {"use_dictionary": False, "data_page_version": "2.0"})):
        pyarrow.parquet.write_table(small, folder / f"seed{number}.parquet", **options)
        seeds[folder / f"seed{number}.parquet"] = "Parquet"
    (folder / "seed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in small.to_pylist()))
    seeds[folder / "seed.jsonl"] = "JsonLines"
    if h5py is not None:
        with h5py.File(folder / "seed.h5", "w") as file:
            file["x"] = small["x"].to_numpy()
            file.create_dataset("y", data=numpy.arange(150, dtype="i2").reshape(50, 3), chunks=(9, 3), compression="gzip")
            file.create_dataset("z", data=numpy.arange(100, dtype="i4").reshape(50, 2), chunks=(8, 2))
            file.create_dataset("t", data=numpy.array(small["text"].to_pylist(), "O"), dtype=h5py.string_dtype())
            file.create_dataset("f", data=[i % 2 == 0 for i in range(50)])
        seeds[folder / "seed.h5"] = "Hdf5"
    for path, kind in seeds.items():
        seed = str(draw.randrange(1 << 30))
        done = subprocess.run([FUZZ, kind, path, str(DAMAGED), seed], cwd=folder, capture_output=True, text=True, errors="replace")
        kept = os.environ.get("LEVIN_KEEP_DAMAGED")
        if done.returncode != 0 and kept and (folder / "damaged.bin").exists():
            pathlib.Path(kept, f"{path.name}.{seed}").write_bytes((folder / "damaged.bin").read_bytes())
        assert done.returncode == 0, (path.name, seed, done.returncode, done.stderr[-2000:])
        print(path.name, done.stdout.strip())


wanted = os.environ.get("LEVIN_TABLES_PARTS", "").split()
for part in (fields, types, numbers_of_other_types, columns_of_one_name, statistics, groups, parquet, hdf5, large, chunks, json_lines, damaged):
    if wanted and part.__name__ not in wanted:
        continue
    with tempfile.TemporaryDirectory() as scratch:
        part(pathlib.Path(scratch), random.Random(int(os.environ.get("LEVIN_SEED", 1))))
        print(part.__name__, "is as it should be", flush=True)
