#include <levin/data/datasets/text_pairs.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/json_line.h>

#include <utility>

namespace levin::data {

TextPairs::TextPairs(Options options)
    : TextRecordsModule("TextPairs", {.files = options.files,
                                      .tokens = options.tokens,
                                      .group_by_length = options.group_by_length,
                                      .loader = loader_options(options)}),
      options_(std::move(options)) {
  schema_of<Options>().check(&options_, "data");
  if (options_.second_field.empty() && !options_.score_field.empty())
    throw UsageError("data.score_field: a score is one of a pair; set data.second_field, or leave the score out");
}

DatasetPtr TextPairs::make_rows(const Share& share, Split split) {
  const bool is_pair = !options_.second_field.empty();
  const bool has_scores = !options_.score_field.empty() && split != Split::Predict;
  const TextTokens& encoder = tokens();
  const LabelReader numbers(LabelType::Number, {});
  at::Tensor target;
  if (has_scores) target = at::zeros({share.size()}, at::kFloat);
  const auto encode = [&](int64_t sequence) {
    const int64_t i = is_pair ? sequence / 2 : sequence;
    const bool is_second = is_pair && sequence % 2 == 1;
    const std::string place = share.place(i);
    const nlohmann::json record = share.record(i);
    if (has_scores && !is_second)
      target.mutable_data_ptr<float>()[i] = static_cast<float>(
          static_cast<double>(numbers.number_of(field_of(record, options_.score_field, place), place)) /
          options_.divide_scores_by);
    return encoder.encode(text_of_field(record, is_second ? options_.second_field : options_.text_field, place), place);
  };
  return std::make_shared<const TokenRows>(
      TokenRows::Contents{.kind = is_pair ? TokenRowKind::Pair : TokenRowKind::Text,
                          .samples = share.size(),
                          .encode = encode,
                          .pad_id = encoder.pad_id(),
                          .target = target});
}

}  // namespace levin::data
