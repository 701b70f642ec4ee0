#pragma once
#include <levin/data/datasets/readers/text_records_module.h>
#include <levin/data/loader_options.h>

#include <string>
#include <vector>

namespace levin::data {

struct LabeledTextsOptions {
  TextRecordFiles files = {};     // its options are flattened into this struct
  TextTokensOptions tokens = {};  // its options are flattened into this struct
  std::string text_field = LEVIN_OPTION(text_field, "text", "Field, or column, with the text");
  std::string second_field =
      LEVIN_OPTION(second_field, "", "Field with a second text, of which one with the first is asked; empty: none");
  std::string label_field = LEVIN_OPTION(label_field, "label", "Field with the label");
  Choice<LabelType> label_type =
      LEVIN_OPTION(label_type, LabelType::Auto,
                   "What a label is: class, a number from 0 or a name; classes, a list of them; number; auto: what the "
                   "training labels are");
  std::vector<std::string> labels = LEVIN_OPTION(
      labels, {}, "Names of the classes, in their order; empty: those of the folder's config.json, or of the data");
  bool group_by_length = LEVIN_OPTION(
      group_by_length, false, "Make training batches of samples of similar length, for less padding; needs shuffle");
  LEVIN_LOADER_OPTIONS(8, true);
};

/// Texts, or pairs of texts, with labels: lines of JSON, `{"text": ..., "label": ...}`, or tables. For
/// SequenceClassifier. See TokenRows for the batches: `target` [batch], int64, is a class, or float, a number; of
/// several classes [batch, classes], float, 1 for those that a list names. Predict needs no labels.
class LabeledTexts : public TextRecordsModule {
 public:
  using Options = LabeledTextsOptions;
  /// Throws levin::UsageError for options that contradict each other.
  explicit LabeledTexts(Options options = {});

  State learned_state() override { return labels().state(); }
  void load_learned_state(const State& state) override { load_labels(options_.label_type, state); }

 protected:
  DatasetPtr make_rows(const Share& share, Split split) override;

 private:
  LabelReader& labels() { return learned_labels(options_.label_type, options_.labels, options_.label_field); }

  Options options_;
};

}  // namespace levin::data
