"""Samples put together as torch's default_collate does it, and batches taken apart, into named fields."""

from collections.abc import Mapping, Sequence


class Names:
    """The names of the parts of a tuple: input and target, or those that the option `fields` gives."""

    def __init__(self, fields):
        self.fields = fields or ["input", "target"]
        self.are_given = bool(fields)

    def inside(self, prefix, key):
        if prefix:
            return f"{prefix}.{key}"
        if not isinstance(key, int):
            return str(key)
        return self.fields[key] if key < len(self.fields) else f"item{key}"

    def check(self, parts):
        if self.are_given and parts != len(self.fields):
            raise ValueError(f"data.fields names {len(self.fields)} parts ({', '.join(self.fields)}), and there are {parts}")


def is_sequence(value):
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def keys_of(value):
    return getattr(value, "_fields", None) or range(len(value))


def numbers(name, values):
    if all(isinstance(value, bool) for value in values):
        column = Plain(name, "B", values)
        column.dtype = "bool"
        return [column]
    if isinstance(values[0], float):
        return [Plain(name, "d", values)]
    return [Plain(name, "q" if all(isinstance(value, int) for value in values) else "f", values)]


def leaves(name, values):
    """The fields of values that are no containers; None for others."""
    first = values[0]
    if is_tensor(first):
        if first.device.type == "cpu" and same_kind(values, "dtype"):
            return [Tensors(name, values, True)]
        return [Tensors(name, [torch_or_none().stack([value.detach() for value in values]).cpu()], False)]
    if is_array(first):
        if first.ndim > 0 and same_kind(values, "shape", "dtype"):
            return [Arrays(name, values, True)]
        return [Arrays(name, [(numpy_or_none().stack if first.ndim > 0 else numpy_or_none().array)(values)], False)]
    if isinstance(first, (str, bytes)):
        return texts(name, values)
    if isinstance(first, (int, float)):
        return numbers(name, values)
    return None


def collate(samples, names, name=""):
    """The fields of a batch of samples."""
    first = samples[0]
    try:
        found = leaves(name or names.fields[0], samples)
    except Exception as error:
        raise ValueError(f"field '{name or names.fields[0]}' of the samples of a batch: {error}") from error
    if found is not None:
        return found
    if isinstance(first, Mapping):
        return [field for key in first
                for field in collate([sample[key] for sample in samples], names, names.inside(name, key))]
    if is_sequence(first):
        if not name:
            names.check(len(first))
        if len(set(map(len, samples))) > 1:
            raise ValueError(f"field '{name or 'sample'}': the lists of a batch's samples have different lengths; return "
                             "tensors of one length, or a collate_fn that fills them up")
        return [field for key, column in zip(keys_of(first), zip(*samples))
                for field in collate(list(column), names, names.inside(name, key))]
    raise TypeError(f"field '{name or 'sample'}' is {type(first).__name__}; a sample has tensors, arrays, numbers, texts, and "
                    "lists and dicts of them")


def fields_of(batch, names, name=""):
    """The fields of a batch that the user's code has put together."""
    own = name or names.fields[0]
    if is_tensor(batch):
        return [Tensors(own, [batch.detach().cpu()], False)]
    if is_array(batch):
        if batch.dtype.kind in "US":
            return texts(own, batch.ravel().tolist())
        return [Arrays(own, [numpy_or_none().asarray(batch)], False)]
    if isinstance(batch, Mapping):
        return [field for key, value in batch.items() for field in fields_of(value, names, names.inside(name, key))]
    if is_sequence(batch) and len(batch) > 0:
        if name and all(isinstance(value, (str, bytes)) for value in batch):
            return texts(name, batch)
        if name and all(isinstance(value, (int, float)) for value in batch):
            return numbers(name, batch)
        if name and all(isinstance(value, Mapping) for value in batch):
            return [Items(name, [fields_of(value, names) for value in batch])]
        if not name:
            names.check(len(batch))
        return [field for key, value in zip(keys_of(batch), batch)
                for field in fields_of(value, names, names.inside(name, key))]
    if isinstance(batch, (int, float)) and not isinstance(batch, bool):
        column = numbers(own, [batch])[0]
        column.shape, column.strides = [], []
        return [column]
    raise TypeError(f"field '{own}' of a batch is {type(batch).__name__}; a batch has tensors, arrays, lists of texts, and "
                    "lists and dicts of them")


class Items:
    """A list with the fields of each sample."""

    def __init__(self, name, samples):
        self.name, self.samples = name, samples


def rows_of(fields):
    first = fields[0]
    if isinstance(first, Items):
        return len(first.samples)
    return first.shape[0] if first.shape else 1


class Writer:
    """Writes fields into a buffer, and says where each stands."""

    ALIGNED = 64

    def __init__(self, buffers):
        self.buffers = buffers

    def place(self, fields):
        for field in fields:
            if isinstance(field, Items):
                for sample in field.samples:
                    yield from self.place(sample)
            else:
                yield field

    def describe(self, fields, offsets):
        return [
            {"name": plain(field.name), "items": [self.describe(sample, offsets) for sample in field.samples]}
            if isinstance(field, Items)
            else {"name": plain(field.name), "dtype": field.dtype, "sizes": field.shape, "strides": field.strides,
                  "offset": offsets[id(field)]}
            for field in fields
        ]

    def write(self, fields):
        """(the message, the descriptor of a new buffer or None)"""
        offsets, size = {}, 0
        for field in self.place(fields):
            offsets[id(field)] = size
            size += -(-field.bytes // self.ALIGNED) * self.ALIGNED
        number, memory, descriptor = self.buffers.take(size)
        try:
            for field in self.place(fields):
                field.write(memory, offsets[id(field)])
        except BaseException:
            self.buffers.take_back(number, descriptor)
            raise
        return {"buffer": number, "bytes": len(memory), "dropped": self.buffers.take_dropped(),
                "fields": self.describe(fields, offsets), "samples": rows_of(fields)}, descriptor
