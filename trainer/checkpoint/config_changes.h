#pragma once
#include <string>
#include <vector>

namespace levin {

/// Returns the differences between two configs (JSON texts), one per path: "trainer.max_epochs: 3 (it was 2)". Empty if
/// one of them is not a JSON object.
std::vector<std::string> config_changes(const std::string& before, const std::string& now);

}  // namespace levin
