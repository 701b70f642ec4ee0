#include <levin/core/ranks/host_address.h>
#include <levin/core/ranks/process_group_backends.h>
#include <levin/core/system/start_thread.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <cstdlib>

namespace levin {
namespace {

std::shared_ptr<::gloo::transport::Device> device_to_reach(const std::string& master_addr) {
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME"); interface != nullptr && *interface != '\0')
    return c10d::ProcessGroupGloo::createDeviceForInterface(interface);
  if (is_loopback(master_addr)) return c10d::ProcessGroupGloo::createDeviceForHostname(master_addr);
  return c10d::ProcessGroupGloo::createDefaultDevice();
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_gloo(const BackendOptions& options) {
  const auto gloo = c10d::ProcessGroupGloo::Options::create();
  gloo->timeout = options.timeout;
  // If one of them cannot be started, the constructor ends the process: one of the device, the others of the group.
  require_threads("the connections of ranks", 1 + gloo->threads);
  gloo->devices.push_back(device_to_reach(options.master_addr));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(options.store, static_cast<int>(options.rank),
                                                     static_cast<int>(options.world_size), gloo);
}

}  // namespace levin
