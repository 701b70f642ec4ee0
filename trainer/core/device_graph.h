#pragma once
#include <functional>
#include <memory>

namespace levin {

/// Work of a GPU that is recorded once and launched as one from then on.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  /// Records what `work` launches on the device's current stream, which must not be the default one; nothing of it
  /// runs. Throws what `work` throws, and c10::Error where it does what cannot be recorded, as waiting for the device.
  virtual void capture(const std::function<void()>& work) = 0;
  /// Launches what was recorded; it reads and writes the memory that `work` did.
  virtual void replay() = 0;
};

/// A CUDA graph. Throws levin::UsageError where levin is built without CUDA.
/// Source: https://pytorch.org/docs/stable/notes/cuda.html#cuda-graphs
std::unique_ptr<DeviceGraph> make_cuda_graph();

}  // namespace levin
