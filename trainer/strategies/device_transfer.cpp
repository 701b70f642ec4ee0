#include <levin/trainer/strategies/device_transfer.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <levin/data/loading/batch_tensors.h>

#include <utility>

namespace levin {

DeviceTransfer::DeviceTransfer(c10::Device device) : device_(device) {
  if (!device.is_cuda()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  stream_ = guard.getStreamFromGlobalPool(device, /*isHighPriority=*/false);
}

Batch DeviceTransfer::operator()(Batch batch) const {
  // The tensors of a struct cannot record which stream uses them later.
  if (!stream_ || batch.is_own()) return std::move(batch).to(device_, /*non_blocking=*/true);
  const c10::impl::VirtualGuardImpl guard(device_.type());
  const c10::Stream computing = guard.getStream(device_);
  c10::Event copied(device_.type());
  Batch moved;
  {
    const c10::StreamGuard copying(*stream_);
    // A batch that is already on a GPU may still be written by the computing stream.
    c10::Event computed(device_.type());
    bool is_there = false;
    for_each_tensor(batch, [&](const std::string&, const at::Tensor& tensor) { is_there |= tensor.is_cuda(); });
    if (is_there) {
      computed.record(computing);
      computed.block(*stream_);
    }
    moved = batch.to(device_, /*non_blocking=*/true);
    copied.record(*stream_);
  }
  copied.block(computing);
  for_each_tensor(moved, [&](const std::string&, const at::Tensor& tensor) { tensor.record_stream(computing); });
  return moved;
}

}  // namespace levin
