"""A worker that makes batches of the samples that levin names."""

import operator
import time


class SampleError(Exception):
    def __init__(self, index):
        self.index = index


class Samples:
    """Samples of which each is made as if all generators were seeded before it.

    That takes time, and most samples draw from no generator. So a generator is seeded for each sample from the first
    batch on that has drawn from it; that batch is made again.
    """

    def __init__(self, dataset, names, rank):
        self.dataset, self.names = dataset, names
        self.salt = [] if rank is None else [rank]  # of data sets that differ between ranks
        self.drawing = set()  # the generators that samples have drawn from
        self.collate = getattr(dataset, "collate_fn", None)
        seed_generators(0)
        self.marks = generator_marks()

    def get(self, indices, key):
        dataset = self.dataset
        if getattr(dataset, "__getitems__", None):
            seed_generators(seed_of(*key, *self.salt, *indices), self.drawing)
            return list(dataset.__getitems__(list(indices)))
        if not self.drawing:
            return self.get_unseeded(indices)
        seed = SampleSeeds((*key, *self.salt), self.drawing).seed
        samples = []
        try:
            for index in indices:
                seed(index)
                samples.append(dataset[index])
        except Exception as error:
            raise SampleError(index) from error
        return samples

    def get_unseeded(self, indices):
        dataset, left = self.dataset, iter(indices)
        try:
            return [dataset[index] for index in left]
        except Exception as error:
            raise SampleError(indices[-1 - operator.length_hint(left)]) from error

    def have_drawn(self):
        """Whether generators have been drawn from for the first time; they are seeded from now on."""
        before, self.marks = self.marks, generator_marks(self.drawing)
        if self.marks == before:
            return False
        drawn = {name for name, mark in self.marks.items() if mark != before.get(name)}
        self.drawing |= drawn
        return bool(drawn)

    def fetch(self, indices, key):
        while True:
            try:
                samples = self.get(indices, key)
            except SampleError:
                if not self.have_drawn():
                    raise
            else:
                if not self.have_drawn():
                    return samples

    def batch(self, indices, key):
        samples = self.fetch(indices, key)
        if not self.collate:
            return collate(samples, self.names)
        seed_generators(seed_of(*key, *self.salt, *indices))
        fields = fields_of(self.collate(samples), self.names)
        self.marks = generator_marks()
        return fields


def serve_samples(channel, dataset, names, rank):
    samples, buffers = Samples(dataset, names, rank), Buffers()
    writer, answers = Writer(buffers), Answers(channel)
    while True:
        seed, epoch, may_wait, count, *numbers = channel.receive_numbers()
        buffers.give_back(numbers[:count])
        begin = time.monotonic()
        try:
            message, descriptor = writer.write(samples.batch(numbers[count:], (seed, epoch)))
        except Exception as error:
            writer.told = None  # it may not have been sent
            is_of_sample = isinstance(error, SampleError)
            message, descriptor = error_message(error.__cause__, error.index) if is_of_sample else error_message(error), None
        is_quick = time.monotonic() - begin < Answers.QUICK
        answers.send(message, descriptor, may_wait and is_quick)


class Answers:
    """Answers on their way to levin: to wake its thread for each would take much of the time of quick batches."""

    QUICK = 1e-3  # seconds

    def __init__(self, channel):
        self.channel, self.waiting = channel, b""

    def send(self, message, descriptor, may_wait):
        """Sends a message with the one that waits, or lets it wait for the next one if that is asked for already."""
        data = self.channel.packed(message)
        if descriptor is not None:
            self.flush()  # a descriptor comes with the first byte
        if may_wait and not self.waiting and descriptor is None and self.channel.has_more():
            self.waiting = data
            return
        self.waiting += data
        self.flush(descriptor)

    def flush(self, descriptor=None):
        data, self.waiting = self.waiting, b""
        if data:
            self.channel.send_packed(data, descriptor)
