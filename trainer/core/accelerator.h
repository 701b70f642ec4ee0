#pragma once
#include <c10/core/Device.h>
#include <levin/trainer/core/devices.h>

#include <optional>
#include <string>
#include <vector>

namespace levin {

/// The GPUs that this process can use, and why there are no others.
struct VisibleGpus {
  int count = 0;
  bool built_with_cuda = false;                          ///< LibTorch has its CUDA part
  std::optional<std::string> cuda_visible_devices = {};  ///< the variable of that name, where it is set
};

/// What LibTorch finds, asked once: CUDA_VISIBLE_DEVICES counts only as it was at the first use of CUDA.
const VisibleGpus& visible_gpus();

/// The kind of device that `accelerator` means: "cpu" or "gpu". "auto" is gpu where there are any.
std::string resolve_accelerator(const std::string& accelerator, const VisibleGpus& gpus);

/// The devices of a run, in order: GPUs by number, or the CPU as often as there are replicas.
///
/// `accelerator`: "cpu" or "gpu". Throws levin::UsageError, in which `option` names what the user wrote, where there is
/// no GPU, for a number that is not there (and what CUDA_VISIBLE_DEVICES has to do with it), for more than there are,
/// for none, and for a list of CPU numbers.
std::vector<c10::Device> choose_devices(const std::string& option, const std::string& accelerator,
                                        const Devices& devices, const VisibleGpus& gpus);

/// "cuda:0, cuda:3", or "3 x cpu".
std::string to_text(const std::vector<c10::Device>& devices);

}  // namespace levin
