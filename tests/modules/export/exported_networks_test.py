"""Programs that levin exported from networks of C++, in Python: equal bits at several batch sizes, and after ten steps.

usage: exported_networks_test.py EXPORT_NETWORKS FOLDER [--packages] [NAME]

--packages: only AOTInductor compiles each program, which takes a minute for each, and its results are compared.
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

# Networks without a layer that is quantized.
WITHOUT_WEIGHTS = ("rnn_with_state",)
# Whole numbers are rounded another way at a tie, and onnxruntime adds in other numbers than levin.
MOST_OFF = 0.005

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


def check_old(folder, name, data):
    """PyTorch still reads the files of 2.6, which have the same program."""
    return check_training(folder, name, data, end="old")


def check_training(folder, name, data, end="train"):
    program = torch.export.load(folder / f"{name}.{end}.pt2")
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


def check_package(folder, name, data):
    program = torch.export.load(folder / f"{name}.pt2")
    path = torch._inductor.aoti_compile_and_package(program, package_path=str(folder / f"{name}.aoti.pt2"))
    model = torch._inductor.aoti_load_package(path)
    for case in data["sizes"]:
        results = outputs_of(model(*case["inputs"]), data["names"])
        for output, got, expected in zip(data["names"], results, case["outputs"], strict=True):
            if got.dtype != expected.dtype or not torch.allclose(got, expected, rtol=1e-5, atol=1e-5, equal_nan=True):
                return f"{output} differs for {len(case['inputs'][0])} samples"
    print(f"{name}: compiled", flush=True)
    return None


def off(got, expected):
    """The root of the mean square difference, as a part of the results."""
    return float((got.double() - expected.double()).norm() / expected.double().norm().clamp_min(1e-12))


def check_int8(folder, name, data):
    for way, most in (("weights8", 1e-5), ("int8", MOST_OFF)):
        if isinstance(data[way], str):
            expected = REFUSED.get(name, ()) + (("no weight of float32",) if name in WITHOUT_WEIGHTS else ())
            if not any(part in data[way] for part in expected):
                return f"{way} is refused: {data[way]}"
            continue
        path = str(folder / f"{name}.{way}.onnx")
        onnx.checker.check_model(path, full_check=True)
        model = onnx.load(path)
        kinds = {node.op_type for node in model.graph.node}
        if "DequantizeLinear" not in kinds or ("QuantizeLinear" in kinds) != (way == "int8"):
            return f"{way} has the operators {kinds}"
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")  # float32 with weights of int8
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        for case, rounded in zip(data["sizes"], data[way], strict=True):
            values = [value.numpy() for value in case["inputs"]]
            results = session.run(None, dict(zip([i.name for i in session.get_inputs()], values, strict=True)))
            for output, got, expected in zip(data["names"], results, rounded, strict=True):
                if not expected.is_floating_point():
                    continue
                got = torch.from_numpy(got)
                if off(got, expected) > most:
                    return f"{way}: {output} differs for {len(values[0])} samples by {off(got, expected)}"
    return None


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    words = sys.argv[3:]
    checks = (check_inference, check_training, check_old, check_onnx, check_int8)
    if "--packages" in words:
        words.remove("--packages")
        checks = (check_package,)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    run = subprocess.run([program, folder, *words], capture_output=True, text=True, env=environment)
    failures = [line for line in run.stderr.splitlines() if line and not line.startswith("[W")]  # LibTorch's warnings
    torch.set_num_threads(1)
    names = run.stdout.split()
    for name in names:
        data = torch.load(folder / f"{name}.pt")
        for check in checks:
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
