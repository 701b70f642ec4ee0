#include <levin/data/datasets/readers/raw_rows.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <levin/core/system/joined.h>

namespace levin::data {

std::optional<RawInput> raw_rows(const CsvEncoding& encoding, bool standardize, CsvMissing missing) {
  RawInput raw;
  // Made here: what is made while a tracer records becomes a step of the graph.
  const at::Tensor mean = at::tensor(encoding.mean, at::kDouble), stddev = at::tensor(encoding.stddev, at::kDouble);
  if (!encoding.features.empty()) {
    raw.example.set("input", at::stack({mean - stddev, mean + stddev}).to(at::kFloat));
    raw.meaning = "input: the numbers " + joined(encoding.features);
  }
  if (!encoding.categories.empty()) {
    const auto count = static_cast<int64_t>(encoding.categories.size());
    raw.example.set("category", at::zeros({2, count}, at::kLong));
    raw.meaning +=
        (raw.meaning.empty() ? "category: the codes of " : "; category: the codes of ") + joined(encoding.categories);
  }
  raw.prepare = [mean, stddev, zero = at::zeros_like(mean), standardize, missing](const Batch& rows) {
    Batch prepared = rows;
    if (mean.numel() == 0) return prepared;
    // As encode_csv: in float64, rounded once.
    at::Tensor numbers = rows.input().to(at::kDouble);
    if (missing == CsvMissing::Mean) numbers = at::where(numbers.isnan(), mean, numbers);
    if (missing == CsvMissing::Zero) numbers = at::where(numbers.isnan(), zero, numbers);
    if (standardize) numbers = numbers.sub(mean).div(stddev);
    prepared.set("input", numbers.to(at::kFloat));
    return prepared;
  };
  return raw;
}

}  // namespace levin::data
