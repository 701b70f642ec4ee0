#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/adapters/base_format.h>

#include <cstdint>
#include <string>

namespace levin::adapters {

/// The form in which the frozen weight of a layer is held in place of its floats.
struct HeldForm {
  BaseFormat format = BaseFormat::NF4;
  bool double_quant = false;  ///< the scales of NF4 are numbers of 8 bits themselves
  int64_t rows = 0, cols = 0;
  at::ScalarType dtype = at::kFloat;  ///< of the weight before
};

/// Elements that share a scale in NF4, and scales that share one in double quantisation.
constexpr int64_t kNF4Block = 64, kScaleBlock = 256;

/// Returns `weight` [rows, cols], of floats on any device, in the form: bfloat16 [rows, cols]; or bytes [n, 1], in one
/// tensor so that all that moves, saves or shares a parameter takes codes and scales along.
///
/// - int8: the codes, row by row, to a multiple of 16 bytes; then one float32 a row. A value is code * scale, where the
///   scale is the row's largest magnitude / 127.
/// - nf4: codes of 4 bits, row by row, the first of two in the high bits, to a multiple of 64 codes; then one float32
///   for 64 codes, their largest magnitude. With double quantisation the scales are less their mean, as dynamic_values
///   times the largest magnitude of 256 of them: one byte each, to a multiple of 16; then a float32 for 256; then the
///   mean.
///
/// Throws as check_can_be_held.
/// Source: Dettmers et al. 2023, "QLoRA: Efficient Finetuning of Quantized LLMs", section 3.
at::Tensor held_values(const at::Tensor& weight, const HeldForm& form, const std::string& name);

/// Throws levin::UsageError that names the layer for values that are not finite, if the form has codes.
void check_can_be_held(const at::Tensor& weight, BaseFormat format, const std::string& name);

/// Returns how many rows can be read at once: whole blocks, and at most 2^18 elements on the CPU, 2^24 on a GPU.
int64_t rows_at_once(const HeldForm& form, c10::Device device);

/// Returns the weight's rows from `begin` on in `dtype` [count, cols], on the device of `held`. `begin` is a multiple
/// of rows_at_once. On the CPU the next call in the same thread may write over them.
at::Tensor rows_of(const at::Tensor& held, const HeldForm& form, int64_t begin, int64_t count, at::ScalarType dtype);

/// Returns the whole weight in its dtype from before.
at::Tensor whole_weight(const at::Tensor& held, const HeldForm& form);

}  // namespace levin::adapters
