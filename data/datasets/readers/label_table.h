#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

/// Returns the names of the classes of a config.json's `id2label`, an object of the numbers from 0 on and names;
/// nothing if it is none, or has more than 2^20.
std::optional<std::vector<std::string>> names_of_label_table(const nlohmann::ordered_json& table);

}  // namespace levin::data
