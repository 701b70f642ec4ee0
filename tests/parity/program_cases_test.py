"""Calls programs of torch.export under levin and their modules in Python: outputs, gradients, buffers, changed inputs.

Usage: python program_cases_test.py PROGRAM_TRAINER [NAME ...]

Each case of programs/hard.py is exported in train and in eval mode, and called in both modes, from one seed. What levin
must refuse, it refuses with words that say what to do.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

os.environ["OMP_NUM_THREADS"] = "1"
warnings.simplefilter("ignore")  # torch mentions that NumPy is absent
here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here / "programs"))

import hard  # noqa: E402
import torch  # noqa: E402
from torch.utils._pytree import tree_leaves, tree_map  # noqa: E402

SEED, TOLERANCE, MODES = 5, 1e-6, ("train", "eval")
# What levin says of programs that it does not run.
REFUSED = {
    "cond": ("higher_order.cond", "torch.where"),
    "while_loop": ("higher_order.while_loop", "write the loop out"),
    "map": ("higher_order.map_impl", "write the loop out"),
    "empty": ("has no parameters to train",),
}
# Modes (of export, of the call) in which a program cannot know what its module does, and why.
UNKNOWN = {
    "attention_dropout": {("eval", "train")},  # an attention in eval mode has the probability 0
    "multihead_attention": {("eval", "train")},
    "frozen_batch_norm": {("eval", "train")},  # all of its norms are in eval mode
    "fixed_dropout": {("train", "eval"), ("eval", "eval")},  # it looks like dropout in train mode
}
# Its buffers are in eval mode as before under levin, also those that the module writes there.
WRITES_BUFFERS = ("assigned_buffer",)
torch.set_num_threads(1)
torch.backends.mha.set_fastpath_enabled(False)  # a kernel for inference alone, with other roundings


def in_python(name, training, args, kwargs):
    """What `program_trainer run` writes, of the module in Python."""
    module = hard.module_of(name).train(training)
    torch.manual_seed(SEED)
    outputs = [leaf if isinstance(leaf, torch.Tensor) else None for leaf in tree_leaves(module(*args, **kwargs))]
    squares = [output.square().sum() for output in outputs if output is not None and output.requires_grad]
    if squares:
        sum(squares[1:], squares[0]).backward()
    result = {"outputs": outputs, "gradients": {key: value.grad for key, value in module.named_parameters(remove_duplicate=False)},
              "state": module.state_dict(),
              "inputs": [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]}
    return tree_map(lambda value: value.detach() if isinstance(value, torch.Tensor) else value, result)


def differences(ours, theirs, at=""):
    """Where two results differ by more than the tolerance, and whether all bits are equal."""
    if isinstance(theirs, dict):
        if sorted(ours) != sorted(theirs):
            return [f"{at} has {sorted(ours)} instead of {sorted(theirs)}"], False
        pairs = [(ours[key], theirs[key], f"{at} {key}") for key in theirs]
    elif isinstance(theirs, (list, tuple)):
        if len(ours) != len(theirs):
            return [f"{at} are {len(ours)} instead of {len(theirs)}"], False
        pairs = [(a, b, f"{at} {i}") for i, (a, b) in enumerate(zip(ours, theirs))]
    elif theirs is None or ours is None:
        return ([] if theirs is ours else [f"{at} is {'there' if theirs is None else 'absent'}"]), theirs is ours
    else:
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return [f"{at} is {ours.dtype} {list(ours.shape)} instead of {theirs.dtype} {list(theirs.shape)}"], False
        if torch.equal(ours, theirs) or (ours.isnan() & theirs.isnan() | (ours == theirs)).all():
            return [], True
        a, b = (t.to(torch.complex128 if t.is_complex() else torch.float64) for t in (ours, theirs))
        worst = ((a - b).abs().max() / b.abs().max().clamp(min=1)).item()
        return ([] if worst <= TOLERANCE else [f"{at} differ by {worst:.1e}"]), False
    found, equal = [], True
    for pair in pairs:
        more, same = differences(*pair)
        found, equal = found + more, equal and same
    return found, equal


def arguments_of(name):
    torch.manual_seed(3)
    return hard.HARD[name].args(), hard.HARD[name].kwargs()


def write(name, folder, exported_mode):
    """Writes a program and its inputs; returns the files that `program_trainer run` takes."""
    folder.mkdir(parents=True)
    torch.export.save(hard.exported(name, exported_mode == "train"), folder / "net.pt2")
    tensors = [leaf for leaf in tree_leaves(arguments_of(name)) if isinstance(leaf, torch.Tensor)]
    torch.save({"weights": hard.module_of(name).state_dict(), "inputs": tensors}, folder / "in.pt")
    return [folder / "net.pt2", folder / "in.pt", folder / "out.pt"]


def compare(name, folder, exported_mode):
    """What is wrong with one program, and whether all bits are equal."""
    error = folder / "out.pt.error"
    said = error.read_text() if error.exists() else ""
    if name in REFUSED:
        missing = [words for words in REFUSED[name] if words not in said]
        return ([f"was not refused with {missing}: {said}"] if missing else []), True
    if said or not (folder / "out.pt").exists():
        return [f"exported in {exported_mode} mode: {said.strip() or 'nothing was written'}"], False
    ours, wrong, all_equal = torch.load(folder / "out.pt", weights_only=True), [], True
    for mode in MODES:
        if (exported_mode, mode) in UNKNOWN.get(name, ()):
            continue
        theirs = in_python(name, mode == "train", *arguments_of(name))
        if mode == "eval" and name in WRITES_BUFFERS:
            theirs["state"] = hard.module_of(name).state_dict()
        found, equal = differences(ours[mode], theirs)
        wrong += [f"exported in {exported_mode} mode, in {mode} mode:{text}" for text in found]
        all_equal = all_equal and equal
    return wrong, all_equal


def main():
    hard.register()
    names, failed = sys.argv[2:] or list(hard.HARD), []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = [file for name in names for mode in MODES for file in write(name, folder / name / mode, mode)]
        # One process calls all of them: each would take longer to start than to run.
        done = subprocess.run([sys.argv[1], "run", *files], capture_output=True, text=True)
        if done.returncode != 0:
            failed.append(f"the program ended with {done.returncode}: {done.stderr}")
        for name in names:
            results = [compare(name, folder / name / mode, mode) for mode in MODES]
            wrong = [text for texts, _ in results for text in texts]
            failed += [f"{name}: {text}" for text in wrong]
            word = "FAILED" if wrong else "refused" if name in REFUSED else "equal" if all(same for _, same in results) else "close"
            print("\n  ".join([f"{name}: {word}", *wrong]), flush=True)
    if failed:
        sys.exit(f"{len(failed)} differences")


if __name__ == "__main__":
    main()
