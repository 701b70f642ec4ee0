#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/program/exported_program.h>
#include <levin/modules/program/program_writer.h>

#include <vector>

namespace levin::program {

/// Rounds a program of inference to what 8 bits hold, by nodes of fake_quantize: weights of linear layers, convolutions
/// and embeddings to [-127, 127] with a scale for each output channel (each row of an embedding). With `calibration`,
/// which has a tensor for each of the user's inputs, weights to [-63, 63], the inputs of linear layers and convolutions
/// and the results of convolutions to 256 numbers between the least and the most that the calibration shows, and biases
/// to the product of both scales. A batch norm behind a convolution becomes a part of its weights. Tensors of `tensors`
/// are replaced, never changed. Returns the number of weights that were rounded.
///
/// Source: Jacob and others, "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
/// Inference", CVPR 2018.
size_t quantize(ExportedProgram& program, ProgramTensors& tensors,
                const std::vector<std::vector<at::Tensor>>& calibration);

}  // namespace levin::program
