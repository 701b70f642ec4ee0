#pragma once
#include <levin/modules/program/exported_program.h>

namespace levin::program {

/// Replaces calls that LibTorch's C++ interface makes by those that Python's makes, which other programs look for, with
/// the same bits: `_convolution` by conv2d and its kin, `_pad_enum` by pad, the overload of a number by that of a
/// tensor, and a transposed weight with addmm, or with matmul and no bias, by linear.
void make_canonical(ExportedProgram& program);

}  // namespace levin::program
