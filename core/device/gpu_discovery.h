#pragma once
#include <c10/core/Device.h>
#include <levin/core/device/accelerator.h>
#include <levin/core/options/devices.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// The GPUs that this process can use, with the facts that explain why there are no others.
struct VisibleGpus {
  int count = 0;
  bool built_with_cuda = false;                          ///< whether LibTorch was built with CUDA
  std::optional<std::string> cuda_visible_devices = {};  ///< the environment variable; unset if it is not set
};

/// Returns the GPUs that LibTorch finds. The result is cached: CUDA ignores changes to CUDA_VISIBLE_DEVICES after its
/// first use.
const VisibleGpus& visible_gpus();

/// Returns Cpu or Gpu for `accelerator`. Auto means Gpu if there is a GPU, else Cpu; Cuda means Gpu. Kinds of devices
/// that are not supported stay.
Accelerator resolve_accelerator(Accelerator accelerator, const VisibleGpus& gpus);

/// Returns the devices of a run, in order: GPUs by number, or the CPU once per replica.
///
/// `accelerator` is Cpu or Gpu. Throws levin::UsageError, whose text names `option`, if there is no GPU, for a GPU
/// number that does not exist (with CUDA_VISIBLE_DEVICES, if it is set), if more devices are asked for than exist, if
/// none is asked for, and for a list of CPU numbers.
std::vector<c10::Device> choose_devices(const std::string& option, Accelerator accelerator, const Devices& devices,
                                        const VisibleGpus& gpus);

/// Returns the one of `devices` that gathers outputs: GPU `wanted`, or the first device. Throws levin::UsageError if
/// the GPU is none of them.
c10::Device choose_output_device(std::optional<int64_t> wanted, const std::vector<c10::Device>& devices);

/// Returns "cuda:0, cuda:3" or "3 x cpu".
std::string to_text(const std::vector<c10::Device>& devices);

}  // namespace levin
