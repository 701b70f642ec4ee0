#include <levin/core/device/gpu_discovery.h>
#include <ATen/Context.h>
#include <dlfcn.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace levin {
namespace {

/// Returns whether CUDA's runtime is loaded. It comes with LibTorch's CUDA part, with or without a GPU.
bool has_cuda_runtime() { return dlsym(RTLD_DEFAULT, "cudaRuntimeGetVersion") != nullptr; }

VisibleGpus find_gpus() {
  VisibleGpus found;
  found.count = at::globalContext().hasCUDA() ? static_cast<int>(at::detail::getCUDAHooks().deviceCount()) : 0;
  found.built_with_cuda = found.count > 0 || has_cuda_runtime();
  if (const char* variable = std::getenv("CUDA_VISIBLE_DEVICES")) found.cuda_visible_devices = variable;
  return found;
}

/// Returns the end of an error's text: what hides GPUs.
std::string about_visibility(const VisibleGpus& gpus) {
  if (!gpus.cuda_visible_devices) return "";
  if (gpus.count == 0) return "; CUDA_VISIBLE_DEVICES is \"" + *gpus.cuda_visible_devices + "\"";
  return c10::str("; CUDA_VISIBLE_DEVICES is \"", *gpus.cuda_visible_devices,
                  "\", and these are counted from 0 here, in that order");
}

void require_gpus(const std::string& option, const VisibleGpus& gpus) {
  if (gpus.count > 0) return;
  if (!gpus.built_with_cuda)
    throw UsageError(option,
                     ": a GPU was asked for, and this LibTorch is built without CUDA; use accelerator cpu, or "
                     "build levin with a LibTorch that has it (docs/devices.md)");
  throw UsageError(option, ": a GPU was asked for, and this process sees none", about_visibility(gpus),
                   "; does nvidia-smi show one? Use accelerator cpu to train without");
}

std::string counted_gpus(int count) { return c10::str(count, count == 1 ? " GPU" : " GPUs"); }

std::vector<c10::Device> choose_gpus(const std::string& option, const Devices& devices, const VisibleGpus& gpus) {
  require_gpus(option, gpus);
  std::vector<int> ids = devices.ids();
  if (!devices.is_list()) {
    const int count = devices.count(gpus.count);
    if (count > gpus.count)
      throw UsageError(option, ": ", counted_gpus(count), " were asked for, and this process sees ",
                       counted_gpus(gpus.count), about_visibility(gpus));
    ids.resize(static_cast<size_t>(count));
    std::iota(ids.begin(), ids.end(), 0);
  }
  std::vector<c10::Device> chosen;
  for (const int id : ids) {
    if (id >= gpus.count)
      throw UsageError(option, ": there is no GPU ", id, "; this process sees ", counted_gpus(gpus.count),
                       ", counted from 0", about_visibility(gpus));
    chosen.emplace_back(c10::kCUDA, static_cast<c10::DeviceIndex>(id));
  }
  return chosen;
}

std::vector<c10::Device> choose_cpus(const std::string& option, const Devices& devices) {
  if (devices.is_list())
    throw UsageError(option, ": ", devices.to_text(), " are numbers of GPUs; on the CPU give the number of replicas");
  const auto count = static_cast<size_t>(devices.count(/*all=*/1));
  return std::vector<c10::Device>(count, c10::Device(c10::kCPU));
}

}  // namespace

const VisibleGpus& visible_gpus() {
  static const VisibleGpus found = find_gpus();
  return found;
}

Accelerator resolve_accelerator(Accelerator accelerator, const VisibleGpus& gpus) {
  if (accelerator == Accelerator::Auto) return gpus.count > 0 ? Accelerator::Gpu : Accelerator::Cpu;
  return accelerator == Accelerator::Cuda ? Accelerator::Gpu : accelerator;
}

std::vector<c10::Device> choose_devices(const std::string& option, Accelerator accelerator, const Devices& devices,
                                        const VisibleGpus& gpus) {
  if (!devices.is_list() && devices.count(/*all=*/1) == 0)
    throw UsageError(option, ": expected at least one device, got 0");
  return accelerator == Accelerator::Gpu ? choose_gpus(option, devices, gpus) : choose_cpus(option, devices);
}

c10::Device choose_output_device(std::optional<int64_t> wanted, const std::vector<c10::Device>& devices) {
  if (!wanted) return devices.front();
  if (devices.front().is_cpu())
    throw UsageError("trainer.strategy.output_device: ", *wanted, " is the number of a GPU, and the run is on ",
                     to_text(devices), "; leave it unset");
  const c10::Device gpu(c10::kCUDA, static_cast<c10::DeviceIndex>(*wanted));
  if (std::find(devices.begin(), devices.end(), gpu) == devices.end())
    throw UsageError("trainer.strategy.output_device: ", gpu, " is none of the run's devices, which are ",
                     to_text(devices));
  return gpu;
}

std::string to_text(const std::vector<c10::Device>& devices) {
  if (devices.size() > 1 && devices.front().is_cpu()) return c10::str(devices.size(), " x cpu");
  std::string text;
  for (const c10::Device& device : devices) text += (text.empty() ? "" : ", ") + device.str();
  return text;
}

}  // namespace levin
