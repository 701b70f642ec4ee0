#pragma once
#include <string>
#include <vector>

namespace levin {

/// What differs between two configs, JSON texts, as "trainer.max_epochs: 3 (it was 2)", by the paths of the values.
/// Empty where one of them is no JSON.
std::vector<std::string> config_changes(const std::string& before, const std::string& now);

}  // namespace levin
