#pragma once
#include <levin/data/loader.h>

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace levin::cli {

/// How much of a loader's epoch is read: both hold where both are given.
struct InspectLimits {
  std::optional<int64_t> batches = {};
  std::optional<double> seconds = {};
};

/// What a loader gave.
struct LoaderFindings {
  std::optional<int64_t> batches_per_epoch = {}, samples_per_epoch = {};
  int64_t batches = 0, samples = 0;  ///< that were read
  bool is_whole = false;             ///< the epoch was read to its end
  double seconds = 0;                ///< that reading took
  Batch first = {};
  /// Samples of each value of `target`, where that is int64 [samples]; nothing otherwise.
  std::optional<std::map<int64_t, int64_t>> classes = {};
};

/// Reads epoch 0 of `loader`, at least one batch of it. Throws what the loader throws.
LoaderFindings inspect(data::Loader& loader, const InspectLimits& limits);

/// Prints them below a line that begins with `title`; `class_names` may be empty.
void print_findings(std::ostream& out, const std::string& title, const LoaderFindings& findings,
                    const std::vector<std::string>& class_names);

/// The name of a class, or its number where it has none.
std::string class_text(int64_t value, const std::vector<std::string>& class_names);

}  // namespace levin::cli
