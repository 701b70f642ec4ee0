"""States of data sets as text: plain values, arrays and tensors. Unlike pickle, a text from elsewhere runs nothing."""

import base64
import json


def as_text(data):
    return base64.b64encode(data).decode()


def encoded(value):
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, bytes):
        return {"bytes": as_text(value)}
    if isinstance(value, (list, tuple)):
        are_numbers = all(type(item) is int for item in value)
        return {"list" if isinstance(value, list) else "tuple": list(value) if are_numbers else list(map(encoded, value))}
    if isinstance(value, dict):
        return {"dict": [[encoded(key), encoded(item)] for key, item in value.items()]}
    if is_array(value) and value.dtype.kind in "biufc":
        return {"array": as_text(value.tobytes()), "dtype": value.dtype.str, "shape": list(value.shape)}
    if is_tensor(value):
        data = value.detach().cpu().contiguous().reshape(-1).view(torch_or_none().uint8)
        return {"tensor": as_text(bytes(data.tolist())), "dtype": str(value.dtype).split(".")[1], "shape": list(value.shape)}
    raise TypeError(f"state_dict() of the data has a {type(value).__qualname__}; levin keeps numbers, texts, bytes, lists, "
                    "tuples, dicts, arrays and tensors")


def decoded(value):
    if not isinstance(value, dict):
        return value
    ((kind, content),) = ((key, value[key]) for key in value if key not in ("dtype", "shape"))
    if kind in ("list", "tuple"):
        items = list(map(decoded, content))
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {decoded(key): decoded(item) for key, item in content}
    data = base64.b64decode(content)
    if kind == "bytes":
        return data
    if kind == "array":
        import numpy

        return numpy.frombuffer(bytearray(data), dtype=numpy.dtype(value["dtype"])).reshape(value["shape"])[()]
    import torch

    dtype = getattr(torch, value["dtype"])
    if not data:
        return torch.empty(value["shape"], dtype=dtype)
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(value["shape"])


def state_text(value):
    return json.dumps(encoded(value))


def state_of_text(text):
    return decoded(json.loads(text))
