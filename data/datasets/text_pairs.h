#pragma once
#include <levin/data/datasets/readers/text_records_module.h>
#include <levin/data/loader_options.h>

#include <string>

namespace levin::data {

struct TextPairsOptions {
  TextRecordFiles files = {};     // its options are flattened into this struct
  TextTokensOptions tokens = {};  // its options are flattened into this struct
  std::string text_field = LEVIN_OPTION(text_field, "sentence1", "Field, or column, with the first text");
  std::string second_field =
      LEVIN_OPTION(second_field, "sentence2", "Field with the second text; empty: there is none, for predict");
  std::string score_field = LEVIN_OPTION(score_field, "", "Field with the score of a pair; empty: pairs have none");
  double divide_scores_by =
      LEVIN_OPTION(divide_scores_by, 1, "Scores are divided by it, for cosines: 5 for 0 to 5", {.exclusive_min = 0});
  bool group_by_length = LEVIN_OPTION(
      group_by_length, false, "Make training batches of samples of similar length, for less padding; needs shuffle");
  LEVIN_LOADER_OPTIONS(8, true);
};

/// Pairs of texts, with scores of how alike they are or without: lines of JSON,
/// `{"sentence1": ..., "sentence2": ..., "score": ...}`, or tables. For SentenceEncoder. See TokenRows for the batches:
/// each text is a sequence of its own, and `target` [batch], float, holds the scores. Predict needs no scores.
class TextPairs : public TextRecordsModule {
 public:
  using Options = TextPairsOptions;
  /// Throws levin::UsageError for options that contradict each other.
  explicit TextPairs(Options options = {});

 protected:
  DatasetPtr make_rows(const Share& share, Split split) override;

 private:
  Options options_;
};

}  // namespace levin::data
