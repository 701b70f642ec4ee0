#pragma once
#include <cstdint>
#include <vector>

namespace levin::data {

/// What a network for the rows of a table needs to know.
struct TabularSizes {
  int64_t features = 0;                  ///< columns of `input`
  std::vector<int64_t> categories = {};  ///< codes of each column of `category`
  int64_t classes = 0;                   ///< of `target`, where these are texts; otherwise 0
};

/// Data modules of tables, which know these sizes.
class TabularData {
 public:
  virtual ~TabularData() = default;
  /// Reads the training data if nothing was learnt of them yet. Throws levin::UsageError.
  virtual TabularSizes tabular_sizes() = 0;
};

}  // namespace levin::data
