"""The safetensors package writes files, safetensors_tool reads and rewrites them, the package reads those and compares.

usage: safetensors_python_test.py TOOL
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import torch

try:
    import safetensors
    import safetensors.torch
except ImportError:
    print("SKIPPED: this Python has no safetensors (scripts/setup --tests installs it)")
    sys.exit(77)

METADATA = {"format": "pt", "note": "grüße \" \\ \n"}


def every_dtype():
    values = torch.tensor([0, 1, 2, 3, 100, 127])
    names = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "uint16",
             "uint32", "uint64", "bool", "complex64", "float8_e4m3fn", "float8_e5m2"]
    return {name: values.to(getattr(torch, name)).reshape(2, 3) for name in names}


def cases():
    torch.manual_seed(0)
    odd = {"a": torch.tensor([True, False, True]), "b": torch.randn(5), "c": torch.arange(3, dtype=torch.int16)}
    return {
        "every_dtype": every_dtype(),
        "state_dict": torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)).state_dict(),
        "shapes": {"scalar": torch.tensor(3.5), "none": torch.empty(0), "inside": torch.empty(3, 0, 2)},
        "odd_sizes": odd,
        "special": {"nan": torch.tensor([float("nan"), float("inf"), -0.0, 5e-324], dtype=torch.float64)},
        "names": {"ключ": torch.ones(2), "with \"quotes\" \n": torch.zeros(2), "": torch.ones(1)},
        "empty": {},
        "large": {"w": torch.randn(1000, 1000)},
    }


def same(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return a.contiguous().reshape(-1).view(torch.uint8).equal(b.contiguous().reshape(-1).view(torch.uint8))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    tool = parser.parse_args().tool
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        all_cases = cases()
        arguments = []
        for name, tensors in all_cases.items():
            safetensors.torch.save_file(tensors, folder / f"{name}.in", metadata=METADATA)
            arguments += [folder / f"{name}.in", folder / f"{name}.out"]
        run = subprocess.run([tool, *arguments], capture_output=True, text=True, check=True)
        if run.stdout:
            wrong.append(f"refused: {run.stdout}")
        for name, tensors in all_cases.items():
            path = folder / f"{name}.out"
            if not path.exists():
                wrong.append(f"{name}: not written")
                continue
            back = safetensors.torch.load_file(path)
            if back.keys() != tensors.keys():
                wrong.append(f"{name}: keys {list(back)}")
            wrong += [f"{name}: {key}" for key in tensors if key in back and not same(tensors[key], back[key])]
            with safetensors.safe_open(path, framework="pt") as file:
                if file.metadata() != METADATA:
                    wrong.append(f"{name}: metadata {file.metadata()}")
    print("\n".join(wrong) or f"{len(all_cases)} files read and written alike")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
