"""Fields of a batch, and how their values get into memory that levin maps."""

import array
import operator
import sys

DTYPES = {"b": "int8", "h": "int16", "i": "int32", "q": "int64", "f": "float32", "d": "float64", "B": "uint8"}
dtype_of = operator.attrgetter("dtype")


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


def are_alike(values, attribute):
    """Whether a function of a value, as `len`, gives the same for all."""
    return len(set(map(attribute, values))) == 1


def contiguous_strides(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


class Form:
    """The name, type and shape of a field: what levin is told of it, but for its place. Equal ones are the same object."""

    MOST = 1000
    known = {}

    def __init__(self, name, dtype, shape, strides, itemsize):
        self.name, self.dtype, self.shape = name, dtype, list(shape)
        self.strides = contiguous_strides(shape) if strides is None else list(strides)
        self.bytes = itemsize
        for size in shape:
            self.bytes *= size

    @classmethod
    def of(cls, name, dtype, shape, strides, itemsize):
        """`dtype` is a text, or a type of torch's or NumPy's."""
        key = name, dtype, shape, strides
        form = cls.known.get(key)
        if form is None:
            if len(cls.known) >= cls.MOST:  # as of texts, each batch of which has another length
                cls.known.clear()
            text = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or str(dtype).split(".")[1]
            form = cls.known[key] = cls(name, text, shape, strides, itemsize)
        return form


class Plain:
    """Numbers of one type as bytes."""

    def __init__(self, name, code, values, shape=None, dtype=None):
        self.data = array.array(code, values)
        shape = (len(self.data),) if shape is None else shape
        self.form = Form.of(name, dtype or DTYPES[code], shape, None, self.data.itemsize)

    def place(self, memory, offset):
        return memoryview(memory)[offset:offset + self.form.bytes]

    def write(self, place):
        place[:] = memoryview(self.data).cast("B")


class Tensors:
    """A tensor, or several of one type that are stacked."""

    def __init__(self, name, values, stacked):
        first = values[0]
        if first.layout != torch_or_none().strided or first.is_quantized:
            raise TypeError(f"field '{name}' is a tensor of {first.layout}, {first.dtype}; return dense ones (x.to_dense())")
        self.values, self.stacked, self.type = values, stacked, first.dtype
        shape = (len(values), *first.shape) if stacked else tuple(first.shape)
        strides = first.stride() if not stacked and self.is_dense(first) else None
        self.form = Form.of(name, first.dtype, shape, strides, first.element_size())

    @staticmethod
    def is_dense(tensor):
        """Whether the tensor fills its memory without gaps, as channels_last does."""
        step = 1
        for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
            if size > 1 and stride != step:
                return False
            step *= size
        return True

    def place(self, memory, offset):
        form, count = self.form, 1
        for size in form.shape:
            count *= size
        place = torch_or_none().frombuffer(memory, dtype=self.type, count=count, offset=offset)
        return place.as_strided(form.shape, form.strides)

    def write(self, place):
        if not self.stacked:
            place.copy_(self.values[0])
            return
        torch = torch_or_none()
        try:
            torch.stack(self.values, out=place)
        except RuntimeError:
            try:
                with torch.no_grad():  # some of them require gradients
                    torch.stack(self.values, out=place)
            except RuntimeError as error:  # their shapes differ
                raise ValueError(f"field '{self.form.name}' of the samples of a batch: {error}") from error


class Arrays:
    """A NumPy array, or several of one length and type that are stacked."""

    def __init__(self, name, values, stacked):
        first = values[0]
        if first.dtype.kind not in "biufc":
            raise TypeError(f"field '{name}' is an array of {first.dtype}; return numbers, or text as str")
        self.values, self.stacked = values, stacked
        self.type = first.dtype if first.dtype.isnative else first.dtype.newbyteorder("=")
        shape = (len(values), *first.shape) if stacked else first.shape
        self.form = Form.of(name, self.type, shape, None, first.dtype.itemsize)

    def place(self, memory, offset):
        """The array, and the same with the first two dimensions as one."""
        place = numpy_or_none().ndarray(self.form.shape, self.type, buffer=memory, offset=offset)
        return place, place.reshape(-1, *self.form.shape[2:])

    def write(self, place):
        numpy = numpy_or_none()
        whole, joined = place
        if not self.stacked:
            numpy.copyto(whole, self.values[0])
            return
        try:  # along the first dimension of the values, without a new view of each
            numpy.concatenate(self.values, out=joined)
        except ValueError as error:  # their shapes differ
            raise ValueError(f"field '{self.form.name}' of the samples of a batch: {error}") from error


def texts(name, values):
    """UTF-8 in rows that are filled up with zeros, and the lengths."""
    rows = [value if isinstance(value, bytes) else value.encode("utf-8", "replace") for value in values]
    longest = max(map(len, rows), default=0)
    filled = b"".join(row.ljust(longest, b"\0") for row in rows)
    return [Plain(name, "B", filled, (len(rows), longest)), Plain(f"{name}_lengths", "q", map(len, rows))]
