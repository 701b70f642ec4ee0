"""Data sets of Python feed levin as they feed torch's DataLoader: each sample once, with the same bits.

usage: python_dataset_test.py TOOL [PART OF A TEST'S NAME]
"""

import random
import sys
import tempfile

from python_dataset_runs import HERE, SEED, check, in_order, pair, refused, run, run_tests, same

import numpy  # noqa: I001
import torch

import python_data_sets as sets

sys.path.insert(0, str(HERE.parents[2] / "data/python/host"))
from random_numbers import RANDOM_WORDS, generator_marks, seed_generators, seed_of  # noqa: E402


class Seeded(torch.utils.data.Dataset):
    """A data set whose generators are seeded before each sample by the rule that docs/python_data.md tells."""

    def __init__(self, data, epoch):
        self.data, self.epoch = data, epoch

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        seed_generators(seed_of(SEED, self.epoch, index))
        return self.data[index]


def loader_batches(data, epoch, batches, workers=0):
    loader = torch.utils.data.DataLoader(Seeded(data, epoch), batch_sampler=batches, num_workers=workers)
    return [pair(batch) for batch in loader]


def test_augmentations():
    images = sets.images()
    for workers in (1, 3):
        jobs = [{"epoch": 2}, {"rank": 0, "world": 2}, {"rank": 1, "world": 2}, {"skip": 2, "epoch": 1},
                {"skip": 1, "epoch": 1, "first_rank": 1, "first_world": 2}]
        whole, first, second, resumed, fewer_ranks = run("images", *jobs, num_workers=workers)
        check(whole, loader_batches(images, 2, in_order(23), workers))
        check(first, loader_batches(images, 0, in_order(23, 0, 2)))
        check(second, loader_batches(images, 0, in_order(23, 1, 2)))
        expected = loader_batches(images, 1, in_order(23))
        check(resumed, expected[2:])
        check(fewer_ranks, expected[2:])


def test_shuffle():
    epochs = run("rows", {"epoch": 0}, {"epoch": 1}, {"epoch": 1, "skip": 3}, shuffle=True, num_workers=2, fields=["x", "y"])
    data = sets.rows()
    places = {value.tobytes(): index for index, value in enumerate(data.x)}
    orders = [[[places[row.numpy().tobytes()] for row in batch["fields"]["x"]] for batch in epoch] for epoch in epochs]
    assert orders[2] == orders[1][3:] and orders[0] != orders[1]
    for order in orders[:2]:
        assert sorted(sum(order, [])) == list(range(23)) and sum(order, []) != list(range(23))
    expected = [torch.utils.data.default_collate([data[index] for index in batch]) for batch in orders[0]]
    check(epochs[0], [dict(zip("xy", batch)) for batch in expected])


def test_resume_within_what_was_made_ahead():
    images = sets.images()
    expected = loader_batches(images, 1, in_order(23))
    for resumed, skip in zip(run("images", *({"epoch": 1, "skip": skip} for skip in range(1, 6)), num_workers=0), range(1, 6)):
        check(resumed, expected[skip:])
    assert "more than cores" not in run.err, run.err  # several threads wait for the one process


def test_layouts_that_change():
    data = sets.Changing()
    expected = [flat(torch.utils.data.default_collate([data[index] for index in batch]), "") for batch in in_order(23)]
    for workers in (0, 2):
        (batches,) = run("Changing", num_workers=workers)
        check(batches, expected)


def test_marks():
    """Each draw changes a generator's mark, also one of as many numbers as it has words; nothing else does."""
    gauss = [lambda: random.gauss(0, 1)] * 2  # the second takes what is left of a pair
    draws = {"random": [random.random, lambda: random.getrandbits(32 * 624), *gauss],
             "numpy": [numpy.random.random, lambda: numpy.random.randint(0, 2**32, 624, numpy.uint32)],
             "torch": [lambda: torch.rand(()), lambda: torch.randint(0, 2**31, (624,))]}
    assert RANDOM_WORDS is not None or sys.implementation.name != "cpython"
    before = generator_marks()
    for name, own in draws.items():
        for draw in own:
            assert generator_marks() == before
            draw()
            after = generator_marks()
            assert {other for other in draws if after[other] != before[other]} == {name}, (name, before, after)
            before = after
    assert set(generator_marks(but={"numpy"})) == {"random", "torch"}


def text_fields(name, values):
    rows = [value if isinstance(value, bytes) else value.encode() for value in values]
    longest = max(map(len, rows))
    table = [list(row.ljust(longest, b"\0")) for row in rows]
    return {name: torch.tensor(table, dtype=torch.uint8).reshape(len(rows), longest),
            f"{name}_lengths": torch.tensor(list(map(len, rows)))}


def flat(value, name):
    """What torch's default_collate has made, by name."""
    if isinstance(value, torch.Tensor):
        return {name: value.detach()}
    if isinstance(value, dict):
        return {key: leaf for part in value for key, leaf in flat(value[part], f"{name}.{part}" if name else part).items()}
    if isinstance(value[0], (str, bytes)):
        return text_fields(name, value)
    keys = getattr(value, "_fields", range(len(value)))
    return {key: leaf for part, item in zip(keys, value) for key, leaf in flat(item, f"{name}.{part}").items()}


def test_kinds_of_values():
    samples = [{**sample, "big": sample["big"].astype("int32")} for sample in sets.kinds()]
    (batches,) = run("kinds", num_workers=2)
    check(batches, [flat(torch.utils.data.default_collate([samples[index] for index in batch]), "") for batch in in_order(23)])


def test_without_numpy_and_torch():
    (batches,) = run("plain", drop_last=True, fields=["x", "label", "text"])
    data = sets.plain()
    expected = [[data[index] for index in batch] for batch in in_order(23)[:-1]]
    check(batches, [{"x": torch.tensor([x for x, _, _ in batch], dtype=torch.float64),
                     "label": torch.tensor([label for _, label, _ in batch]),
                     **text_fields("text", [text for _, _, text in batch])} for batch in expected])
    refused("plain", "data.fields names 2 parts (x, label), and there are 3", fields=["x", "label"])


def counted(data, epoch, *salt):
    seed_generators(seed_of(SEED, epoch, *salt))
    return list(data)


def test_iterables():
    jobs = [{"epoch": 1}, {"epoch": 1, "rank": 0, "world": 2}, {"epoch": 1, "rank": 1, "world": 2}, {"epoch": 1, "skip": 2},
            {"epoch": 1, "skip": 1, "first_rank": 1, "first_world": 2}, {"epoch": 1, "rank": 2, "world": 24}]
    samples = counted(sets.Counting(), 1)

    def batches_of(rank, world):
        parts = [[samples[index] for index in batch] for batch in in_order(23, rank, world)]
        return [pair(torch.utils.data.default_collate(part)) for part in parts]

    for has_state in (False, True):
        for workers in (0, 2):
            results = run("counting", *jobs, num_workers=workers, arguments={"has_state": has_state})
            check(results[0], batches_of(0, 1))
            check(results[1], batches_of(0, 2))
            check(results[2], batches_of(1, 2))
            check(results[3], batches_of(0, 1)[2:])
            check(results[4], batches_of(0, 1)[2:])
            check(results[5], batches_of(2, 24))
            assert ("are read again to find the place" in run.err) == (not has_state), run.err
    (dropped,) = run("counting", {"epoch": 1}, drop_last=True)
    check(dropped, batches_of(0, 1)[:-1])
    (few,) = run("counting", {"rank": 22, "world": 24}, batch_size=1)
    assert [batch["absent"] for batch in few] == [False]
    (few,) = run("counting", {"rank": 23, "world": 24}, batch_size=1)
    assert [(batch["absent"], batch["samples"]) for batch in few] == [(True, 0)]
    (drawn,) = run("generator", {"epoch": 4})
    assert torch.equal(torch.cat([batch["fields"]["number"] for batch in drawn]), torch.arange(23))


def test_functions_that_divide():
    for has_state in (False, True):
        for rank in (0, 1):
            (batches, resumed) = run("counting_of_rank", {"rank": rank, "world": 2}, {"rank": rank, "world": 2, "skip": 2},
                                     arguments={"has_state": has_state})
            samples = counted(sets.Counting(first=rank, step=2), 0, rank)
            parts = [[samples[index] for index in batch] for batch in in_order(len(samples))]
            expected = [pair(torch.utils.data.default_collate(part)) for part in parts]
            check(batches, expected)
            check(resumed, expected[2:])
    (batches,) = run("samples_of_rank", {"rank": 1, "world": 2})
    assert torch.equal(torch.cat([batch["fields"]["input"] for batch in batches]), torch.arange(1, 23, 2) * 0.5)


def test_loaders():
    jobs = [{}, {"rank": 1, "world": 2}, {"skip": 2}]
    whole, second, resumed = run("loader", *jobs, num_workers=1)
    seed_generators(seed_of(SEED, 0))
    expected = [pair(batch) for batch in sets.loader()]
    check(whole, expected)
    check(second, expected[1::2])
    check(resumed, expected[2:])
    assert "are read again to find the place" in run.err
    (batches,) = run("detections")
    seed_generators(seed_of(SEED, 0))
    for got, wanted in zip(batches, sets.detections(), strict=True):
        fields = got["fields"]
        assert same(wanted["input"], fields["input"]) and fields["input"].is_contiguous(memory_format=torch.channels_last)
        assert same(wanted["targets"], fields["targets"])
        assert same({**text_fields("names", wanted["names"]), "ids": torch.tensor(wanted["ids"])},
                    {key: fields[key] for key in ("names", "names_lengths", "ids")})
    (batches,) = run("Padded")
    assert torch.equal(torch.cat([batch["fields"]["rows"] for batch in batches])[:, 0], torch.arange(23))


def test_splits():
    with tempfile.TemporaryDirectory() as folder:
        arguments = {"folder": folder}
        train, val = run("Module", {}, {"split": "val"}, arguments=arguments)
        seed_generators(seed_of(SEED, 0))
        check(train, [pair(batch) for batch in sets.loader(0)])
        check(val, [pair(batch) for batch in torch.utils.data.DataLoader(sets.rows(), batch_size=5)])
        assert run("Module", {"split": "test"}, arguments=arguments) == ["none"]
    results = run("by_split", *({"split": split} for split in ("train", "val", "test", "predict")))
    assert results[2] == "none"
    for number, result in enumerate((results[0], results[1], results[3])):
        assert [batch["fields"]["target"].tolist() for batch in result] == [[number] * 4] * 2
    train, val, test = run("plain", {}, {"split": "val"}, {"split": "test"}, val_function="validation")
    assert sum(batch["samples"] for batch in val) == 5 and sum(batch["samples"] for batch in train) == 23 and test == "none"


run_tests(globals())
