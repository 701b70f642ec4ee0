#pragma once
#include <torch/nn/module.h>

#include <memory>
#include <string>

namespace levin::nn {

/// The module that a path of names leads to but for its last name, and that name.
struct PathEnd {
  torch::nn::Module* parent = nullptr;
  std::string name = {};
};

/// Returns the end of a path, "attention.self.query"; modules on the way are made where there are none.
PathEnd end_of_path(torch::nn::Module& root, const std::string& path);

/// Registers a part at the end of a path. Returns the part.
std::shared_ptr<torch::nn::Module> register_path_of(torch::nn::Module& root, const std::string& path,
                                                    std::shared_ptr<torch::nn::Module> part);

template <class Holder>
Holder register_path(torch::nn::Module& root, const std::string& path, Holder part) {
  register_path_of(root, path, part.ptr());
  return part;
}

}  // namespace levin::nn
