#include <ATen/cuda/CUDAGraph.h>
#include <c10/util/Exception.h>
#include <levin/core/device/device_graph.h>

namespace levin {
namespace {

class CudaGraph final : public DeviceGraph {
 public:
  void capture(const std::function<void()>& work) override {
    // Other threads may continue: loaders that lock pages, and the writer of checkpoints.
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      try {
        graph_.capture_end();
      } catch (const c10::Error&) {
        // The exception that ended the capture is more informative.
      }
      throw;
    }
    graph_.capture_end();
  }
  void replay() override { graph_.replay(); }

 private:
  at::cuda::CUDAGraph graph_;
};

}  // namespace

std::unique_ptr<DeviceGraph> make_cuda_graph() { return std::make_unique<CudaGraph>(); }

}  // namespace levin
