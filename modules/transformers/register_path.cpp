#include <levin/modules/transformers/register_path.h>

#include <utility>

namespace levin::nn {
namespace {

/// A module that only has others in it.
std::shared_ptr<torch::nn::Module> child_of(torch::nn::Module& parent, const std::string& name) {
  for (const auto& item : parent.named_children())
    if (item.key() == name) return item.value();
  return parent.register_module(name, std::make_shared<torch::nn::Module>(name));
}

}  // namespace

PathEnd end_of_path(torch::nn::Module& root, const std::string& path) {
  const size_t dot = path.find('.');
  if (dot == std::string::npos) return {.parent = &root, .name = path};
  return end_of_path(*child_of(root, path.substr(0, dot)), path.substr(dot + 1));
}

std::shared_ptr<torch::nn::Module> register_path_of(torch::nn::Module& root, const std::string& path,
                                                    std::shared_ptr<torch::nn::Module> part) {
  const PathEnd end = end_of_path(root, path);
  return end.parent->register_module(end.name, std::move(part));
}

}  // namespace levin::nn
