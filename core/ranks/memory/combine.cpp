#include <levin/core/ranks/memory/combine.h>
#include <ATen/ops/add.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/bitwise_xor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mul.h>

#include <algorithm>
#include <array>

namespace levin {
namespace {

using Op = c10d::ReduceOp::RedOpType;

/// `result` may be one of the parts.
template <class Scalar>
void add_parts(Scalar* result, const std::vector<const std::byte*>& parts, int64_t count) {
  constexpr int64_t kBlock = 2048;  // stays in the first cache
  std::array<Scalar, kBlock> block;
  const auto values = [&](size_t part) { return reinterpret_cast<const Scalar*>(parts[part]); };
  const Scalar *const first = values(0), *const second = values(1);
  if (parts.size() == 2) {
    constexpr int64_t kAtOnce = 64;  // a number that the compiler knows, so that it takes the processor's vectors
    int64_t i = 0;
    for (; i + kAtOnce <= count; i += kAtOnce) {
#pragma GCC ivdep
      for (int64_t j = i; j < i + kAtOnce; ++j) result[j] = first[j] + second[j];
    }
    for (; i < count; ++i) result[i] = first[i] + second[i];
    return;
  }
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t length = std::min(count - begin, kBlock);
    for (int64_t i = 0; i < length; ++i) block[static_cast<size_t>(i)] = first[begin + i] + second[begin + i];
    for (size_t part = 2; part < parts.size(); ++part) {
      const Scalar* const next = values(part) + begin;
      for (int64_t i = 0; i < length; ++i) block[static_cast<size_t>(i)] += next[i];
    }
    std::copy(block.begin(), block.begin() + length, result + begin);
  }
}

void add_one(at::Tensor& result, const at::Tensor& part, Op op) {
  switch (op) {
    case Op::PRODUCT:
      at::mul_out(result, result, part);
      return;
    case Op::MIN:
      at::minimum_out(result, result, part);
      return;
    case Op::MAX:
      at::maximum_out(result, result, part);
      return;
    case Op::BAND:
      at::bitwise_and_out(result, result, part);
      return;
    case Op::BOR:
      at::bitwise_or_out(result, result, part);
      return;
    case Op::BXOR:
      at::bitwise_xor_out(result, result, part);
      return;
    default:
      at::add_out(result, result, part);
  }
}

}  // namespace

void combine(at::ScalarType dtype, Op op, std::byte* result, const std::vector<const std::byte*>& parts,
             int64_t bytes) {
  const int64_t count = bytes / static_cast<int64_t>(c10::elementSize(dtype));
  if (count == 0) return;
  const bool adds = parts.size() > 1 && op == Op::SUM;
  if (adds && dtype == at::kFloat) return add_parts(reinterpret_cast<float*>(result), parts, count);
  if (adds && dtype == at::kDouble) return add_parts(reinterpret_cast<double*>(result), parts, count);
  const auto view = [&](const std::byte* data) {
    return at::from_blob(const_cast<std::byte*>(data), {count}, at::TensorOptions(dtype));
  };
  at::Tensor combined = view(parts[0]).clone();
  for (size_t i = 1; i < parts.size(); ++i) add_one(combined, view(parts[i]), op);
  if (op == Op::AVG) combined.div_(static_cast<int64_t>(parts.size()));
  view(result).copy_(combined);
}

}  // namespace levin
