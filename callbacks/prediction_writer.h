#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/data/batch.h>

#include <string>
#include <vector>

namespace levin {

/// When predictions are written: after each batch, at the end, or both.
enum class WriteInterval : uint8_t { Batch, Epoch, BatchAndEpoch };
template <>
inline constexpr auto kWords<WriteInterval> =
    words_of<WriteInterval>({{"batch", WriteInterval::Batch},
                             {"epoch", WriteInterval::Epoch},
                             {"batch_and_epoch", WriteInterval::BatchAndEpoch}});

/// The base class of callbacks that write predictions: a derived class overrides `write_on_batch_end`,
/// `write_on_epoch_end` or both. Each rank writes its own predictions.
/// Source: lightning.pytorch.callbacks.BasePredictionWriter
class BasePredictionWriter : public Callback {
 public:
  /// Throws UsageError if `write_interval` was made from another word than "batch", "epoch" and "batch_and_epoch".
  explicit BasePredictionWriter(const Choice<WriteInterval>& write_interval = WriteInterval::Batch);

  virtual void write_on_batch_end(Run& run, const Batch& prediction, int64_t batch_idx, int64_t dataloader_idx);
  /// `predictions`: by loader and batch.
  virtual void write_on_epoch_end(Run& run, const std::vector<std::vector<Batch>>& predictions);

  void on_predict_epoch_start(Run& run) final;
  void on_predict_batch_end(Run& run) final;
  void on_predict_epoch_end(Run& run) final;

 private:
  bool on_batch_, on_epoch_;
  std::vector<std::vector<Batch>> predictions_ = {};
};

struct PredictionWriterOptions {
  std::string output_dir = LEVIN_OPTION(output_dir, "", "Folder of the files; required");
  Choice<WriteInterval> write_interval =
      LEVIN_OPTION(write_interval, WriteInterval::Batch, "Write after each batch, at the end, or both");
};

/// Writes predictions to files that Python's `torch.load(path, weights_only=True)` opens: after each batch
/// `<output_dir>/<loader>/<batch>.pt`, a tensor, or a dict of tensors if predict_step returns several; at the end
/// `<output_dir>/predictions.pt`, a list for each loader of such values for each batch. With several ranks each writes
/// `<output_dir>/rank_<rank>/...`.
class PredictionWriter : public BasePredictionWriter {
 public:
  using Options = PredictionWriterOptions;

  /// Throws UsageError for bad options, or without `output_dir`.
  explicit PredictionWriter(PredictionWriterOptions options);
  /// Throws UsageError for predictions that are structs of the user's own.
  void write_on_batch_end(Run& run, const Batch& prediction, int64_t batch_idx, int64_t dataloader_idx) override;
  void write_on_epoch_end(Run& run, const std::vector<std::vector<Batch>>& predictions) override;

 private:
  std::string output_dir_;
};

}  // namespace levin
