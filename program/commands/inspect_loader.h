#pragma once
#include <levin/data/dataset_module.h>
#include <levin/data/loader.h>

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace levin::cli {

/// The limits for reading a loader's epoch. If both are given, both apply.
struct InspectLimits {
  std::optional<int64_t> batches = {};
  std::optional<double> seconds = {};
};

/// The findings about a loader.
struct LoaderFindings {
  std::optional<int64_t> batches_per_epoch = {}, samples_per_epoch = {};
  int64_t batches = 0, samples = 0;  ///< number read
  bool is_whole = false;             ///< the whole epoch was read
  double seconds = 0;                ///< time of reading
  Batch first = {};
  /// Samples per value of `target`, if `target` is int64 [samples]; nullopt otherwise.
  std::optional<std::map<int64_t, int64_t>> classes = {};
};

/// Reads epoch 0 of `loader`, at least one batch. Rethrows the loader's errors.
LoaderFindings inspect(data::Loader& loader, const InspectLimits& limits);

/// Prints the findings below a line that starts with `title`. `class_names` may be empty.
void print_findings(std::ostream& out, const std::string& title, const LoaderFindings& findings,
                    const std::vector<std::string>& class_names);

/// Returns the dataset of a split; null if the data module has no datasets, as one of streams.
data::DatasetPtr dataset_of(const data::DataModule& data, data::Split split);

/// Returns the names of the classes that a data module, or its dataset, tells; empty if they tell none.
std::vector<std::string> class_names_of(const data::DataModule& data, const data::DatasetPtr& dataset);

/// Returns the name of a class, or its number if it has no name.
std::string class_text(int64_t value, const std::vector<std::string>& class_names);

}  // namespace levin::cli
