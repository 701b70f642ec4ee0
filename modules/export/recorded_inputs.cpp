#include <levin/modules/export/recorded_inputs.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace levin::program {
namespace {

/// Members of Python's torch.nn.Module, which cannot set a tensor or a part of such a name.
void check_name(const std::string& path) {
  static const std::set<std::string> taken = {"add_module",
                                              "apply",
                                              "bfloat16",
                                              "buffers",
                                              "call_super_init",
                                              "children",
                                              "compile",
                                              "cpu",
                                              "cuda",
                                              "double",
                                              "dump_patches",
                                              "eval",
                                              "extra_repr",
                                              "float",
                                              "forward",
                                              "get_buffer",
                                              "get_parameter",
                                              "get_submodule",
                                              "half",
                                              "load_state_dict",
                                              "modules",
                                              "named_buffers",
                                              "named_children",
                                              "named_modules",
                                              "named_parameters",
                                              "parameters",
                                              "register_buffer",
                                              "register_module",
                                              "register_parameter",
                                              "requires_grad_",
                                              "set_submodule",
                                              "share_memory",
                                              "state_dict",
                                              "to",
                                              "to_empty",
                                              "train",
                                              "training",
                                              "type",
                                              "zero_grad"};
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    if (const std::string part = path.substr(begin, end - begin); taken.contains(part))
      throw UsageError("export: '", path, "': Python's torch.nn.Module has a member ", part,
                       "; register it by another name");
    begin = end + 1;
  }
}

}  // namespace

std::string python_name(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) name = "_" + name;
  return name;
}

RecordedInputs inputs_of_module(const torch::nn::Module& module) {
  RecordedInputs inputs;
  std::map<const at::TensorImpl*, size_t> known;
  const auto add = [&](const std::string& name, InputKind kind, const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    check_name(name);
    inputs.weights.weights.emplace_back(name, tensor);
    if (kind == InputKind::Parameter) ++inputs.weights.parameters;
    if (!known.emplace(tensor.unsafeGetTensorImpl(), inputs.inputs.size()).second) return;
    const std::string prefix = kind == InputKind::Parameter ? "p_" : "b_";
    inputs.inputs.push_back({kind, prefix + python_name(name), name});
    inputs.tensors.push_back(tensor);
  };
  for (const auto& item : module.named_parameters()) add(item.key(), InputKind::Parameter, item.value());
  for (const auto& item : module.named_buffers()) add(item.key(), InputKind::Buffer, item.value());
  inputs.modules.emplace_back("", module.name());
  for (const auto& part : module.named_modules("", /*include_self=*/false))
    inputs.modules.emplace_back(part.key(), part.value()->name());
  // A class with a comma or a semicolon in its name (templates) would end its entry.
  for (auto& [path, name] : inputs.modules) std::erase_if(name, [](char c) { return c == ',' || c == ';'; });
  return inputs;
}

void add_user_input(RecordedInputs& inputs, const std::string& name, const at::Tensor& tensor) {
  inputs.inputs.push_back({InputKind::UserTensor, python_name(name), /*target=*/""});
  inputs.tensors.push_back(tensor);
}

}  // namespace levin::program
