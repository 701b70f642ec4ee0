"""Samples put together as torch's default_collate does it, and batches taken apart, into named fields."""

from collections.abc import Mapping, Sequence
from operator import itemgetter


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


def numbers(name, values, shape=None):
    first = values[0]
    if isinstance(first, float):
        return [Plain(name, "d", values, shape)]
    if all(isinstance(value, bool) for value in values):
        return [Plain(name, "B", values, shape, "bool")]
    return [Plain(name, "q" if all(isinstance(value, int) for value in values) else "f", values, shape)]


# Writing into the batch's memory checks that shapes are equal. Nothing is written of a first tensor without numbers: then
# torch's and NumPy's `stack` check them here.
def tensors(name, values):
    if values[0].is_cpu and values[0].numel() > 0 and are_alike(values, dtype_of):
        return [Tensors(name, values, True)]
    return [Tensors(name, [torch_or_none().stack([value.detach() for value in values]).cpu()], False)]


def arrays(name, values):
    if values[0].ndim == 0:
        return [Arrays(name, [numpy_or_none().array(values)], False)]
    if values[0].size > 0 and are_alike(values, len) and are_alike(values, dtype_of):
        return [Arrays(name, values, True)]
    return [Arrays(name, [numpy_or_none().stack(values)], False)]


class Makers(dict):
    """By the type of a value that is no container: what makes fields of such values; None for others."""

    def __missing__(self, kind):
        torch, numpy = torch_or_none(), numpy_or_none()
        if torch is not None and issubclass(kind, torch.Tensor):
            maker = tensors
        elif numpy is not None and issubclass(kind, (numpy.ndarray, numpy.generic)):
            maker = arrays
        else:
            maker = texts if issubclass(kind, (str, bytes)) else numbers if issubclass(kind, (int, float)) else None
        self[kind] = maker
        return maker


makers = Makers()


def collate(samples, names, name=""):
    """The fields of a batch of samples."""
    first = samples[0]
    maker = makers[type(first)]
    if maker:
        name = name or names.fields[0]
        try:
            return maker(name, samples)
        except Exception as error:
            raise ValueError(f"field '{name}' of the samples of a batch: {error}") from error
    if isinstance(first, Mapping):
        return [field for key in first
                for field in collate(list(map(itemgetter(key), samples)), names, names.inside(name, key))]
    if is_sequence(first):
        if not name:
            names.check(len(first))
        if not are_alike(samples, len):
            raise ValueError(f"field '{name or 'sample'}': the lists of a batch's samples have different lengths; return "
                             "tensors of one length, or a collate_fn that fills them up")
        return [field for key, column in zip(keys_of(first), zip(*samples))
                for field in collate(column, names, names.inside(name, key))]
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
        return numbers(own, [batch], ())
    raise TypeError(f"field '{own}' of a batch is {type(batch).__name__}; a batch has tensors, arrays, lists of texts, and "
                    "lists and dicts of them")


class Items:
    """A list with the fields of each sample."""

    form = None

    def __init__(self, name, samples):
        self.name, self.samples = name, samples


def rows_of(fields):
    first = fields[0]
    if isinstance(first, Items):
        return len(first.samples)
    return first.form.shape[0] if first.form.shape else 1
