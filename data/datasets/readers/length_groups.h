#pragma once
#include <levin/data/data_loader.h>
#include <levin/data/dataset.h>
#include <levin/data/iterable_dataset.h>
#include <levin/data/loader_options.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace levin::data {

/// Throws levin::UsageError if samples are grouped by `option` and not shuffled.
void check_length_groups(const std::string& option, bool is_shuffled);

/// Makes the training loader whose batches are samples of similar length: see LengthGroupedSampler. `lengths` has that
/// of each sample.
DataLoader length_grouped_loader(DatasetPtr dataset, DataLoaderOptions options, std::vector<int64_t> lengths);

using LengthOfSample = std::function<int64_t(const Batch& sample)>;
/// Makes the same of a stream: stretches of 50 batches are read ahead, which stay in memory, and grouped in the same
/// way. Where the data set divides itself among ranks, each rank groups its own samples. The order depends on the seed,
/// the epoch and the batch size; a resumed loader reads the stretch again in which it stood.
DataLoader length_grouped_loader(std::shared_ptr<const IterableDataset> dataset, DataLoaderOptions options,
                                 LengthOfSample length_of);

}  // namespace levin::data
