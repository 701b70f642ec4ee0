#include <levin/data/data_module.h>
#include <levin/core/system/error.h>

#include <utility>

namespace levin::data {

Batch DataModule::on_before_batch_transfer(Batch batch, int64_t /*dataloader_idx*/) { return batch; }

Batch DataModule::transfer_batch_to_device(Batch batch, c10::Device device, int64_t /*dataloader_idx*/) {
  return std::move(batch).to(device, /*non_blocking=*/!device.is_cpu());
}

Batch DataModule::on_after_batch_transfer(Batch batch, int64_t /*dataloader_idx*/) { return batch; }

void DataModule::set_batch_size(int64_t /*batch_size*/) {
  throw UsageError(
      "this data module cannot change its batch size; override batch_size() and set_batch_size(), or give "
      "BatchSizeOptions::set_batch_size");
}

DataModule* DataModuleRef::checked(DataModule* module) {
  if (module == nullptr) throw UsageError("a data module was expected, this is a null pointer");
  return module;
}

int64_t checked_batch_size(int64_t batch_size) {
  if (batch_size < 1) throw UsageError("data.batch_size: expected at least 1, got ", batch_size);
  return batch_size;
}

}  // namespace levin::data

namespace levin {

const std::optional<data::DataOverrides>& ModuleAccess::known_overrides(const data::DataModule& data_module) {
  return data_module.known_overrides_;
}

void ModuleAccess::remember(data::DataModule& data_module, data::DataOverrides overrides) {
  data_module.known_overrides_ = overrides;
}

}  // namespace levin
