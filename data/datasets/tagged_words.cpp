#include <levin/data/datasets/tagged_words.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/json_line.h>
#include <levin/data/ignored_target.h>

#include <utility>

namespace levin::data {
namespace {

std::vector<std::string> words_of(const nlohmann::json& record, const std::string& field, const std::string& place) {
  const nlohmann::json& list = field_of(record, field, place);
  if (!list.is_array()) throw UsageError(place, ": ", field, " is ", list.type_name(), ", not a list of words");
  std::vector<std::string> words;
  for (const nlohmann::json& word : list) {
    if (!word.is_string())
      throw UsageError(place, ": ", field, "[", words.size(), "] is ", word.type_name(), ", not a text");
    words.push_back(word.get<std::string>());
  }
  return words;
}

}  // namespace

TaggedWords::TaggedWords(Options options)
    : TextRecordsModule("TaggedWords", {.files = options.files,
                                        .tokens = options.tokens,
                                        .group_by_length = options.group_by_length,
                                        .loader = loader_options(options)}),
      options_(std::move(options)) {
  schema_of<Options>().check(&options_, "data");
}

DatasetPtr TaggedWords::make_rows(const Share& share, Split split) {
  const bool has_tags = split != Split::Predict;
  const LabelReader* const reader = has_tags ? &labels() : nullptr;
  const TextTokens& encoder = tokens();
  const auto encode = [&](int64_t i) {
    const std::string place = share.place(i);
    const nlohmann::json record = share.record(i);
    const std::vector<std::string> words = words_of(record, options_.words_field, place);
    auto [sequence, first_of] = encoder.encode_words(words, place);
    if (!has_tags) {
      sequence.resize(2 * sequence.size(), kIgnoredTarget);
      return std::move(sequence);
    }
    const std::vector<int64_t> tags = reader->classes_of(field_of(record, options_.tags_field, place), place);
    if (tags.size() != words.size())
      throw UsageError(place, ": ", options_.words_field, " has ", words.size(), " words, and ", options_.tags_field,
                       " has ", tags.size(), " tags");
    for (const int64_t word : first_of)
      sequence.push_back(static_cast<int32_t>(word < 0 ? kIgnoredTarget : tags[static_cast<size_t>(word)]));
    return std::move(sequence);
  };
  return std::make_shared<const TokenRows>(
      TokenRows::Contents{.kind = TokenRowKind::Tagged,
                          .samples = share.size(),
                          .encode = encode,
                          .pad_id = encoder.pad_id(),
                          .class_names = names_if_known(LabelType::Classes, options_.labels, options_.tags_field)});
}

}  // namespace levin::data
