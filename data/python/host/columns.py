"""Fields of a batch, and how their values get into memory that levin maps."""

import array
import operator
import sys

KINDS = {"b": "int8", "h": "int16", "i": "int32", "q": "int64", "f": "float32", "d": "float64", "B": "uint8"}


def torch_or_none():
    return sys.modules.get("torch")


def numpy_or_none():
    return sys.modules.get("numpy")


def is_tensor(value):
    torch = torch_or_none()
    return torch is not None and isinstance(value, torch.Tensor)


def is_array(value):
    numpy = numpy_or_none()
    return numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic))


def same_kind(values, *what):
    """Whether tensors or arrays are alike in these attributes."""
    kinds = list(map(operator.attrgetter(*what), values))
    return kinds.count(kinds[0]) == len(kinds)


def contiguous_strides(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


class Plain:
    """Numbers of one type as bytes."""

    def __init__(self, name, code, values, shape=None):
        self.name, self.dtype, self.data = name, KINDS[code], array.array(code, values)
        self.shape = [len(self.data)] if shape is None else shape
        self.strides = contiguous_strides(self.shape)
        self.bytes = len(self.data) * self.data.itemsize

    def write(self, memory, offset):
        memory[offset:offset + self.bytes] = self.data.tobytes()


class Tensors:
    """A tensor, or several of one type that are stacked."""

    def __init__(self, name, values, stacked):
        first = values[0]
        if first.layout != torch_or_none().strided or first.is_quantized:
            raise TypeError(f"field '{name}' is a tensor of {first.layout}, {first.dtype}; return dense ones (x.to_dense())")
        self.name, self.values, self.stacked, self.type = name, values, stacked, first.dtype
        self.dtype = str(first.dtype).split(".")[1]
        self.shape = ([len(values)] if stacked else []) + list(first.shape)
        keeps = not stacked and self.is_dense(first)
        self.strides = list(first.stride()) if keeps else contiguous_strides(self.shape)
        self.bytes = first.element_size() * first.numel() * (len(values) if stacked else 1)

    @staticmethod
    def is_dense(tensor):
        """Whether the tensor fills its memory without gaps, as channels_last does."""
        step = 1
        for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
            if size > 1 and stride != step:
                return False
            step *= size
        return True

    def write(self, memory, offset):
        if self.bytes == 0:
            return
        torch = torch_or_none()
        count = self.bytes // self.values[0].element_size()
        place = torch.frombuffer(memory, dtype=self.type, count=count, offset=offset).as_strided(self.shape, self.strides)
        with torch.no_grad():
            if not self.stacked:
                place.copy_(self.values[0])
                return
            try:
                torch.stack(self.values, out=place)
            except RuntimeError as error:  # their shapes differ
                raise ValueError(f"field '{self.name}' of the samples of a batch: {error}") from error


class Arrays:
    """A NumPy array, or several of one shape and type that are stacked."""

    def __init__(self, name, values, stacked):
        first = values[0]
        if first.dtype.kind not in "biufc":
            raise TypeError(f"field '{name}' is an array of {first.dtype}; return numbers, or text as str")
        self.name, self.values, self.stacked = name, values, stacked
        self.type = first.dtype.newbyteorder("=")
        self.dtype = self.type.name
        self.shape = ([len(values)] if stacked else []) + list(first.shape)
        self.strides = contiguous_strides(self.shape)
        self.bytes = first.dtype.itemsize * first.size * (len(values) if stacked else 1)

    def write(self, memory, offset):
        if self.bytes == 0:
            return
        numpy = numpy_or_none()
        place = numpy.ndarray(self.shape, self.type, buffer=memory, offset=offset)
        if self.stacked:  # along the first dimension of the values, without a new view of each
            numpy.concatenate(self.values, out=place.reshape(-1, *self.shape[2:]))
        else:
            numpy.copyto(place, self.values[0])


def texts(name, values):
    """UTF-8 in rows that are filled up with zeros, and the lengths."""
    rows = [value if isinstance(value, bytes) else value.encode("utf-8", "replace") for value in values]
    longest = max(map(len, rows), default=0)
    filled = b"".join(row.ljust(longest, b"\0") for row in rows)
    return [Plain(name, "B", filled, [len(rows), longest]), Plain(f"{name}_lengths", "q", map(len, rows))]
