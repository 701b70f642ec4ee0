#pragma once
#include <levin/data/batch.h>

#include <cstdint>
#include <vector>

namespace levin::data {

/// A batch of the samples of one dataset, for a batch of several.
struct BatchOfPart {
  int64_t part = 0;                     ///< number of the dataset, for messages
  std::vector<int64_t> positions = {};  ///< in the batch of all, one for each sample
  Batch batch = {};
};

/// Returns one batch with the samples at their positions. Where all have an `attention_mask`, integers [samples,
/// length] of different lengths are filled up with 0, `target` with -100. Throws levin::UsageError that names the
/// datasets if their fields, types or shapes differ.
Batch join_parts(std::vector<BatchOfPart> parts);

}  // namespace levin::data
