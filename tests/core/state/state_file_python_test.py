"""Python writes files, state_file_tool reads and rewrites them, Python reads those (weights_only=True) and compares.

usage: state_file_python_test.py TOOL
"""

import argparse
import collections
import contextlib
import math
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch

try:
    import numpy
except ImportError:
    numpy = None


def network():
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2))


class Plain:
    """An object that is no plain value."""


def accepted():
    """Name -> (what Python saves, what comes back); one value where both are the same."""
    torch.manual_seed(0)
    net = network()
    adam = torch.optim.Adam(net.parameters(), 1e-3)
    net(torch.randn(8, 4)).sum().backward()
    adam.step()
    sgd = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    sgd.step()
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(adam)
    base = torch.arange(12.0).view(3, 4)
    cases = {
        "state_dict": net.state_dict(),
        "adam": adam.state_dict(),
        "sgd": sgd.state_dict(),
        "step_lr": torch.optim.lr_scheduler.StepLR(adam, 1).state_dict(),
        "plateau": {k: v for k, v in plateau.state_dict().items()},
        "nested": {"i": 1, "f": 2.5, "s": "x", "n": None, "b": True, "t": (1, "a", None), "l": [[1.5], [], ()], "d": {"k": {"q": {}}}},
        "int_keys": {0: torch.ones(1), 1: "x", -5: 2},
        "mixed_keys": {0: 1, "a": 2},
        "ints": [0, 255, 256, -1, 65536, 2**31, -(2**31), 2**40, -(2**40), 2**63 - 1, -(2**63)],
        "floats": [float("inf"), -float("inf"), 5e-324, -0.0, 1e308],
        "bytes": {"a": b"abc", "b": b"", "c": bytes(range(256))},
        "bytearray": (bytearray(b"\x00\xff"), b"\x00\xff"),
        "unicode": {"ключ": "значение", "emoji": "\U0001f329", "lone": "caf\udce9"},
        "views": {"base": base, "t": base.t(), "row": base[1], "strided": base[:, ::2]},
        "tensor": torch.ones(3),
        "scalar": torch.tensor(3.5),
        "empty": {"a": torch.empty(0), "b": torch.empty(3, 0, 2), "c": {}, "d": [], "e": ()},
        "expanded": torch.arange(3).expand(5, 3),
        "channels_last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        "conj": torch.complex(base, -base).conj(),
        "neg": torch.complex(base, -base).conj().imag,
        "sparse": torch.eye(3).to_sparse(),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "rng": torch.get_rng_state(),
        "size": (torch.Size([1, 2]), (1, 2)),
        "dtype": (torch.float32, "torch.float32"),
        "device": ([torch.device("cpu"), torch.device("cuda:1")], ["cpu", "cuda:1"]),
        "set": ({"a": {1}, "f": frozenset(["x"]), "e": set()}, {"a": [1], "f": ["x"], "e": []}),
        "namespace": ({"hp": argparse.Namespace(a=1, b=[2])}, {"hp": {"a": 1, "b": [2]}}),
        "path": ([pathlib.Path("/x/y"), pathlib.Path("a/b"), pathlib.Path("/"), pathlib.Path()], ["/x/y", "a/b", "/", "."]),
        "ordered": (collections.OrderedDict(a=1, b=torch.ones(1)), {"a": 1, "b": torch.ones(1)}),
        "counter": (collections.Counter("aab"), {"a": 2, "b": 1}),
        "default": (collections.defaultdict(int, a=1), {"a": 1}),
        "class": ({"activation": torch.nn.ReLU}, {"activation": "torch.nn.modules.activation.ReLU"}),
        "storage": (torch.arange(3, dtype=torch.uint8).untyped_storage(), torch.arange(3, dtype=torch.uint8)),
    }
    for name in "float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 bool complex64 complex128 uint16 uint32 uint64 float8_e5m2 float8_e4m3fn".split():
        cases["dtype_" + name] = torch.tensor([0.0, 1.0, 1.0]).to(getattr(torch, name))
    if numpy:
        cases.update(numpy_cases())
    cases["shared"] = shared()
    cases["lightning"] = checkpoint(net, adam)
    return cases


def numpy_cases():
    return {
        "np_float": (numpy.float64(3.5), 3.5),
        "np_float32": (numpy.float32(0.1), float(numpy.float32(0.1))),
        "np_ints": ([numpy.int64(-3), numpy.uint8(200), numpy.bool_(True)], [-3, 200, True]),
        "np_array": ({"a": numpy.arange(6.0).reshape(2, 3)}, {"a": torch.arange(6.0, dtype=torch.float64).view(2, 3)}),
        "np_fortran": (numpy.asfortranarray(numpy.arange(6).reshape(2, 3)), torch.arange(6).view(2, 3)),
        "np_empty": (numpy.zeros((0, 2), dtype=numpy.float32), torch.zeros(0, 2)),
        "np_dtype": (numpy.dtype("float32"), "f4"),
    }


def shared():
    base = torch.arange(100.0)
    tied = torch.nn.Parameter(torch.ones(2))
    return {"a": base[10:20], "b": base[15:30], "tied": [tied, tied]}


def checkpoint(net, optimizer):
    """A checkpoint as PyTorch Lightning lays it out."""
    score = torch.tensor(0.1)
    return {
        "epoch": 3,
        "global_step": 120,
        "pytorch-lightning_version": "2.6.0",
        "state_dict": net.state_dict(),
        "loops": {"fit_loop": {"state_dict": {}, "epoch_progress": {"total": {"ready": 4, "completed": 3}}}},
        "callbacks": {"ModelCheckpoint{'monitor': 'val_loss'}": {"best_model_score": score, "best_k_models": {"/x.ckpt": score}}},
        "optimizer_states": [optimizer.state_dict()],
        "lr_schedulers": [torch.optim.lr_scheduler.StepLR(optimizer, 1).state_dict()],
        "hparams_name": "kwargs",
        "hyper_parameters": {"lr": 1e-3, "layers": [64, 64], "name": "x"},
    }


def refused():
    """Name -> (what Python saves, a part of the message)."""
    strings = {"strings": (numpy.array(["a"]), "numpy values of the dtype 'U1'")} if numpy else {}
    return strings | {
        "object": ({"a": Plain()}, "it holds an object of __main__.Plain, which is not a plain value"),
        "module": (network(), "it holds an object of torch.nn.modules.container.Sequential"),
        "huge": (2**80, "does not fit in 64 bits"),
        "csr": (torch.eye(2).to_sparse_csr(), "another layout than COO"),
        "meta": (torch.empty(2, device="meta"), "meta"),
    }


def difference(expected, found, path=""):
    """Where the two differ, or None."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(found, torch.Tensor) or found.dtype != expected.dtype or found.shape != expected.shape:
            return f"{path}: {expected} became {found}"
        if expected.layout != found.layout:
            return f"{path}: layout {expected.layout} became {found.layout}"
        a, b = (t.detach().to_dense() if t.is_sparse else t.detach() for t in (expected, found))
        same = torch.equal(a.resolve_conj().float() if "float8" in str(a.dtype) else a, b.float() if "float8" in str(b.dtype) else b)
        return None if same else f"{path}: {expected} became {found}"
    if isinstance(expected, dict):
        if type(found) is not dict or list(expected) != list(found):
            return f"{path}: keys {list(expected)} became {found}"
        parts = [(expected[k], found[k], f"{path}[{k!r}]") for k in expected]
    elif isinstance(expected, (list, tuple)):
        if type(found) is not type(expected) or len(found) != len(expected):
            return f"{path}: {expected} became {found}"
        parts = [(e, f, f"{path}[{i}]") for i, (e, f) in enumerate(zip(expected, found))]
    elif isinstance(expected, float):
        same = type(found) is float and (expected == found and math.copysign(1, expected) == math.copysign(1, found) or expected != expected and found != found)
        return None if same else f"{path}: {expected} became {found}"
    else:
        return None if type(found) is type(expected) and found == expected else f"{path}: {expected!r} became {found!r}"
    return next((d for d in (difference(*part) for part in parts) if d), None)


def load(path, way):
    """torch.load; "places computed": from the records' sizes, without looking for them in the file (PyTorch 2.7)."""
    with contextlib.ExitStack() as stack:
        config = getattr(torch.utils.serialization, "config", None)
        if way == "places computed" and hasattr(config, "patch") and hasattr(config.load, "calculate_storage_offsets"):
            stack.enter_context(config.patch({"load.calculate_storage_offsets": True}))
        return torch.load(path, weights_only=True, mmap=way != "read")


def same_storage(a, b):
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def main():
    tool = sys.argv[1]
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        cases, bad = accepted(), refused()
        arguments = []
        for name, value in list(cases.items()) + list(bad.items()):
            torch.save(value[0] if isinstance(value, tuple) and len(value) == 2 else value, folder / f"{name}.in")
            arguments += [folder / f"{name}.in", folder / f"{name}.out"]
        for protocol in (3, 4, 5):
            torch.save(cases["lightning"], folder / f"protocol{protocol}.in", pickle_protocol=protocol)
            arguments += [folder / f"protocol{protocol}.in", folder / f"protocol{protocol}.out"]
            cases[f"protocol{protocol}"] = cases["lightning"]
        torch.save(cases["tensor"], folder / "legacy.in", _use_new_zipfile_serialization=False)
        torch.jit.script(torch.nn.Linear(1, 1)).save(folder / "script.in")
        for name, message in (("legacy", "save it again with torch.save"), ("script", "a TorchScript file")):
            bad[name] = (None, message)
            arguments += [folder / f"{name}.in", folder / f"{name}.out"]

        ran = subprocess.run([tool, *arguments], capture_output=True, text=True)
        if ran.returncode != 0:
            failures.append(f"the tool exited with {ran.returncode}: {ran.stderr}")
        messages = {pathlib.Path(line.split(":")[0]).stem: line for line in ran.stdout.splitlines()}

        for name, value in cases.items():
            expected = value[1] if isinstance(value, tuple) and len(value) == 2 else value
            if name in messages:
                failures.append(f"{name}: refused: {messages[name]}")
                continue
            for way in ("read", "mapped", "places computed"):
                try:
                    found = load(folder / f"{name}.out", way)
                except Exception as error:  # the test lists all failures
                    failures.append(f"{name} ({way}): {error}")
                    continue
                if problem := difference(expected, found):
                    failures.append(f"{name}{problem}")
        for name, (_, message) in bad.items():
            if message not in messages.get(name, ""):
                failures.append(f"{name}: expected an error with '{message}', got {messages.get(name)}")

        views = torch.load(folder / "views.out", weights_only=True)
        if not all(same_storage(views["base"], views[k]) for k in ("t", "row", "strided")):
            failures.append("views: their storage is no longer shared")
        both = torch.load(folder / "shared.out", weights_only=True)
        if not same_storage(both["a"], both["b"]) or not same_storage(*both["tied"]):
            failures.append("shared: the storage is no longer shared")
        if both["a"].untyped_storage().nbytes() != 80:
            failures.append("shared: more of the storage is written than is used")
        resumed = torch.optim.Adam(network().parameters())
        resumed.load_state_dict(torch.load(folder / "adam.out", weights_only=True))

    print(f"{len(cases)} files compared, {len(bad)} refused, {len(failures)} failures (torch {torch.__version__})")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
