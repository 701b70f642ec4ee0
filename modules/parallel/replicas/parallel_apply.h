#pragma once
#include <c10/core/Device.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/replicas/replica_threads.h>
#include <levin/modules/parallel/replicas/replicate.h>

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace levin::parallel {

namespace detail {
/// Calls `module.forward(input)`; a tuple is expanded to separate arguments if forward does not take the tuple itself.
template <class Impl, class Input>
auto apply_one(Impl& module, const Input& input) {
  if constexpr (requires { module.forward(input); }) {
    return module.forward(input);
  } else {
    return std::apply([&](const auto&... arguments) { return module.forward(arguments...); }, input);
  }
}

/// Returns the device of the first parameter; the CPU if there are no parameters.
inline c10::Device device_of(const torch::nn::Module& module) {
  const auto parameters = module.parameters();
  return parameters.empty() ? c10::Device(c10::kCPU) : parameters.front().device();
}
}  // namespace detail

/// Calls each `modules[i]` with `inputs[i]`, in parallel as run_replicas does, and returns the results, which stay on
/// their devices.
///
/// Modules are holders or shared pointers; an input is one argument or a tuple of arguments. `devices` defaults to the
/// devices of the modules' first parameters. Throws levin::UsageError if the numbers differ, and the exception of the
/// first module that throws. Source: torch.nn.parallel.parallel_apply.
template <class M, class Input>
auto parallel_apply(const std::vector<M>& modules, const std::vector<Input>& inputs,
                    std::vector<c10::Device> devices = {}, bool in_order = false) {
  if (modules.size() != inputs.size() || (!devices.empty() && devices.size() != modules.size()))
    throw UsageError("parallel_apply: ", modules.size(), " modules, ", inputs.size(), " inputs and ", devices.size(),
                     " devices; as many of each are needed, or no devices");
  if (devices.empty())
    for (const M& module : modules) devices.push_back(detail::device_of(*pointer_to(module)));
  using Output = std::decay_t<decltype(detail::apply_one(*pointer_to(modules.front()), inputs.front()))>;
  std::vector<std::optional<Output>> outputs(modules.size());
  run_replicas(
      devices, [&](size_t i) { outputs[i].emplace(detail::apply_one(*pointer_to(modules[i]), inputs[i])); }, in_order);
  std::vector<Output> values;
  for (std::optional<Output>& output : outputs) values.push_back(std::move(*output));
  return values;
}

}  // namespace levin::parallel
