#include <levin/core/device/device_graph.h>
#include <levin/core/system/error.h>

namespace levin {

std::unique_ptr<DeviceGraph> make_cuda_graph() { throw UsageError("CUDA graphs: levin is built without CUDA"); }

}  // namespace levin
