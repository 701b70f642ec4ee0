#pragma once
#include <string>
#include <vector>

namespace levin {

/// A tensor that did not find its place.
struct UnfittingWeight {
  std::string name = {};      ///< the module's; of unexpected ones the file's
  std::string found = {};     ///< what the file holds: a shape ("[2, 3]"), or "a int"; empty: nothing
  std::string expected = {};  ///< the module's shape; empty: the module has no such tensor
};

/// What came of loading weights.
struct WeightsReport {
  std::vector<std::string> loaded = {};          ///< names of the module's tensors that have new values
  std::vector<UnfittingWeight> missing = {};     ///< in the module alone
  std::vector<UnfittingWeight> unexpected = {};  ///< in the file alone
  std::vector<UnfittingWeight> mismatched = {};  ///< of two shapes, or no tensor in the file
  std::string removed_prefix = {};               ///< what was taken off the file's keys
  std::string added_prefix = {};                 ///< what was put before them then

  /// Whether each tensor of module and file found its place.
  bool is_complete() const { return missing.empty() && unexpected.empty() && mismatched.empty(); }
  /// What did not fit: a line for each kind, indented, with at most ten names. Empty where everything did.
  std::string text() const;
};

}  // namespace levin
