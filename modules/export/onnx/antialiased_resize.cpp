#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/pow.h>
#include <levin/modules/export/onnx/call.h>

namespace levin::onnx {
namespace {

/// The weight of a pixel by its distance from an output pixel, and how far it reaches.
struct Filter {
  double reach;
  std::string (*weight)(const Call& call, const std::string& distance, at::ScalarType dtype);
};

std::string of(const Call& call, double value, at::ScalarType dtype) { return call.build().number(value, dtype); }

/// Returns max(0, 1 - x).
std::string triangle(const Call& call, const std::string& x, at::ScalarType dtype) {
  return call.add("Max", {call.add("Sub", {of(call, 1, dtype), x}), of(call, 0, dtype)});
}

/// Returns Keys' cubic with a = -0.5, which ATen takes where it antialiases.
std::string cubic(const Call& call, const std::string& x, at::ScalarType dtype) {
  const auto number = [&](double value) { return of(call, value, dtype); };
  const auto times = [&](const std::string& a, const std::string& b) { return call.add("Mul", {a, b}); };
  const auto plus = [&](const std::string& a, const std::string& b) { return call.add("Add", {a, b}); };
  const std::string near = plus(times(times(plus(times(number(1.5), x), number(-2.5)), x), x), number(1));
  const std::string far =
      plus(times(plus(times(plus(times(number(-0.5), x), number(2.5)), x), number(-4)), x), number(2));
  const std::string beyond = call.add("Where", {call.add("Less", {x, number(2)}), far, number(0)});
  return call.add("Where", {call.add("Less", {x, number(1)}), near, beyond});
}

/// What the pixels of one side become: a matrix [to, from], and the power of two that its whole numbers are scaled by.
struct Weights {
  std::string matrix = {}, power = {};
};

/// Computes the weights of a side as ATen does, in the model, since its sizes may change: `from` and `to` hold one
/// whole number each.
Weights weights_of(const Call& call, const std::string& from, const std::string& to, const Filter& filter,
                   at::ScalarType dtype, bool is_whole) {
  const auto number = [&](double value) { return of(call, value, dtype); };
  const auto real = [&](const std::string& value) { return call.cast_value(value, at::kLong, dtype); };
  const auto counted = [&](const std::string& end, int64_t axis) {  // 0, 1, ... as a row or a column
    const std::string scalar = call.add("Squeeze", {end});
    const std::string range = call.add("Range", {call.build().whole(0), scalar, call.build().whole(1)});
    return real(call.add("Unsqueeze", {range, call.build().wholes({axis})}));
  };
  const std::string scale = call.add("Div", {real(from), real(to)});
  const std::string stretch = call.add("Max", {scale, number(1)});
  const std::string support = call.add("Mul", {stretch, number(filter.reach)});
  const std::string center = call.add("Mul", {scale, call.add("Add", {counted(to, 1), number(0.5)})});
  const std::string pixel = counted(from, 0);
  const auto edge = [&](const char* side) {
    return call.add("Floor", {call.add("Add", {call.add(side, {center, support}), number(0.5)})});
  };
  const std::string is_inside =
      call.add("And", {call.add("GreaterOrEqual", {pixel, edge("Sub")}), call.add("Less", {pixel, edge("Add")})});
  const std::string offset = call.add("Add", {call.add("Sub", {pixel, center}), number(0.5)});
  const std::string distance = call.add("Abs", {call.add("Mul", {offset, call.add("Reciprocal", {stretch})})});
  const std::string weight = call.add("Where", {is_inside, filter.weight(call, distance, dtype), number(0)});
  const std::string shares =
      call.add("Div", {weight, call.add("ReduceSum", {weight, call.build().wholes({1})}, {{"keepdims", int64_t{1}}})});
  if (!is_whole) return {shares, ""};
  // ATen multiplies bytes by whole numbers of 15 bits: the weights times the largest power of two that keeps them so.
  constexpr int64_t kMostBits = 22;
  constexpr double kMost = 1 << 15;
  const at::Tensor powers = at::pow(2, at::arange(1, kMostBits + 1)).to(dtype);
  const std::string largest = call.add("ReduceMax", {shares}, {{"keepdims", int64_t{0}}});
  const std::string candidates = call.build().constant(powers);
  const std::string fits =
      call.add("Less", {call.add("Add", {call.add("Mul", {largest, candidates}), number(0.5)}), number(kMost)});
  const std::string power =
      call.add("ReduceMax", {call.add("Where", {fits, candidates, number(1)})}, {{"keepdims", int64_t{0}}});
  const std::string size =
      call.add("Floor", {call.add("Add", {call.add("Mul", {call.add("Abs", {shares}), power}), number(0.5)})});
  return {call.add("Mul", {call.add("Sign", {shares}), size}), power};
}

/// Weighs the columns, then the rows, as ATen does. Bytes are rounded after each, and have ATen's values to the bit.
void give_antialiased(const Call& call, const Filter& filter) {
  const at::ScalarType dtype = call.meta("self").dtype;
  const bool is_whole = dtype == at::kByte;
  if (!is_whole && dtype != at::kFloat) call.refuse("resizes numbers that are neither bytes nor float32");
  if (call.flag("align_corners")) call.refuse("aligns corners");
  if (!call.has("output_size")) call.refuse("has factors in place of a size");
  const at::ScalarType computed = is_whole ? at::kDouble : dtype;
  const std::string sizes = call.sizes("output_size");
  const std::string image = call.value("self");
  std::string pixels = call.cast_value(image, dtype, computed);
  const auto number = [&](double value) { return of(call, value, computed); };
  for (const int64_t side : {1, 0}) {
    const std::string from = call.add("Shape", {image}, {{"start", side + 2}, {"end", side + 3}});
    const std::string to = call.add("Gather", {sizes, call.build().wholes({side})});
    const Weights weights = weights_of(call, from, to, filter, computed, is_whole);
    pixels = side == 1 ? call.add("MatMul", {pixels, call.transposed(weights.matrix, 2)})
                       : call.add("MatMul", {weights.matrix, pixels});
    if (!is_whole) continue;
    const std::string half = call.add("Mul", {weights.power, number(0.5)});
    pixels = call.add("Floor", {call.add("Div", {call.add("Add", {pixels, half}), weights.power})});
    pixels = call.add("Clip", {pixels, number(0), number(255)});
  }
  call.give(call.cast_value(pixels, computed, dtype));
}

}  // namespace

void add_antialiased_resize(Converters& converters) {
  converters["_upsample_bilinear2d_aa"] = [](const Call& call) { give_antialiased(call, {1, triangle}); };
  converters["_upsample_bicubic2d_aa"] = [](const Call& call) { give_antialiased(call, {2, cubic}); };
}

}  // namespace levin::onnx
