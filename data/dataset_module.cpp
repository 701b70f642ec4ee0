#include <levin/data/dataset_module.h>
#include <levin/core/system/error.h>
#include <levin/data/needed_split.h>

#include <utility>

namespace levin::data {

bool needs(Stage stage, Split split) {
  switch (split) {
    case Split::Train:
      return stage == Stage::Fit;
    case Split::Val:
      return stage == Stage::Fit || stage == Stage::Validate;
    case Split::Test:
      return stage == Stage::Test;
    case Split::Predict:
      return stage == Stage::Predict;
  }
  return false;
}

const char* to_text(Split split) {
  constexpr std::array<const char*, 4> names = {"train", "val", "test", "predict"};
  return names[static_cast<size_t>(split)];
}

DatasetModule::DatasetModule(std::string name, DataLoaderOptions train)
    : name_(std::move(name)), train_options_(std::move(train)) {}

void DatasetModule::setup(Stage stage) {
  for (const Split split : {Split::Train, Split::Val, Split::Test, Split::Predict}) {
    const auto i = static_cast<size_t>(split);
    if (made_[i] || !needs(stage, split)) continue;
    datasets_[i] = make_dataset(split);
    made_[i] = true;
  }
}

Loaders DatasetModule::loader(Split split) const {
  const auto i = static_cast<size_t>(split);
  if (!made_[i]) throw UsageError(name_, ": call setup before asking for the ", to_text(split), " loader");
  if (!datasets_[i]) return {};
  DataLoaderOptions options = train_options_;
  if (split != Split::Train) options.shuffle = options.drop_last = false;
  return DataLoader(datasets_[i], std::move(options));
}

std::optional<int64_t> DatasetModule::batch_size() const {
  return train_options_.batch_sampler ? std::nullopt : std::optional(train_options_.batch_size);
}

void DatasetModule::set_batch_size(int64_t batch_size) { train_options_.batch_size = checked_batch_size(batch_size); }

Loaders DatasetModule::train_dataloader() { return loader(Split::Train); }
Loaders DatasetModule::val_dataloader() { return loader(Split::Val); }
Loaders DatasetModule::test_dataloader() { return loader(Split::Test); }
Loaders DatasetModule::predict_dataloader() { return loader(Split::Predict); }

}  // namespace levin::data
