#include <levin/modules/program/program_part.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <utility>

namespace levin::program {
namespace {

/// "layers.0.weight": "layers.0" and "weight".
std::pair<std::string, std::string> split(const std::string& path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos) return {"", path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

/// What a tensor's memory is called: the record with the view of it.
std::string memory_of(const StoredTensor& stored) {
  std::string text = stored.record + "+" + std::to_string(stored.meta.storage_offset);
  for (const std::vector<Size>* sizes : {&stored.meta.sizes, &stored.meta.strides})
    for (const Size& size : *sizes)
      text +=
          "," + (std::holds_alternative<int64_t>(size) ? std::to_string(std::get<int64_t>(size)) : std::string("?"));
  return text + c10::toString(stored.meta.dtype);
}

std::string text_of(const std::vector<Size>& sizes) {
  std::string text;
  for (const Size& size : sizes) {
    if (!text.empty()) text += ", ";
    text += std::holds_alternative<int64_t>(size) ? std::to_string(std::get<int64_t>(size)) : std::string("?");
  }
  return "[" + text + "]";
}

/// A tensor of another shape than the graph was exported with fails later, where an input would be blamed.
void check_shape(const ProgramArchive& archive, const Input& input) {
  const auto graph = archive.program().tensors.find(input.value);
  const auto stored = archive.weights().find(input.target);
  if (graph == archive.program().tensors.end() || stored == archive.weights().end() ||
      graph->second.sizes == stored->second.meta.sizes)
    return;
  throw UsageError(archive.file(), ": '", input.target, "' is ", text_of(stored->second.meta.sizes),
                   " among the weights, and ", text_of(graph->second.sizes),
                   " in the graph; export the model again with the weights that it has now");
}

}  // namespace

ModelTree::ModelTree(torch::nn::Module& root, const ProgramArchive& archive, const std::set<std::string>& blocks)
    : root_(&root), blocks_(blocks) {
  try {
    add_parts(archive);
    // In the order of the program's inputs, which is the order of Python's parameters; then what forward does not use.
    for (const Input& input : archive.program().inputs)
      if (input.kind == InputKind::Parameter || (input.kind == InputKind::Buffer && input.persistent)) {
        check_shape(archive, input);
        add_tensor(archive, input.target);
      }
    for (const auto& [name, stored] : archive.weights())
      if (!tensors_.contains(name)) add_tensor(archive, name);
  } catch (const c10::Error& error) {
    throw UsageError(archive.file(), ": its names do not make a module: ", error.what_without_backtrace());
  }
}

void ModelTree::add_parts(const ProgramArchive& archive) {
  for (const Node& node : archive.program().nodes)
    for (const auto& [path, name] : node.modules) classes_.emplace(path, name.substr(name.rfind('.') + 1));
  for (const std::string& path : archive.program().modules) part_to_make(path);
}

torch::nn::Module* ModelTree::part_to_make(const std::string& path) {
  if (path.empty()) return root_;
  if (const auto found = parts_.find(path); found != parts_.end()) return found->second;
  constexpr auto kMostDepth = 100;
  if (std::ranges::count(path, '.') > kMostDepth) throw UsageError("a part of the model is nested too deeply: ", path);
  const auto [parent, name] = split(path);
  torch::nn::Module* above = part_to_make(parent);
  const auto known = classes_.find(path);
  const std::string type = known == classes_.end() ? "Module" : known->second;
  std::shared_ptr<torch::nn::Module> part;
  if (blocks_.contains(path))
    part = std::make_shared<ProgramBlock>(type);
  else
    part = std::make_shared<ProgramPart>(type);
  above->register_module(name, part);
  return parts_[path] = part.get();
}

void ModelTree::add_tensor(const ProgramArchive& archive, const std::string& full_name) {
  if (tensors_.contains(full_name)) return;
  const auto stored = archive.weights().find(full_name);
  if (stored == archive.weights().end())
    throw UsageError(archive.file(), ": has no tensor for '", full_name,
                     "'; save the program again by torch.export.save");
  const auto [parent, name] = split(full_name);
  torch::nn::Module* part = part_to_make(parent);
  const auto [first, is_new] = first_names_.emplace(memory_of(stored->second), full_name);
  at::Tensor tensor = is_new ? archive.weight(full_name) : tensors_.at(first->second);
  if (stored->second.is_parameter)
    tensor = part->register_parameter(name, std::move(tensor), stored->second.meta.requires_grad);
  else
    tensor = part->register_buffer(name, std::move(tensor));
  tensors_[full_name] = tensor;
}

torch::nn::Module* ModelTree::part(const std::string& path) const {
  const auto found = parts_.find(path);
  return found == parts_.end() ? root_ : found->second;
}

const at::Tensor& ModelTree::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw UsageError("the program has no parameter or buffer '", name, "'");
  return found->second;
}

}  // namespace levin::program
