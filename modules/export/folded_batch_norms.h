#pragma once
#include <levin/modules/program/exported_program.h>
#include <levin/modules/program/program_writer.h>

namespace levin::program {

/// Makes each batch norm of a program of inference that alone reads a convolution's result a part of the convolution:
/// its scale goes into the weight, and its bias becomes the convolution's. Tensors of `tensors` are replaced.
void fold_batch_norms(ExportedProgram& program, ProgramTensors& tensors);

}  // namespace levin::program
