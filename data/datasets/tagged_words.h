#pragma once
#include <levin/data/datasets/readers/text_records_module.h>
#include <levin/data/loader_options.h>

#include <string>
#include <vector>

namespace levin::data {

struct TaggedWordsOptions {
  TextRecordFiles files = {};     // its options are flattened into this struct
  TextTokensOptions tokens = {};  // its options are flattened into this struct
  std::string words_field = LEVIN_OPTION(words_field, "tokens", "Field with the list of words");
  std::string tags_field = LEVIN_OPTION(tags_field, "tags", "Field with the list of their tags");
  std::vector<std::string> labels = LEVIN_OPTION(
      labels, {}, "Names of the tags, in their order; empty: those of the folder's config.json, or of the data");
  bool group_by_length = LEVIN_OPTION(
      group_by_length, false, "Make training batches of samples of similar length, for less padding; needs shuffle");
  LEVIN_LOADER_OPTIONS(8, true);
};

/// Words with tags: lines of JSON, `{"tokens": ["Jane", "lives"], "tags": ["B-PER", "O"]}`; a tag is a number from 0 or
/// a name. For TokenClassifier. See TokenRows for the batches: `target` [batch, longest] has the tag of a word at its
/// first token, and -100, which does not count, at all others. Predict needs no tags.
class TaggedWords : public TextRecordsModule {
 public:
  using Options = TaggedWordsOptions;
  /// Throws levin::UsageError for options that contradict each other.
  explicit TaggedWords(Options options = {});

  State learned_state() override { return labels().state(); }
  void load_learned_state(const State& state) override { load_labels(LabelType::Classes, state); }

 protected:
  DatasetPtr make_rows(const Share& share, Split split) override;

 private:
  LabelReader& labels() { return learned_labels(LabelType::Classes, options_.labels, options_.tags_field); }

  Options options_;
};

}  // namespace levin::data
