#pragma once
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <optional>

namespace levin {

/// While it lives, this GPU is the thread's current device, and what it computes there goes to a stream of its own,
/// which begins after the stream before and which that one waits for in the end. Nothing on the CPU.
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
