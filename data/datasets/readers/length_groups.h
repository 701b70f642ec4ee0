#pragma once
#include <levin/data/data_loader.h>
#include <levin/data/dataset.h>
#include <levin/data/loader_options.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::data {

/// Throws levin::UsageError if samples are grouped by `option` and not shuffled.
void check_length_groups(const std::string& option, bool is_shuffled);

/// Makes the training loader whose batches are samples of similar length: see LengthGroupedSampler. `lengths` has that
/// of each sample.
DataLoader length_grouped_loader(DatasetPtr dataset, DataLoaderOptions options, std::vector<int64_t> lengths);

}  // namespace levin::data
