#pragma once
#include <functional>
#include <memory>

namespace levin {

/// GPU work that is recorded once and then launched as a whole.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  /// Records the kernels that `work` launches on the device's current stream, which must not be the default one,
  /// without running them. Throws what `work` throws, and c10::Error if `work` does something that cannot be recorded,
  /// such as waiting for the device.
  virtual void capture(const std::function<void()>& work) = 0;
  /// Launches the recorded kernels; they read and write the same memory as in `capture`.
  virtual void replay() = 0;
};

/// Makes a CUDA graph. Throws levin::UsageError if levin is built without CUDA.
/// Source: https://pytorch.org/docs/stable/notes/cuda.html#cuda-graphs
std::unique_ptr<DeviceGraph> make_cuda_graph();

}  // namespace levin
