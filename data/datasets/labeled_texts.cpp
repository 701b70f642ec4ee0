#include <levin/data/datasets/labeled_texts.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/json_line.h>

#include <utility>

namespace levin::data {
namespace {

/// Makes the memory of the targets of `samples`.
at::Tensor empty_targets(const LabelReader& labels, int64_t samples) {
  if (labels.type() == LabelType::Classes) return at::zeros({samples, labels.classes()}, at::kFloat);
  return at::zeros({samples}, labels.type() == LabelType::Number ? at::kFloat : at::kLong);
}

void write_label(const LabelReader& labels, const nlohmann::json& label, const std::string& place, at::Tensor target) {
  if (labels.type() == LabelType::Number) {
    *target.mutable_data_ptr<float>() = labels.number_of(label, place);
  } else if (labels.type() == LabelType::Class) {
    *target.mutable_data_ptr<int64_t>() = labels.class_of(label, place);
  } else {
    for (const int64_t one : labels.classes_of(label, place)) {
      if (one >= target.size(0))
        throw UsageError(place, ": the label has the class ", one, ", and the training labels have those up to ",
                         target.size(0) - 1);
      target.mutable_data_ptr<float>()[one] = 1;
    }
  }
}

}  // namespace

LabeledTexts::LabeledTexts(Options options)
    : TextRecordsModule("LabeledTexts", {.files = options.files,
                                         .tokens = options.tokens,
                                         .group_by_length = options.group_by_length,
                                         .loader = loader_options(options)}),
      options_(std::move(options)) {
  schema_of<Options>().check(&options_, "data");
}

DatasetPtr LabeledTexts::make_rows(const Share& share, Split split) {
  const bool has_target = split != Split::Predict;
  const LabelReader* const reader = has_target ? &labels() : nullptr;
  const TextTokens& encoder = tokens();
  const at::Tensor target = has_target ? empty_targets(*reader, share.size()) : at::Tensor();
  const auto encode = [&](int64_t i) {
    const std::string place = share.place(i);
    const nlohmann::json record = share.record(i);
    if (has_target) write_label(*reader, field_of(record, options_.label_field, place), place, target[i]);
    const std::string text = text_of_field(record, options_.text_field, place);
    if (options_.second_field.empty()) return encoder.encode(text, place);
    return encoder.encode_pair(text, text_of_field(record, options_.second_field, place), place);
  };
  return std::make_shared<const TokenRows>(
      TokenRows::Contents{.kind = TokenRowKind::Text,
                          .samples = share.size(),
                          .encode = encode,
                          .pad_id = encoder.pad_id(),
                          .target = target,
                          .class_names = names_if_known(options_.label_type, options_.labels, options_.label_field)});
}

}  // namespace levin::data
