#pragma once
#include <levin/modules/metrics/accuracy.h>
#include <levin/modules/metrics/named_metrics.h>
#include <levin/modules/metrics/precision_recall.h>
#include <levin/modules/transformers/encoder_classifier.h>
#include <levin/modules/transformers/encoder_head.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace levin::nn {

struct TokenClassifierOptions {
  EncoderModuleOptions encoder = {};     // its options are flattened into this struct
  LabelOptions classes = {};             // its options are flattened into this struct
  metrics::MetricChoices measured = {};  // its options are flattened into this struct
};

/// Classifies each token of a text, such as names and kinds of words, by an encoder from a folder of Hugging Face
/// (encoder_families()), with the head of transformers' `...ForTokenClassification`. A folder without this head gets a
/// new one. Learns the `target` of a batch, [batch, time], int64: classes; targets of -100 do not count.
///
/// Logs `train_loss`, the mean cross-entropy of a target that counts; in validation `val_loss`, `val_acc` and `val_f1`,
/// the mean of the classes' F1 over tokens; in test the same as `test_...`; and the option `metrics`. A batch is
/// weighted by its targets that count.
class TokenClassifier : public EncoderClassifier {
 public:
  using Options = TokenClassifierOptions;

  /// Reads the folder. Throws as SequenceClassifier.
  explicit TokenClassifier(Options options);

  /// Returns the logits [batch, time, labels] of `tokens` [batch, time]; throws as Encoder.
  at::Tensor forward(const at::Tensor& tokens, const EncoderInputs& inputs = {});
  /// Returns the mean cross-entropy of the targets that count, one float32; 0 if none does. Throws levin::UsageError
  /// for a target of another shape and, on the CPU, for a class that the model does not have.
  at::Tensor loss(const at::Tensor& logits, const at::Tensor& target) const;

  StepOutput training_step(const Batch& batch, int64_t batch_idx) override;
  void validation_step(const Batch& batch, int64_t batch_idx) override;
  void test_step(const Batch& batch, int64_t batch_idx) override;
  /// Returns the probability of each class for each token, as `input` [batch, time, labels].
  Batch predict_step(const Batch& batch, int64_t batch_idx) override;
  /// `forward`: the logits.
  std::map<std::string, BatchFunction> export_functions() override;

  Options options;

 protected:
  std::string config_text() const override { return config_with_labels("ForTokenClassification", ""); }

 private:
  struct Metrics {
    std::deque<metrics::Accuracy> accuracy = {};
    std::deque<metrics::F1Score> f1 = {};
  };
  at::Tensor logits_of(const at::Tensor& hidden);
  void evaluate(const Batch& batch, const std::string& stage, Metrics& metrics);

  std::optional<EncoderHead> head_ = {};
  torch::nn::Linear output_{nullptr};
  Metrics val_ = {}, test_ = {};
  metrics::NamedMetrics named_metrics_ = {};
};

}  // namespace levin::nn
