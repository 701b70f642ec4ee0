#pragma once
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <optional>

namespace levin {

/// A scope in which this GPU is the thread's current device and the thread's work there goes to a separate stream. That
/// stream first waits for the previous current stream, which in turn waits for it at the end. A no-op on the CPU.
class StreamScope {
 public:
  explicit StreamScope(c10::Device device);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  std::optional<c10::Device> device_before_ = {};
  std::optional<c10::Stream> before_ = {}, own_ = {};
};

}  // namespace levin
