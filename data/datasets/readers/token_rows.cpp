#include <levin/data/datasets/readers/token_rows.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>
#include <levin/core/system/error.h>
#include <levin/data/ignored_target.h>

#include <algorithm>
#include <utility>

namespace levin::data {
namespace {

int64_t texts_of(TokenRowKind kind) { return kind == TokenRowKind::Pair ? 2 : 1; }

}  // namespace

TokenRows::TokenRows(Contents contents)
    : contents_(std::move(contents)),
      tokens_(std::make_shared<const TokenStore>(contents_.samples * texts_of(contents_.kind), contents_.encode)) {
  contents_.encode = {};
}

std::span<const TextTokens::Token> TokenRows::tokens_of(int64_t index, int64_t part) const {
  const auto all = tokens_->sample(index * texts_of(contents_.kind) + part);
  return contents_.kind == TokenRowKind::Tagged ? all.first(all.size() / 2) : all;
}

std::vector<int64_t> TokenRows::lengths() const {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < size(); ++i) {
    int64_t length = 0;
    for (int64_t part = 0; part < texts_of(contents_.kind); ++part)
      length += static_cast<int64_t>(tokens_of(i, part).size());
    lengths.push_back(length);
  }
  return lengths;
}

/// Writes the tokens of one text of each sample, in memory of the batch `from`.
void TokenRows::add_rows(const Indices& indices, const std::string& prefix, int64_t part, Batch& from,
                         Batch& out) const {
  int64_t width = 0;
  for (const int64_t index : indices) width = std::max(width, static_cast<int64_t>(tokens_of(index, part).size()));
  const std::vector<int64_t> sizes = {indices.size(), width};
  const auto filled = [&](const std::string& name, int64_t value) {
    at::Tensor tensor = from.take_buffer(name, sizes, at::kLong);
    std::fill_n(tensor.mutable_data_ptr<int64_t>(), indices.size() * width, value);
    return tensor;
  };
  at::Tensor input = filled(prefix + "input", contents_.pad_id), mask = filled(prefix + "attention_mask", 0);
  at::Tensor types, tags;
  if (contents_.kind == TokenRowKind::Text) types = filled("token_type_ids", 0);
  if (contents_.kind == TokenRowKind::Tagged) tags = filled("target", kIgnoredTarget);
  const auto memory_of = [](at::Tensor& tensor) {
    return tensor.defined() ? tensor.mutable_data_ptr<int64_t>() : nullptr;
  };
  int64_t *const ids = memory_of(input), *const ones = memory_of(mask), *const kinds = memory_of(types),
                 *const classes = memory_of(tags);
  for (int64_t row = 0; row < indices.size(); ++row) {
    const auto tokens = tokens_of(indices[row], part);
    const int64_t begin = row * width;
    std::ranges::transform(tokens, ids + begin, [](TextTokens::Token token) { return token < 0 ? ~token : token; });
    std::fill_n(ones + begin, tokens.size(), 1);
    if (kinds != nullptr)
      std::ranges::transform(tokens, kinds + begin, [](TextTokens::Token token) { return token < 0 ? 1 : 0; });
    if (classes != nullptr) std::ranges::copy(tokens_->sample(indices[row]).subspan(tokens.size()), classes + begin);
  }
  out.set(prefix + "input", std::move(input));
  out.set(prefix + "attention_mask", std::move(mask));
  if (types.defined()) out.set("token_type_ids", std::move(types));
  if (tags.defined()) out.set("target", std::move(tags));
}

void TokenRows::get_batch(const Indices& indices, Batch& out) const {
  for (const int64_t index : indices)
    if (index < 0 || index >= size()) throw Error("TokenRows: no sample ", index, " among ", size());
  Batch batch;
  add_rows(indices, "", 0, out, batch);
  if (contents_.kind == TokenRowKind::Pair) add_rows(indices, "second_", 1, out, batch);
  if (contents_.target.defined()) {
    std::vector<int64_t> numbers;
    for (const int64_t index : indices) numbers.push_back(index);
    batch.set("target", contents_.target.index_select(0, at::tensor(numbers, at::kLong)));
  }
  out = std::move(batch);
}

Batch TokenRows::get(int64_t index, Rng& /*rng*/) const { return sample_of_batch(*this, index); }

}  // namespace levin::data
