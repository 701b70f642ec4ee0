"""The two programs of docs/from_a_loop.md end with the same bits, unbroken and resumed, and the page shows their code.

Usage: from_a_loop_test.py BY_HAND WITH_LEVIN
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(program, folder, *flags):
    done = subprocess.run([program, str(folder), *flags], capture_output=True, text=True, cwd=folder.parent)
    assert done.returncode == 0, done.stdout + done.stderr


def by_hand(folder):
    weights = torch.jit.load(str(folder / "weights.pt"))
    return dict(weights.named_parameters())


def with_levin(folder):
    files = sorted(folder.rglob("weights.pt"))
    assert len(files) == 1, files
    return {name.removeprefix("net."): value for name, value in torch.load(files[0]).items()}


def check_same(name, one, other):
    assert len(one) == 4 and one.keys() == other.keys(), (name, one.keys(), other.keys())
    for key, value in one.items():
        assert torch.equal(value, other[key]), f"{name}: {key} differs by {(value - other[key]).abs().max()}"


def check_page():
    """Each block of C++ on the page stands in one of the programs."""
    sources = [re.sub(r"\s+", " ", (ROOT / "examples/from_a_loop" / file).read_text())
               for file in ("by_hand.cpp", "with_levin.cpp", "problem.h")]
    blocks = re.findall(r"```cpp\n(.*?)```", (ROOT / "docs/from_a_loop.md").read_text(), re.DOTALL)
    assert len(blocks) >= 6, "the page has lost its code"
    for block in blocks:
        text = re.sub(r"\s+", " ", block).strip()
        assert any(text in source for source in sources), f"no program has this code of docs/from_a_loop.md:\n{block}"


def main():
    hand, levin = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        run(hand, work / "hand")
        run(levin, work / "levin")
        expected = by_hand(work / "hand")
        check_same("unbroken", with_levin(work / "levin"), expected)
        run(hand, work / "hand_twice", "--max-epochs", "3")
        run(hand, work / "hand_twice", "--resume")
        check_same("by hand, resumed", by_hand(work / "hand_twice"), expected)
        for stop in (["--max-epochs", "3"], ["--max-steps", "13"]):  # after an epoch, and inside one
            folder = work / ("levin" + stop[0])
            run(levin, folder, *stop)
            run(levin, folder, "--resume")
            check_same(f"levin, resumed after {stop}", with_levin(folder), expected)
    check_page()


main()
