#pragma once
#include <levin/data/batch.h>
#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace networks {

/// A network that is written in C++: its parts, and what it computes of a batch.
class Network : public torch::nn::Module {
 public:
  explicit Network(const std::string& name) : torch::nn::Module(name) {}
  template <class Holder>
  Holder add(const std::string& name, Holder part) {
    return register_module(name, part);
  }
  std::function<levin::Batch(const levin::Batch&)> forward = {};
};

struct Case {
  std::string name;
  std::shared_ptr<Network> network;
  levin::Batch example;  ///< of 4 samples
};

/// Returns networks of all kinds, with weights of the seed 1.
std::vector<Case> all();
/// Returns the one of this name.
Case named(const std::string& name);

}  // namespace networks
