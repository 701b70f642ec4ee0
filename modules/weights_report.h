#pragma once
#include <string>
#include <vector>

namespace levin {

/// A tensor that only the module or only the file has, or that differs in shape.
struct MismatchedWeight {
  std::string name = {};      ///< name in the module; for unexpected tensors, in the file
  std::string found = {};     ///< the file's value: a shape ("[2, 3]") or "a int"; empty: none
  std::string expected = {};  ///< the module's shape; empty: the module has no such tensor
};

/// The result of loading weights.
struct WeightsReport {
  std::vector<std::string> loaded = {};           ///< names of the module's tensors that were loaded
  std::vector<MismatchedWeight> missing = {};     ///< only in the module
  std::vector<MismatchedWeight> unexpected = {};  ///< only in the file
  std::vector<MismatchedWeight> mismatched = {};  ///< different shapes, or not a tensor in the file
  std::string removed_prefix = {};                ///< prefix stripped from the file's keys
  std::string added_prefix = {};                  ///< prefix added to the file's keys after stripping

  /// Returns whether all tensors of module and file matched.
  bool is_complete() const { return missing.empty() && unexpected.empty() && mismatched.empty(); }
  /// Returns the mismatches: one indented line per kind, with at most ten names. Empty if everything matched.
  std::string text() const;
};

}  // namespace levin
