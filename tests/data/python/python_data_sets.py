"""Data sets as users of torch, NumPy and Lightning write them, for python_dataset_test.py. Those that need torch import it."""

import collections
import ctypes
import os
import pathlib
import random
import signal
import time

SIZE = 23


def images(size=SIZE):
    """Like a torchvision data set with random augmentations by all generators."""
    import numpy
    import torch

    class Images(torch.utils.data.Dataset):
        classes = ["cat", "dog"]

        def __init__(self):
            self.data = torch.arange(size * 3 * 8 * 8, dtype=torch.float32).reshape(size, 3, 8, 8)

        def __len__(self):
            return size

        def __getitem__(self, index):
            image = self.data[index]
            if random.random() < 0.5:
                image = image.flip(-1)
            top, left = torch.randint(0, 3, (2,)).tolist()
            image = image[:, top:top + 6, left:left + 6] + torch.randn(3, 6, 6)
            return image * numpy.random.uniform(0.5, 1.5), index

    return Images()


def rows(size=SIZE):
    """Like arrays of scikit-learn."""
    import numpy

    class Rows:
        x = numpy.random.default_rng(3).normal(size=(size, 4))
        y = numpy.arange(size) % 3

        def __len__(self):
            return size

        def __getitem__(self, index):
            return self.x[index], self.y[index]

    return Rows()


class Changing:
    """Samples whose shape changes from four to four, and comes back; some batches have two types."""

    def __len__(self):
        return SIZE

    def __getitem__(self, index):
        import numpy
        import torch

        size = 2 + index // 4 % 3
        kind, array_kind = (torch.float64, numpy.float32) if index % 8 == 5 else (torch.float32, numpy.float64)
        return {"tensor": torch.full((size, 3), index / 7, dtype=kind), "array": numpy.full((size,), index / 7, array_kind),
                "name": "x" * (index // 4 % 2)}


Point = collections.namedtuple("Point", "x y")


def kinds():
    """Samples with all that torch's default_collate takes, and texts."""
    import numpy
    import torch

    def sample(index):
        return {
            "image": torch.full((2, 3), index, dtype=torch.bfloat16),
            "flag": torch.tensor(index % 2 == 0),
            "wave": torch.complex(torch.tensor([1.0 * index]), torch.tensor([2.0])),
            "nothing": torch.empty(0, 3),
            "columns": torch.arange(6.0).reshape(2, 3).t() + index,
            "gradient": torch.ones(2, requires_grad=True),
            "half": numpy.full((2,), index, numpy.float16),
            "short": numpy.uint16(index),
            "array_scalar": numpy.float32(index) / 3,
            "big": numpy.arange(3, dtype=">i4") * index,
            "strided": numpy.arange(12).reshape(3, 4)[:, ::2] + index,
            "number": index / 7,
            "count": 2**40 + index,
            "is_odd": index % 2 == 1,
            "name": "äöü" * (index % 4),
            "raw": bytes(range(index % 5)),
            "box": [1.0 * index, (2, 3)],
            "point": Point(index, -1.5 * index),
            "inner": {"a": torch.tensor(index), "b": {"c": "x"}},
        }

    return [sample(index) for index in range(SIZE)]


def plain(size=SIZE):
    """Numbers and texts, without NumPy and torch."""
    return [(index * 0.5, index % 2, "word" * (index % 3)) for index in range(size)]


class Counting:
    """Samples by number; the sequence draws random numbers, and its state is the number of the next sample."""

    def __init__(self, size=SIZE, first=0, step=1, has_state=False):
        self.size, self.first, self.step, self.next = size, first, step, 0
        if has_state:
            self.state_dict = lambda: {"next": self.next, "others": (None, [1.5, True], b"\xff", {2: "two"})}
            self.load_state_dict = self.load

    def load(self, state):
        assert state["others"] == (None, [1.5, True], b"\xff", {2: "two"}), state
        self.next = state["next"]

    def __iter__(self):
        while self.next * self.step + self.first < self.size:
            self.next += 1
            yield (self.next - 1) * self.step + self.first, random.random()


def counting(has_state=False):
    return Counting(has_state=has_state)


def counting_of_rank(rank, world_size, has_state=False):
    return Counting(first=rank, step=world_size, has_state=has_state)


def samples_of_rank(rank, world_size):
    return plain()[rank::world_size]


def generator():
    for index in range(SIZE):
        yield {"number": index, "drawn": random.random()}


def loader(num_workers=2):
    import torch

    return torch.utils.data.DataLoader(images(), batch_size=4, shuffle=True, num_workers=num_workers)


def detections():
    """A loader whose batches are in channels_last, and have a list with one dict for each image."""
    import torch

    def collate(samples):
        return {"input": torch.stack([sample[0] for sample in samples]).contiguous(memory_format=torch.channels_last),
                "targets": [{"boxes": torch.ones(number % 3, 4), "label": torch.tensor(number)} for _, number in samples],
                "names": [f"image {number}" for _, number in samples], "ids": [number for _, number in samples]}

    return torch.utils.data.DataLoader(images(), batch_size=4, collate_fn=collate)


class Module:
    """Like a LightningDataModule."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.stages = []

    def prepare_data(self):
        (self.folder / "prepared").write_text("yes")

    def setup(self, stage):
        self.stages.append(stage)
        self.has_data = (self.folder / "prepared").exists()

    def train_dataloader(self):
        assert self.has_data and self.stages == ["fit"], self.stages
        return loader(0)

    def val_dataloader(self):
        import torch

        assert self.stages == ["fit"], self.stages
        return [torch.utils.data.DataLoader(rows(), batch_size=5)]


def by_split(split, size=8):
    return None if split == "test" else [(float(index), {"train": 0, "val": 1, "predict": 2}[split]) for index in range(size)]


def validation():
    return plain(5)


class Padded:
    """Its own collate_fn makes batches of samples."""

    def __len__(self):
        return SIZE

    def __getitem__(self, index):
        return index

    def collate_fn(self, samples):
        import torch

        return {"rows": torch.tensor([samples]).t(), "drawn": torch.rand(len(samples))}


# What fails.


def raises():
    return {}["absent"]


def exits():
    raise SystemExit("no")


def dies():
    os.kill(os.getpid(), signal.SIGSEGV)


def sleeps():
    time.sleep(600)


def returns_number():
    return 5


class Failing:
    """At sample 5: `how`, as long as `folder` has no file `done`, which it makes after `times`."""

    def __init__(self, how, folder="", times=10**9):
        self.how, self.folder, self.times = how, pathlib.Path(folder), times

    def __len__(self):
        return SIZE

    def __getitem__(self, index):
        if index == 5:
            with open(self.folder / "calls", "a+") as calls:
                calls.write("x")
                calls.seek(0)
                if len(calls.read()) <= self.times:
                    getattr(self, self.how)()
        return index, index * 0.25

    def raise_error(self):
        raise ValueError("no such image \udc80")

    def kill(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def kill_maker(self):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)

    def crash(self):
        ctypes.string_at(0)

    def leave(self):
        os._exit(3)

    def hang(self):
        time.sleep(600)


def failing_stream(**arguments):
    failing = Failing(**arguments)
    return (failing[index] for index in range(SIZE))


def uneven():
    return [[float(value) for value in range(2 + index % 2)] for index in range(SIZE)]


def with_none():
    return [{"image": 1.0, "label": None} for _ in range(SIZE)]


def of_two_shapes():
    import numpy

    return [(numpy.zeros(3 + index % 2), index) for index in range(SIZE)]


def of_two_shapes_and_no_numbers(kind):
    """The first sample has no numbers, and the second has some."""
    import numpy
    import torch

    make = {"array": numpy.zeros, "tensor": torch.zeros}[kind]
    return [(make((3, index % 2)), index) for index in range(SIZE)]


def slow_loader():
    """Its own workers sleep."""
    import torch

    class Slow(torch.utils.data.Dataset):
        def __len__(self):
            return SIZE

        def __getitem__(self, index):
            time.sleep(0 if index < 4 else 600)
            return index

    return torch.utils.data.DataLoader(Slow(), batch_size=2, num_workers=2)
