#pragma once
#include <levin/modules/transformers/encoder_module.h>
#include <levin/modules/transformers/pooling.h>

#include <cstdint>
#include <optional>
#include <string>

namespace levin {
namespace nn {

/// What pairs of texts teach. Auto: scores if the batch has a target, else neighbours.
enum class SentenceLoss : uint8_t {
  Auto,
  Cosine,           ///< the cosine of the two vectors is the score
  InBatchNegatives  ///< the second text of a pair is the nearest to the first of all second ones of the batch
};

}  // namespace nn

template <>
inline constexpr auto kWords<nn::SentenceLoss> =
    words_of<nn::SentenceLoss>({{"auto", nn::SentenceLoss::Auto},
                                {"cosine", nn::SentenceLoss::Cosine},
                                {"in_batch_negatives", nn::SentenceLoss::InBatchNegatives}});

namespace nn {

struct SentenceEncoderOptions {
  EncoderModuleOptions encoder = {};  // its options are flattened into this struct
  Choice<PoolingKind> pooling =
      LEVIN_OPTION(pooling, PoolingKind::Auto,
                   "Vector of a text: the mean of its tokens, or the first one; auto: what the folder says, or mean");
  std::optional<bool> normalize =
      LEVIN_OPTION(normalize, {}, "Divide the vectors by their length; unset: what the folder says, or not");
  Choice<SentenceLoss> loss = LEVIN_OPTION(loss, SentenceLoss::Auto,
                                           "Of a pair of texts: cosine, its score is the cosine of the vectors; "
                                           "in_batch_negatives, the second text is to be "
                                           "the nearest of all of the batch; auto: cosine if there are scores");
  double scale = LEVIN_OPTION(scale, 20, "With in_batch_negatives: what cosines are multiplied by as logits",
                              {.exclusive_min = 0});
};

/// Makes vectors of texts whose cosines say how alike they are, by an encoder from a folder of Hugging Face
/// (encoder_families()) or of sentence-transformers, whose pooling is read too. Learns from pairs: `input` and
/// `second_input` [batch, time], each with its attention mask (`attention_mask`, `second_attention_mask`), and, for
/// scores, `target` [batch], float.
///
/// Logs `train_loss`, in validation `val_loss`, and with in_batch_negatives `val_acc`, the share of pairs whose second
/// text is the nearest; in test the same as `test_...`. The losses are those of sentence-transformers: the mean squared
/// error of cosines (CosineSimilarityLoss), and the cross-entropy of the batch's cosines (MultipleNegativesRankingLoss;
/// Henderson et al. 2017, "Efficient Natural Language Response Suggestion", section 4). Each rank takes the texts of
/// its own batch.
class SentenceEncoder : public EncoderModule {
 public:
  using Options = SentenceEncoderOptions;

  /// Reads the folder. Throws as SequenceClassifier, and for modules of sentence-transformers that levin does not
  /// compute.
  explicit SentenceEncoder(Options options);

  /// Returns the vectors [batch, hidden] of `tokens` [batch, time]; throws as Encoder.
  at::Tensor forward(const at::Tensor& tokens, const EncoderInputs& inputs = {});
  /// Returns the loss of a batch of pairs, a scalar. Throws levin::UsageError for a batch without pairs, or without
  /// scores where the loss needs them.
  at::Tensor loss(const Batch& batch);

  StepOutput training_step(const Batch& batch, int64_t batch_idx) override;
  void validation_step(const Batch& batch, int64_t batch_idx) override;
  void test_step(const Batch& batch, int64_t batch_idx) override;
  /// Returns the vectors as `input` [batch, hidden]; those of the second texts, if there are any, as `second`.
  Batch predict_step(const Batch& batch, int64_t batch_idx) override;
  /// `forward`: the vectors.
  std::map<std::string, BatchFunction> export_functions() override;

  const Pooling& pooling() const { return pooling_; }

  Options options;

 protected:
  std::string config_text() const override { return read_config_text(); }
  void add_files(PretrainedFiles& files) const override;

 private:
  /// The value of a batch, and with in_batch_negatives the share of pairs that are found.
  struct Result {
    at::Tensor loss = {}, accuracy = {};
  };
  at::Tensor vectors_of(const Batch& batch, const std::string& prefix = {});
  Result result_of(const Batch& batch);
  void evaluate(const Batch& batch, const std::string& stage);

  Pooling pooling_ = {};
};

}  // namespace nn
}  // namespace levin
