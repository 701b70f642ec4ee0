#include <levin/modules/parallel/replicas/replicate.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/system/error.h>
#include <levin/modules/adapters/copy_adapters.h>
#include <levin/modules/parallel/replicas/replica_devices.h>
#include <levin/modules/parallel/replicas/replica_state.h>

#include <typeinfo>

namespace levin::parallel {

std::shared_ptr<torch::nn::Module> clone_module(const torch::nn::Module& module, c10::Device device) {
  const RngGuard rng;
  const c10::InferenceMode no_inference(false);
  std::shared_ptr<torch::nn::Module> clone;
  try {
    clone = adapters::clone_adapted(module, device);
  } catch (const c10::Error& error) {
    throw UsageError(
        module.name(), " cannot be copied to ", device, ": derive it from torch::nn::Cloneable<", module.name(),
        "> and make its parameters, buffers and parts in reset(). LibTorch says: ", error.what_without_backtrace());
  }
  const torch::nn::Module& copy = *clone;
  if (typeid(copy) != typeid(module))
    throw UsageError(module.name(), " cannot be copied to ", device, ": its clone() makes a ", copy.name(),
                     "; derive it from torch::nn::Cloneable<", module.name(), ">");
  return clone;
}

std::vector<std::shared_ptr<torch::nn::Module>> replicate_module(torch::nn::Module& module,
                                                                 const std::vector<c10::Device>& devices) {
  const std::vector<c10::Device> checked = checked_devices(devices, "replicate");
  std::vector<std::shared_ptr<torch::nn::Module>> replicas;
  std::vector<torch::nn::Module*> pointers;
  for (const c10::Device device : checked) {
    replicas.push_back(clone_module(module, device));
    pointers.push_back(replicas.back().get());
  }
  ReplicaState state(module, pointers, checked, /*share_memory=*/false);
  state.refresh();
  state.attach(pointers.size());
  return replicas;
}

}  // namespace levin::parallel
