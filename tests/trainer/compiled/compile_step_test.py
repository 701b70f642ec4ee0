"""What compile_step.py says of steps whose number of samples cannot vary, and what it computes beforehand.

Usage: python compile_step_test.py FOLDER_OF_COMPILE_STEP
"""

import sys
import unittest

sys.path.insert(0, sys.argv[1])

import torch  # noqa: E402

import compile_step  # noqa: E402


class ReasonTest(unittest.TestCase):
    def test_an_assertion_inside_of_pytorch_is_not_repeated(self):
        inner = "isIntList() INTERNAL ASSERT FAILED at ivalue.h:1, please report a bug to PyTorch. Expected IntList"
        for text in (inner, f"while tracing\n{inner}\n", ""):
            self.assertEqual(
                compile_step.reason(RuntimeError(text)),
                "PyTorch's compiler does not follow this step for a number of samples that varies")

    def test_what_pytorch_says_in_words_is_kept(self):
        said = compile_step.reason(ValueError("\n  Constraints violated (batch)!\nfurther lines"))
        self.assertEqual(said, "PyTorch's compiler, for a number of samples that varies: ValueError: Constraints violated (batch)!")


def value(place):
    return {"v": place}


ANGLES = [("aten::arange.default", [3], [1]), ("aten::cos.default", [value(1)], [2])]


class KnownValuesTest(unittest.TestCase):
    """Steps of one input, value 0, of three numbers. The last call gives the output."""

    def check(self, known, *calls, constants=()):
        program = {
            "inputs": [{"kind": "input", "shape": [3]}], "outputs": [value(calls[-1][2][0])],
            "calls": [{"op": op, "in": given, "out": results} for op, given, results in calls],
        }  # fmt: skip
        x = torch.tensor([1.0, 2.0, 4.0])
        own = [tensor.clone() for tensor in constants]
        step = compile_step.Step(program, own, channels_last=False)
        self.assertEqual(set(step.known), known)
        self.assertTrue(all(map(torch.equal, own, constants)))
        made = [step.forward([x.clone()])[0] for _ in range(2)]
        own[:] = [tensor.clone() for tensor in constants]
        step.known = {}
        torch.testing.assert_close(made[0], step.forward([x.clone()])[0], rtol=0, atol=0)
        return made

    def test_functions_of_no_input_are_computed_beforehand(self):
        made = self.check({2}, *ANGLES, ("aten::mul.Tensor", [value(0), value(2)], [3]))
        self.assertTrue(torch.equal(*made))

    def test_cheap_ones_are_left_to_the_compiler(self):
        self.check(set(), ANGLES[0], ("aten::mul.Tensor", [value(0), value(1)], [2]))

    def test_changes_in_place_of_what_no_input_has_read_belong_to_them(self):
        change = ("aten::add_.Scalar", [value(2), 1], [3])
        self.check({3}, *ANGLES, change, ("aten::mul.Tensor", [value(0), value(3)], [4]))

    def test_what_an_input_changes_is_not_known(self):
        self.check(set(), *ANGLES, ("aten::add_.Tensor", [value(2), value(0)], [3]))

    def test_what_is_changed_after_it_was_read_is_not_known(self):
        read, change = ("aten::mul.Tensor", [value(0), value(2)], [3]), ("aten::add_.Scalar", [value(2), 1], [4])
        self.check(set(), *ANGLES, read, change, ("aten::mul.Tensor", [value(3), value(4)], [5]))

    def test_constants_are_not_changed_beforehand(self):
        change = ("aten::exp_.default", [{"t": 0}], [1])
        self.check(set(), change, ("aten::mul.Tensor", [value(0), value(1)], [2]), constants=[torch.ones(3)])

    def test_random_numbers_are_drawn_in_each_step(self):
        drawn = [("aten::rand.default", [{"l": [3]}], [1]), ("aten::exp.default", [value(1)], [2])]
        program = {"inputs": [], "outputs": [], "calls": [{"op": op, "in": given, "out": out} for op, given, out in drawn]}
        self.assertEqual(compile_step.Step(program, [], channels_last=False).known, {})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
