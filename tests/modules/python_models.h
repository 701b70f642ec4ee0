#pragma once
#include <levin/core/state/state_file.h>
#include <levin/modules/weights.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/modules/python_reference.h"
#include "tests/temporary_folder.h"

/// A folder with models that Python saved, and data for them; `names` are those of the state dicts. Not `made` if there
/// is no Python.
struct PythonModels {
  PythonModels() {
    if (const auto answer = python_reference("make", nlohmann::ordered_json::array({0}), folder.path().string())) {
      made = true;
      names = answer->at(0);
      const levin::State data = levin::load_state(folder / "data.pt");
      input = data.at("x").to_tensor();
      target = data.at("y").to_tensor();
    }
  }
  std::string file(const std::string& name) const { return (folder / name).string(); }

  TemporaryFolder folder;
  bool made = false;
  nlohmann::ordered_json names;
  at::Tensor input, target;
};

/// Returns the largest difference of a module's state dict from `values`, which have the same names and sizes.
inline double difference(const torch::nn::Module& module, const nlohmann::ordered_json& values) {
  double most = 0;
  const levin::State state = levin::module_state_dict(module);
  REQUIRE(state.size() == values.size());
  for (const auto& [key, value] : state.to_dict()) {
    INFO(levin::to_text(key));
    const auto expected = values.at(levin::to_text(key)).get<std::vector<double>>();
    const at::Tensor flat = value.to_tensor().to(at::kDouble).flatten();
    REQUIRE(flat.numel() == static_cast<int64_t>(expected.size()));
    if (flat.numel() > 0)
      most = std::max(most, (flat - torch::tensor(expected, at::kDouble)).abs().max().item<double>());
  }
  return most;
}
