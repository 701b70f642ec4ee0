"""NumPy arrays train a network of levin through its C interface, without a copy: python_ctypes.py LIBLEVIN_C [STEPS]."""

import ctypes
import sys

import numpy


class Array(ctypes.Structure):
    """struct levin_array of levin/c_api.h."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("data", ctypes.c_void_p),
                ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("device_type", ctypes.c_int32),
                ("device_index", ctypes.c_int32), ("owner", ctypes.c_void_p)]  # fmt: skip


class Config(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("file", ctypes.c_char_p), ("text", ctypes.c_char_p),
                ("options", ctypes.c_void_p), ("option_count", ctypes.c_size_t), ("plugins", ctypes.c_void_p),
                ("plugin_count", ctypes.c_size_t)]  # fmt: skip


class SessionOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("config", ctypes.POINTER(Config)), ("model", ctypes.c_void_p),
                ("ckpt_path", ctypes.c_char_p), ("batches_per_epoch", ctypes.c_int64), ("host_saves", ctypes.c_int32),
                ("log_sink", ctypes.c_void_p), ("ranks", ctypes.c_void_p), ("cuda_stream", ctypes.c_void_p), ("join_launcher", ctypes.c_int32)]  # fmt: skip


DTYPES = {"float32": 0, "float64": 1, "int32": 2, "int64": 3, "uint8": 4, "bool": 5}


def described(array):
    """The array's memory as levin sees it; any strides, so that slices and transposed arrays need no copy."""
    numbers = ctypes.c_int64 * array.ndim
    strides = [stride // array.itemsize for stride in array.strides]
    return Array(ctypes.sizeof(Array), None, array.ctypes.data, DTYPES[str(array.dtype)], array.ndim, numbers(*array.shape), numbers(*strides))


def main():
    levin = ctypes.CDLL(sys.argv[1])
    levin.levin_error.restype = ctypes.c_char_p

    def check(status):
        if status:
            raise RuntimeError(levin.levin_error().decode())

    config = Config(ctypes.sizeof(Config), None, b"""{"seed": 1, "trainer": {"accelerator": "cpu", "max_epochs": -1},
        "model": {"class": "MLPRegressor", "features": 2, "hidden": [32], "optimizer": {"class": "Adam", "lr": 0.01}}}""")
    options = SessionOptions(ctypes.sizeof(SessionOptions), ctypes.pointer(config))
    session, loss = ctypes.c_void_p(), ctypes.c_double()
    check(levin.levin_session_start(ctypes.byref(options), ctypes.byref(session)))
    draw = numpy.random.default_rng(0)
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    for step in range(steps):
        rows = draw.normal(size=(2, 64)).astype("float32").T  # columns of memory as rows of samples
        arrays = (Array * 2)(described(rows), described(rows.prod(axis=1)))
        check(levin.levin_session_step(session, arrays, ctypes.c_size_t(2), None))
        check(levin.levin_session_loss(session, ctypes.byref(loss)))
        if step in (0, steps - 1):
            print(f"step {step}: loss {loss.value:.4f}")
    levin.levin_session_destroy(session)


if __name__ == "__main__":
    main()
