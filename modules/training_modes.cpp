#include <levin/modules/training_modes.h>

#include <algorithm>

namespace levin {

TrainingModes::TrainingModes(torch::nn::Module& module) {
  parts_.emplace_back(&module, false);  // a module on the stack has no pointer to itself
  for (const auto& part : module.modules(/*include_self=*/false)) parts_.emplace_back(part.get(), false);
  remember();
}

void TrainingModes::remember() {
  for (auto& [part, is_training] : parts_) is_training = part->is_training();
}

void TrainingModes::restore() const {
  // `train` sets the parts below, too, which come later.
  for (const auto& [part, is_training] : parts_) part->train(is_training);
}

bool TrainingModes::has_training_part() const {
  return std::ranges::any_of(parts_, [](const auto& part) { return part.second; });
}

}  // namespace levin
