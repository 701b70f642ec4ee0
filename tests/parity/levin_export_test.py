"""scripts/levin-export: what it writes trains under levin, and what it cannot export it refuses with words that help.

Usage: python levin_export_test.py LEVIN_EXPORT PROGRAM_TRAINER
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import torch

warnings.simplefilter("ignore")  # torch mentions that NumPy is absent
EXPORT, TRAINER = sys.argv[1], sys.argv[2]

NETS = '''
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, hidden=8, drop=0.1):
        super().__init__()
        self.first, self.norm, self.drop, self.last = nn.Linear(6, hidden), nn.BatchNorm1d(hidden), nn.Dropout(drop), nn.Linear(hidden, 4)

    def forward(self, input):
        return self.last(self.drop(self.norm(self.first(input)).relu()))

class Mixed(Net):
    def forward(self, input):
        with torch.autocast("cpu", torch.bfloat16):
            return super().forward(input).float()

class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(20, 6), nn.Linear(6, 4)

    def forward(self, input, mask):
        return self.head((self.table(input) * mask[..., None]).sum(1))

class Variadic(Net):
    def forward(self, *inputs):
        return super().forward(inputs[0])

class FixedSize(Net):
    def forward(self, input):
        return super().forward(input) * torch.arange(int(input.shape[0]))[:8].sum() if input.shape[0] == 8 else super().forward(input)

class Deciding(Net):
    def forward(self, input):
        return super().forward(input if input.sum() > 0 else -input)

class Choosing(Net):
    def forward(self, input):
        return torch.cond(input.sum() > 0, lambda x: x + 1, lambda x: x - 1, (super().forward(input),))

class Lost(Net):
    def forward(self, input):
        with torch.autocast("cpu", torch.bfloat16):
            with torch.no_grad():
                features = self.first(input)
            return self.last(features)

class Frozen(Net):
    def forward(self, input):
        with torch.no_grad():
            return super().forward(input)

class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)
    @staticmethod
    def backward(ctx, gradient):
        return -gradient

class Reversed(Net):
    def forward(self, input):
        return self.last(Reverse.apply(self.first(input).relu())).softmax(-1)

class HookedTensor(Net):
    def forward(self, input):
        hidden = self.first(input).relu()
        if hidden.requires_grad:
            hidden.register_hook(lambda gradient: gradient * 0.1)
        return self.last(hidden)

class HookedParameter(Net):
    def __init__(self):
        super().__init__()
        self.last.weight.register_hook(lambda gradient: gradient * 0.1)

class Centred(Net):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(6))
    def forward(self, input):
        if self.training:
            self.mean.lerp_(input.detach().mean(0), 0.1)
        return super().forward(input - self.mean)

class Noisy(Net):
    def forward(self, input):
        return super().forward(input + torch.randn_like(input) if self.training else input)

def make(hidden):
    return Net(hidden)

made = Net()
number = 3
def wrong():
    return number
def bare():
    return nn.ReLU()
'''


def load_export():
    loader = importlib.machinery.SourceFileLoader("levin_export", EXPORT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("levin_export", loader))
    loader.exec_module(module)
    return module


EXPORTER = load_export()


class LevinExportTest(unittest.TestCase):
    def setUp(self):
        self.enterContext(contextlib.chdir(self.enterContext(tempfile.TemporaryDirectory())))
        self.path = list(sys.path)
        pathlib.Path("nets.py").write_text(NETS)

    def tearDown(self):
        sys.path[:] = self.path
        sys.modules.pop("nets", None)

    def export(self, *line):
        """What is printed."""
        before, sys.argv = sys.argv, ["levin-export", *line]
        try:
            with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
                EXPORTER.main()
        finally:
            sys.argv = before
        return out.getvalue()

    def refused(self, *line, says):
        with self.assertRaises(SystemExit) as caught:
            self.export(*line)
        self.assertIn(says, str(caught.exception.code))
        self.assertTrue(str(caught.exception.code).startswith("levin-export: "), caught.exception.code)
        self.assertFalse(pathlib.Path("out.pt2").exists())

    def fit(self, *flags):
        """Trains two epochs of 20 samples in batches of 8, of which the last has 4."""
        done = subprocess.run([TRAINER, "fit", "--model.class", "ProgramModule", "--model.program", "out.pt2", "--model.loss",
                               "cross_entropy", "--model.save_to", "trained.pt2", "--data.class", "Tensors", "--data.file", "data.pt",
                               "--data.batch_size", "8", "--seed", "1", "--max-epochs", "2", "--accelerator", "cpu", "--name", "run",
                               *flags], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return torch.load("run/version_0/weights.pt", weights_only=True)

    def check_trained(self, net, *inputs, **named):
        """The trained program computes what the module does with the trained weights, which have moved."""
        start = {name: value.clone() for name, value in net.state_dict().items()}
        weights = self.fit()
        self.assertEqual(sorted(weights), sorted(start))
        for name, value in weights.items():
            self.assertFalse(torch.equal(value, start[name]), name)
        net.load_state_dict(weights)
        program = torch.export.load("trained.pt2").module()
        self.assertTrue(torch.equal(program(*inputs, **named), net.eval()(*inputs, **named)))

    def module(self, name, *args):
        self.enterContext(contextlib.redirect_stdout(io.StringIO()))
        sys.path[:0] = [os.getcwd()]
        return getattr(importlib.import_module("nets"), name)(*args)

    def test_a_class_trains_for_any_batch(self):
        text = self.export("nets.py:Net", "out.pt2", "--example", "batch,6", "--set", "hidden=12")
        self.assertIn("out.pt2: Net, 160 parameters", text)
        self.assertIn("input input: float32 [batch, 6]", text)
        self.assertIn("float32 [batch, 4]", text)
        torch.save({"input": torch.randn(20, 6), "target": torch.arange(20) % 4}, "data.pt")
        torch.manual_seed(0)
        self.check_trained(self.module("Net", 12), torch.randn(5, 6))

    def test_autocast_inside_of_forward_trains_and_is_saved(self):
        self.export("nets:Mixed", "out.pt2", "--example", "input=batch,6")
        torch.save({"input": torch.randn(20, 6), "target": torch.arange(20) % 4}, "data.pt")
        torch.manual_seed(0)
        self.check_trained(self.module("Mixed"), input=torch.randn(5, 6))

    def test_inputs_by_order_and_by_name_with_several_sizes(self):
        text = self.export("nets.py:Words", "out.pt2", "--example", "int64:batch,length:20", "--example", "mask=batch,length", "--size",
                           "length=9")
        self.assertIn("input input: int64 [batch, length]", text)
        self.assertIn("input mask: float32 [batch, length]", text)
        torch.save({"input": torch.randint(20, (20, 7)), "mask": torch.ones(20, 7), "target": torch.arange(20) % 4}, "data.pt")
        torch.manual_seed(0)
        self.check_trained(self.module("Words"), torch.randint(20, (3, 11)), mask=torch.ones(3, 11))

    def test_functions_made_networks_weights_and_modes(self):
        self.export("nets.py:make", "out.pt2", "--example", "batch,6", "--set", "hidden=5")
        self.assertEqual(torch.export.load("out.pt2").state_dict["first.weight"].shape, (5, 6))
        self.export("nets.py:made", "out.pt2", "--example", "batch,6")
        weights = {name: torch.full_like(value, 2) for name, value in self.module("Net").state_dict().items()}
        torch.save({"state_dict": weights}, "weights.pt")
        self.export("nets.py:Net", "out.pt2", "--example", "batch,6", "--weights", "weights.pt", "--eval")
        program = torch.export.load("out.pt2")
        for name, value in program.state_dict.items():
            self.assertTrue(torch.equal(value, weights[name]), name)  # tracing leaves running statistics as they are

    def test_a_fixed_size_stays_fixed(self):
        self.assertIn("input input: float32 [7, 6]", self.export("nets.py:Net", "out.pt2", "--example", "7,6"))

    def test_what_is_named_wrongly_is_refused(self):
        at = ["--example", "batch,6"]
        self.refused("nets.py", "out.pt2", *at, says="MODULE:NAME was expected")
        self.refused("missing.py:Net", "out.pt2", *at, says="there is no such file")
        self.refused("no_such_module:Net", "out.pt2", *at, says="cannot be imported")
        self.refused("nets.py:Nett", "out.pt2", *at, says="has no Nett; its modules are Net, Mixed, Words")
        self.refused("nets.py:number", "out.pt2", *at, says="neither a class of torch.nn.Module")
        self.refused("nets.py:wrong", "out.pt2", *at, says="makes a int, not a torch.nn.Module")
        self.refused("nets.py:bare", "out.pt2", *at, says="has no parameters to train")
        self.refused("nets.py:make", "out.pt2", *at, says="give it its arguments by --set KEY=VALUE")
        self.refused("nets.py:made", "out.pt2", *at, "--set", "hidden=3", says="is made already")
        self.refused("nets.py:Net", "out.pt2", *at, "--set", "hidden", says="NAME=VALUE was expected")
        self.refused("nets.py:Net", "out.pt2", *at, "--weights", "nowhere.pt", says="--weights nowhere.pt")
        torch.save({"other": torch.ones(1)}, "other.pt")
        self.refused("nets.py:Net", "out.pt2", *at, "--weights", "other.pt", says="first.weight")
        self.refused("nets.py:Net", "nowhere/out.pt2", *at, says="nowhere/out.pt2 was not written")

    def test_wrong_examples_are_refused(self):
        self.refused("nets.py:Net", "out.pt2", says="describe each by --example")
        self.refused("nets.py:Net", "out.pt2", "--example", "batch;6", says="int64:batch,16:1000 say")
        self.refused("nets.py:Net", "out.pt2", "--example", "float8:batch,6", says="no dtype float8; there are float32")
        self.refused("nets.py:Net", "out.pt2", "--example", "batch,7", says="forward fails with these examples")
        self.refused("nets.py:Net", "out.pt2", "--example", "wrong=batch,6", says="forward fails with these examples")
        self.refused("nets.py:Net", "out.pt2", "--example", "batch,6", "--example", "batch,6", says="forward fails with these examples")
        self.refused("nets.py:Variadic", "out.pt2", "--example", "batch,6", says="forward takes *inputs; name each of them")
        self.refused("nets.py:Net", "out.pt2", "--example", "batch,6", "--size", "batch=1", says="a number from 2 on was expected")
        self.refused("nets.py:Net", "out.pt2", "--example", "batch,6", "--size", "lenght=8", says="no --example has it")
        self.refused("nets.py:Net", "out.pt2", "--example", "batch,width", says="forward fails with these examples")

    def test_what_no_program_can_do_is_refused(self):
        at = ["--example", "batch,6"]
        self.refused("nets.py:FixedSize", "out.pt2", *at, says="forward fixes the size 'batch'")
        self.refused("nets.py:Deciding", "out.pt2", *at, says="use torch.where")
        self.refused("nets.py:Choosing", "out.pt2", *at, says="which levin does not run: compute both sides")
        self.refused("nets.py:Lost", "out.pt2", *at, says="use detach() in its place")
        self.refused("nets.py:Frozen", "out.pt2", *at, says="no output of forward has a gradient")

    def test_gradients_that_an_export_loses_are_refused_by_the_parameter(self):
        at = ["--example", "batch,6"]
        for name in "Reversed", "HookedTensor":
            self.refused(f"nets.py:{name}", "out.pt2", *at, says="other gradients than the module: first.bias, first.weight;")
        self.refused("nets.py:HookedParameter", "out.pt2", *at, says="other gradients than the module: last.weight;")

    def test_what_eval_mode_does_otherwise_is_said(self):
        at = ["--example", "batch,6"]
        for name, words in (("Net", ""), ("Centred", "it writes the buffers mean, which"), ("Noisy", "it computes other values")):
            with contextlib.redirect_stderr(io.StringIO()) as said:
                before, sys.argv = sys.argv, ["levin-export", f"nets.py:{name}", "out.pt2", *at]
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        EXPORTER.main()
                finally:
                    sys.argv = before
            self.assertIn(words, said.getvalue())
            self.assertEqual("warning" in said.getvalue(), bool(words), said.getvalue())

    def test_it_runs_as_a_program(self):
        done = subprocess.run([sys.executable, EXPORT, "nets.py:Nett", "out.pt2", "--example", "batch,6"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("levin-export: nets.py has no Nett", done.stderr)
        self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
