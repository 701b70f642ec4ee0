#include <levin/data/datasets/readers/length_groups.h>
#include <levin/core/system/error.h>
#include <levin/data/sampler.h>

#include <memory>
#include <utility>

namespace levin::data {

void check_length_groups(const std::string& option, bool is_shuffled) {
  if (!is_shuffled) throw UsageError(option, ": needs data.shuffle, whose order it groups");
}

DataLoader length_grouped_loader(DatasetPtr dataset, DataLoaderOptions options, std::vector<int64_t> lengths) {
  options.shuffle = false;
  options.sampler = std::make_shared<LengthGroupedSampler>(std::move(lengths), options.batch_size);
  return DataLoader(std::move(dataset), std::move(options));
}

}  // namespace levin::data
