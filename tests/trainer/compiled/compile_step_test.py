"""What compile_step.py says of steps whose number of samples cannot vary.

Usage: python compile_step_test.py FOLDER_OF_COMPILE_STEP
"""

import sys
import unittest

sys.path.insert(0, sys.argv[1])

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
