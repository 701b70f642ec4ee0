#include <levin/data/data_module.h>

#include <utility>

namespace levin::data {

Batch DataModule::on_before_batch_transfer(Batch batch, int64_t /*dataloader_idx*/) { return batch; }

Batch DataModule::transfer_batch_to_device(Batch batch, c10::Device device, int64_t /*dataloader_idx*/) {
  return std::move(batch).to(device, /*non_blocking=*/!device.is_cpu());
}

Batch DataModule::on_after_batch_transfer(Batch batch, int64_t /*dataloader_idx*/) { return batch; }

}  // namespace levin::data
