#pragma once
#include <levin/data/batch.h>
#include <levin/data/data_module.h>

#include <filesystem>
#include <string>
#include <vector>

namespace levin::cli {

/// What is known of the samples that are predicted.
struct PredictedSamples {
  /// The names of the samples, in order (an image's file); empty where they have none.
  std::vector<std::string> names = {};
  /// The names of the classes, in the order of the model's outputs; empty where they have none.
  std::vector<std::string> classes = {};
};

/// What a data module whose predict split is a dataset says of its samples; nothing for other data.
PredictedSamples predicted_samples(const data::DataModule* data);

/// Writes predictions, by loader and batch, one row or line for each sample, by the file's extension.
///
/// `.csv` and `.jsonl` have the sample's name or number, and then its values. Where the values are probabilities (they
/// are not negative, and each sample's add up to 1), the likeliest class and its probability come first, and each
/// probability has its class's name. `.npy` is the array of all values, without names.
class PredictionFile {
 public:
  /// Throws levin::UsageError for another extension and for a folder that is not there.
  explicit PredictionFile(std::filesystem::path path);

  /// Writes the file whole or not at all. Throws levin::UsageError for batches of a user's own struct, and for what the
  /// format cannot hold.
  void write(const std::vector<std::vector<Batch>>& by_loader, const PredictedSamples& samples) const;

 private:
  std::filesystem::path path_;
};

}  // namespace levin::cli
