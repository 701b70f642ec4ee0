#pragma once
#include <levin/data/batch.h>
#include <levin/data/data_module.h>
#include <levin/data/remote/output_place.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace levin::cli {

/// The known names of predicted samples and classes.
struct PredictedSamples {
  /// The names of the samples (image files), in order; empty if they have none.
  std::vector<std::string> names = {};
  /// The numbers of the samples in their file, in order; empty: 0, 1, 2, ...
  std::vector<int64_t> numbers = {};
  /// The names of the classes, in the order of the model's outputs; empty if they have none.
  std::vector<std::string> classes = {};
  /// COCO's ids of the samples, in order, and of the classes; empty if they have none.
  std::vector<int64_t> image_ids = {}, category_ids = {};
};

/// Returns the names from a data module whose predict split is a dataset; empty for other data. Warns of rows and
/// images that were left out.
PredictedSamples predicted_samples(const data::DataModule* data);

/// Writes predictions, given by loader and batch, as one row or line per sample. The file's extension decides the
/// format.
///
/// `.csv` and `.jsonl` have the sample's name or number, and then its values. If the values are probabilities (not
/// negative, and with a sum of 1 per sample), the likeliest class and its probability come first, and each probability
/// has its class's name. Lists in lines of JSON may have different lengths. `.npy` is the array of all values, without
/// names. `.json` has detections as COCO's results.
class PredictionFile {
 public:
  /// `place`: a path, or a URL of a bucket. Throws levin::UsageError for another extension, and if the folder does not
  /// exist, is full, or cannot be written to. What is at the place stays as it is.
  explicit PredictionFile(const std::string& place);

  /// Writes the file atomically. Throws levin::UsageError for batches of a user-defined struct, and for values that the
  /// format cannot hold.
  void write(const std::vector<std::vector<Batch>>& by_loader, const PredictedSamples& samples) const;

 private:
  OutputPlace place_;
  std::filesystem::path path_;
};

}  // namespace levin::cli
