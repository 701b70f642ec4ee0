#pragma once
#include <levin/modules/metrics/accuracy.h>
#include <levin/modules/metrics/mean_error.h>
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

struct SequenceClassifierOptions {
  EncoderModuleOptions encoder = {};     // its options are flattened into this struct
  LabelOptions classes = {};             // its options are flattened into this struct
  metrics::MetricChoices measured = {};  // its options are flattened into this struct
  Choice<ProblemType> problem_type =
      LEVIN_OPTION(problem_type, ProblemType::Auto,
                   "What is learned: one class of a text, several at a time, or numbers; auto: what config.json says, "
                   "or else numbers "
                   "with one label, one class for targets of whole numbers, and several for others");
};

/// Classifies texts, or pairs of them, by an encoder from a folder of Hugging Face: BERT, RoBERTa and others
/// (encoder_families()), with the head of transformers' `...ForSequenceClassification`. A folder without this head gets
/// a new one. Learns the `target` of a batch: [batch], int64, classes; [batch, labels], float, 1 for those that hold;
/// [batch] or [batch, labels], float, numbers.
///
/// Logs `train_loss`, in validation `val_loss`, and, for classes, `val_acc` and `val_f1` (the mean of the classes' F1),
/// for numbers `val_mae`; in test the same as `test_...`; and the option `metrics`. The losses are transformers':
/// cross-entropy, binary cross-entropy with logits, mean squared error.
class SequenceClassifier : public EncoderClassifier {
 public:
  using Options = SequenceClassifierOptions;

  /// Reads the folder; the weights are copied from the mapped files. Throws levin::UsageError for bad options, for a
  /// folder that lacks files, for a model type, fields and values of config.json that levin does not compute, and for
  /// weights that do not fit.
  explicit SequenceClassifier(Options options);

  /// Returns the logits [batch, labels] of `tokens` [batch, time]; throws as Encoder.
  at::Tensor forward(const at::Tensor& tokens, const EncoderInputs& inputs = {});
  /// Returns the loss of logits [batch, labels], a scalar. Throws levin::UsageError for a target that does not fit.
  at::Tensor loss(const at::Tensor& logits, const at::Tensor& target) const;

  StepOutput training_step(const Batch& batch, int64_t batch_idx) override;
  void validation_step(const Batch& batch, int64_t batch_idx) override;
  void test_step(const Batch& batch, int64_t batch_idx) override;
  /// Returns as `input` [batch, labels] the probability of each class, or the numbers.
  Batch predict_step(const Batch& batch, int64_t batch_idx) override;
  /// `forward`: the logits.
  std::map<std::string, BatchFunction> export_functions() override;

  Options options;

 protected:
  std::string config_text() const override;

 private:
  struct Metrics {
    std::deque<metrics::Accuracy> accuracy = {};
    std::deque<metrics::F1Score> f1 = {};
    std::deque<metrics::MeanAbsoluteError> error = {};
  };
  at::Tensor logits_of(const at::Tensor& hidden, const at::Tensor& attention_mask);
  at::Tensor logits_of(const Batch& batch);
  /// Returns what is learned of this target; unset: of no target, in prediction.
  ProblemType problem_of(const at::Tensor& target) const;
  metrics::MetricTask task_of(ProblemType problem) const;
  void log_metrics(const std::string& stage, const at::Tensor& logits, const at::Tensor& target);
  void evaluate(const Batch& batch, const std::string& stage, Metrics& metrics);

  std::optional<EncoderHead> head_ = {};
  torch::nn::Linear output_{nullptr};
  Metrics val_ = {}, test_ = {};
  metrics::NamedMetrics named_metrics_ = {};
};

}  // namespace levin::nn
