#include <levin/data/torch_data.h>
#include <levin/core/system/console.h>

namespace levin::data::detail {

void warn_of_one_order() {
  console::warn(
      "data::from_torch: a loader with a distributed sampler of torch::data gives the same order in each epoch, since "
      "nobody calls its set_epoch; use data::DataLoader(data::TorchDataset(dataset), {.shuffle = true}), which has an "
      "order for each epoch and is divided among the ranks");
}

}  // namespace levin::data::detail
