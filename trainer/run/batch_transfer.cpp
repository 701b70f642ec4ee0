#include <levin/trainer/run/batch_transfer.h>

#include <utility>

namespace levin {

Batch transfer_batch(const RunParts& parts, Batch batch, int64_t dataloader_idx) {
  LightningModule& module = *parts.module.module;
  const ModuleOverrides& by_module = parts.module.overrides;
  const auto data = [&](data::DataMethod method) {
    return parts.data_module && parts.data_module->overrides.has(method) ? parts.data_module->module : nullptr;
  };
  auto* before = data(data::DataMethod::on_before_batch_transfer);
  auto* transfer = data(data::DataMethod::transfer_batch_to_device);
  auto* after = data(data::DataMethod::on_after_batch_transfer);
  const c10::Device device = parts.strategy.device();

  if (before != nullptr) {
    const ProfileSpan span(parts.profiler, Action::DataBeforeBatchTransfer);
    batch = before->on_before_batch_transfer(std::move(batch), dataloader_idx);
  } else if (by_module.has(ModuleMethod::on_before_batch_transfer)) {
    const ProfileSpan span(parts.profiler, Action::ModuleBeforeBatchTransfer);
    batch = module.on_before_batch_transfer(std::move(batch), dataloader_idx);
  }

  batch = parts.precision.convert_batch(std::move(batch));
  if (transfer != nullptr) {
    const ProfileSpan span(parts.profiler, Action::DataTransferBatch);
    batch = transfer->transfer_batch_to_device(std::move(batch), device, dataloader_idx);
  } else if (by_module.has(ModuleMethod::transfer_batch_to_device)) {
    const ProfileSpan span(parts.profiler, Action::ModuleTransferBatch);
    batch = module.transfer_batch_to_device(std::move(batch), device, dataloader_idx);
  } else {
    batch = parts.strategy.to_device(std::move(batch));
  }
  if (parts.channels_last) batch = batch.channels_last();

  if (after != nullptr) {
    const ProfileSpan span(parts.profiler, Action::DataAfterBatchTransfer);
    batch = after->on_after_batch_transfer(std::move(batch), dataloader_idx);
  } else if (by_module.has(ModuleMethod::on_after_batch_transfer)) {
    const ProfileSpan span(parts.profiler, Action::ModuleAfterBatchTransfer);
    batch = module.on_after_batch_transfer(std::move(batch), dataloader_idx);
  }
  return batch;
}

}  // namespace levin
