"""Programs that levin exported from networks of C++, in Python: equal bits at several batch sizes, and after ten steps.

usage: exported_networks_test.py EXPORT_NETWORKS FOLDER [NAME]
"""

import logging
import os
import pathlib
import shutil
import subprocess
import sys

import onnx
import onnxruntime
import torch

# What ONNX lacks, or levin does not write, of the networks: a part of the message.
REFUSED = {
    "fourier_operator": ("fft_rfft",),
    "recommender": ("embedding_bag",),
}

logging.disable(logging.WARNING)


def outputs_of(result, names):
    return [result[name] for name in names] if isinstance(result, dict) else [result]


def same(one, other):
    return one.dtype == other.dtype and one.shape == other.shape and torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)


def check_inference(folder, name, data):
    model = torch.export.load(folder / f"{name}.pt2").module()
    for case in data["sizes"]:
        with torch.no_grad():
            results = outputs_of(model(*case["inputs"]), data["names"])
        for output, got, expected in zip(data["names"], results, case["outputs"], strict=True):
            if not same(got, expected):
                return f"{output} differs for {len(case['inputs'][0])} samples by {(got - expected).abs().max()}"
    return None


def check_training(folder, name, data):
    program = torch.export.load(folder / f"{name}.train.pt2")
    model = program.module()
    optimizer = torch.optim.SGD(model.parameters(), 0.05, foreach=False)
    for _ in range(10):
        torch.manual_seed(7)
        optimizer.zero_grad()
        results = outputs_of(model(*data["example"]), data["names"])
        sum((r.square().mean() for r in results if r.requires_grad), torch.zeros(())).backward()
        optimizer.step()
    state = model.state_dict()
    known = {*program.graph_signature.parameters, *program.graph_signature.buffers}
    if len(known) != len(data["trained"]) - (name == "tied_autoencoder"):  # a tied weight is there once
        return "the program has other parameters and buffers"
    for key in known:
        expected = data["trained"][key]
        if not same(state[key].detach(), expected):
            return f"{key} differs after ten steps"
    return None


def check_onnx(folder, name, data):
    refused = folder / f"{name}.refused"
    if refused.exists():
        text = refused.read_text()
        return None if any(part in text for part in REFUSED.get(name, ())) else f"refused: {text}"
    if name in REFUSED:
        return "is written to ONNX now: take it out of REFUSED"
    path = str(folder / f"{name}.onnx")
    onnx.checker.check_model(path, full_check=True)
    model = onnx.load(path)
    if {prop.key: prop.value for prop in model.metadata_props} != {"network": name}:
        return "has other metadata"
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for case in data["sizes"]:
        values = [value.numpy() for value in case["inputs"]]
        results = session.run(None, dict(zip([i.name for i in session.get_inputs()], values, strict=True)))
        for output, got, expected in zip(data["names"], results, case["outputs"], strict=True):
            got = torch.from_numpy(got)
            if got.dtype != expected.dtype or got.shape != expected.shape:
                return f"{output} is {got.dtype} {list(got.shape)} in place of {expected.dtype} {list(expected.shape)}"
            if not torch.allclose(got, expected, rtol=1e-5, atol=1e-5):
                return f"{output} differs for {len(values[0])} samples by {(got - expected).abs().max()}"
    return None


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    run = subprocess.run([program, folder, *sys.argv[3:]], capture_output=True, text=True, env=environment)
    failures = [line for line in run.stderr.splitlines() if line and not line.startswith("[W")]  # LibTorch's warnings
    torch.set_num_threads(1)
    names = run.stdout.split()
    for name in names:
        data = torch.load(folder / f"{name}.pt")
        for check in (check_inference, check_training, check_onnx):
            try:
                problem = check(folder, name, data)
            except Exception as error:  # noqa: BLE001: what Python says of the file is the result
                problem = f"{type(error).__name__}: {str(error)[:600]}"
            if problem:
                failures.append(f"{name}: {check.__name__}: {problem}")
    for failure in failures:
        print(failure)
    print(f"{len(names)} networks, {len(failures)} failures")
    sys.exit(1 if failures or not names else 0)


main()
