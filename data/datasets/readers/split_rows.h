#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace levin::data {

/// Numbers of rows for training and validation.
struct SplitRows {
  std::vector<int64_t> train = {}, val = {};
};

/// Draws a share of `count` rows for validation, as random_split does. Throws levin::UsageError, which names the option
/// and `place`, if that leaves none for one of the two.
SplitRows split_rows(int64_t count, double val_fraction, int64_t seed, const std::string& place);

}  // namespace levin::data
