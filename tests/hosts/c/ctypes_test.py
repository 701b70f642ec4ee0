"""NumPy arrays of any layout, through ctypes, train to the bits of PyTorch: ctypes_test.py LIBLEVIN_C."""

import ctypes
import pathlib
import sys

import numpy
import torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "examples/python_ctypes"))

from python_ctypes import Config, SessionOptions, described  # noqa: E402

STEPS, BATCH = 200, 16
CONFIG = b"""{"seed": 1, "trainer": {"accelerator": "cpu", "max_epochs": -1, "accumulate_grad_batches": 2},
    "model": {"class": "MLPRegressor", "features": 3, "hidden": [8], "outputs": 2, "optimizer": {"class": "Adam", "lr": 0.01}}}"""


class Levin:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.levin_error.restype = ctypes.c_char_p

    def __getattr__(self, name):
        function = getattr(self.library, "levin_" + name)

        def call(*arguments):
            if function(*arguments):
                raise RuntimeError(self.library.levin_error().decode())

        return call


def session_of(levin):
    config = Config(ctypes.sizeof(Config), None, CONFIG)
    options = SessionOptions(ctypes.sizeof(SessionOptions), ctypes.pointer(config))
    session, model = ctypes.c_void_p(), ctypes.c_void_p()
    levin.session_start(ctypes.byref(options), ctypes.byref(session))
    levin.session_model(session, ctypes.byref(model))
    return session, model


def weights(levin, model):
    size = ctypes.c_int64()
    levin.model_weights_size(model, ctypes.byref(size))
    flat = numpy.zeros(size.value, "float32")
    levin.model_get_weights(model, ctypes.byref(described(flat)))
    return torch.from_numpy(flat)


def batches():
    draw = numpy.random.default_rng(2)
    for _ in range(STEPS):
        rows = draw.normal(size=(BATCH, 3)).astype("float32")
        yield rows, numpy.stack([rows.sum(1), rows.prod(1)], 1).astype("float32")


def by_torch(initial):
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    torch.nn.utils.vector_to_parameters(initial, net.parameters())
    optimizer = torch.optim.Adam(net.parameters(), 0.01, foreach=False)
    for step, (rows, target) in enumerate(batches()):
        loss = torch.nn.functional.mse_loss(net(torch.from_numpy(rows)), torch.from_numpy(target))
        (loss / 2).backward()
        if step % 2:
            optimizer.step()
            optimizer.zero_grad()
    return torch.nn.utils.parameters_to_vector(net.parameters()).detach()


def main():
    torch.set_num_threads(1)
    levin = Levin(sys.argv[1])
    layouts = {
        "rows": numpy.ascontiguousarray,
        "columns": numpy.asfortranarray,
        "reversed": lambda array: numpy.ascontiguousarray(array[::-1])[::-1],
        "every second": lambda array: numpy.repeat(array, 2, axis=0)[::2],
    }
    expected = None
    for name, layout in layouts.items():
        session, model = session_of(levin)
        if expected is None:
            expected = by_torch(weights(levin, model))
        for rows, target in batches():
            kept = layout(rows), layout(target)
            arrays = (type(described(rows)) * 2)(*map(described, kept))
            levin.session_step(session, arrays, ctypes.c_size_t(2), None)
        off = (weights(levin, model) - expected).abs().max().item()
        assert off == 0, (name, off)
        levin.library.levin_model_destroy(model)
        levin.library.levin_session_destroy(session)
    print(f"{len(layouts)} layouts, {STEPS} steps: the bits of PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
