#include <levin/core/device/stream_scope.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace levin {
namespace {

void wait_for(const c10::Stream& first, const c10::Stream& then) {
  c10::Event done(first.device_type());
  done.record(first);
  done.block(then);
}

}  // namespace

StreamScope::StreamScope(c10::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  device_before_ = guard.exchangeDevice(device);
  before_ = guard.getStream(device);
  own_ = guard.getStreamFromGlobalPool(device, /*isHighPriority=*/false);
  wait_for(*before_, *own_);
  guard.exchangeStream(*own_);
}

StreamScope::~StreamScope() {
  if (!own_) return;
  wait_for(*own_, *before_);
  const c10::impl::VirtualGuardImpl guard(own_->device_type());
  guard.exchangeStream(*before_);
  guard.setDevice(*device_before_);
}

}  // namespace levin
