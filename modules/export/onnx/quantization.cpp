#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>
#include <levin/modules/export/onnx/call.h>

#include <limits>
#include <optional>

namespace levin::onnx {
namespace {

/// Returns the dtype that has exactly these numbers.
std::optional<at::ScalarType> dtype_of(int64_t least, int64_t most) {
  if (least == -128 && most == 127) return at::kChar;
  if (least == 0 && most == 255) return at::kByte;
  return std::nullopt;
}

void give_rounded(const Call& call) {
  const auto dtype = dtype_of(call.integer("quant_min"), call.integer("quant_max"));
  if (!dtype) call.refuse("rounds to numbers that are not those of int8 or uint8");
  const std::string scale = call.build().number(call.real("scale"), at::kFloat);
  const std::string zero = call.build().constant(at::scalar_tensor(call.integer("zero_point"), *dtype));
  call.give(call.add("DequantizeLinear", {call.add("QuantizeLinear", {call.value("self"), scale, zero}), scale, zero}));
}

/// A weight becomes whole numbers; those of 32 bits are biases.
void give_rounded_channels(const Call& call) {
  const int64_t least = call.integer("quant_min"), most = call.integer("quant_max");
  const at::Tensor values = call.tensor("self"), scales = call.tensor("scale"), zeros = call.tensor("zero_point");
  if (!values.defined() || !scales.defined() || !zeros.defined() || zeros.any().item<bool>())
    call.refuse("rounds what is no weight, or not around zero");
  const bool is_int8 = least >= -128 && most <= 127;
  if (!is_int8 && least != std::numeric_limits<int32_t>::min())
    call.refuse("rounds to numbers that are not those of int8 or int32");
  const int64_t axis = call.integer("axis");
  std::vector<int64_t> along(static_cast<size_t>(values.dim()), 1);
  along[static_cast<size_t>(axis)] = -1;
  // As ATen's kernel: the product with the inverse, in float32.
  const at::Tensor numbers = (values * scales.reciprocal().view(along))
                                 .round()
                                 .to(at::kDouble)
                                 .clamp(least, most)
                                 .to(is_int8 ? at::kChar : at::kInt);
  call.give(call.add_weight({call.value("self") + (is_int8 ? "_int8" : "_int32"), numbers, scales, axis}));
}

}  // namespace

void add_quantization(Converters& converters) {
  converters["fake_quantize_per_tensor_affine"] = give_rounded;
  converters["fake_quantize_per_channel_affine"] = give_rounded_channels;
}

}  // namespace levin::onnx
