#include <levin/trainer/placement.h>
#include <levin/trainer/core/error.h>

#include <algorithm>

namespace levin {
namespace {

c10::Device choose_output_device(const TrainerOptions& given, const std::vector<c10::Device>& devices) {
  if (!given.output_device) return devices.front();
  if (devices.front().is_cpu())
    throw UsageError("trainer.output_device: ", *given.output_device, " is the number of a GPU, and the run is on ",
                     to_text(devices), "; leave it unset");
  const c10::Device wanted(c10::kCUDA, static_cast<c10::DeviceIndex>(*given.output_device));
  if (std::find(devices.begin(), devices.end(), wanted) == devices.end())
    throw UsageError("trainer.output_device: ", wanted, " is none of the run's devices, which are ", to_text(devices));
  return wanted;
}

}  // namespace

Placement choose_placement(const TrainerOptions& given, const VisibleGpus& gpus) {
  const bool early = given.gpus.is_set();
  const bool no_gpus = early && !given.gpus.is_list() && given.gpus.count(/*all=*/1) == 0;
  const std::string option = early                    ? "trainer.gpus"
                             : given.devices.is_set() ? "trainer.devices"
                                                      : "trainer.accelerator";
  const std::string accelerator = no_gpus ? "cpu" : early ? "gpu" : resolve_accelerator(given.accelerator, gpus);
  Placement placement;
  placement.devices = choose_devices(option, accelerator, early && !no_gpus ? given.gpus : given.devices, gpus);
  placement.output_device = choose_output_device(given, placement.devices);
  placement.asked_for = early || given.devices.is_set() || given.accelerator != "auto";
  placement.strategy = choose_strategy(given);
  return placement;
}

}  // namespace levin
