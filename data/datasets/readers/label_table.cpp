#include <levin/data/datasets/readers/label_table.h>

#include <nlohmann/json.hpp>

namespace levin::data {

std::optional<std::vector<std::string>> names_of_label_table(const nlohmann::ordered_json& table) {
  constexpr size_t kMostClasses = size_t{1} << 20, kMostDigits = 8;
  if (!table.is_object() || table.empty() || table.size() > kMostClasses) return {};
  std::vector<std::string> names(table.size());
  std::vector<bool> is_there(names.size(), false);
  for (const auto& [key, name] : table.items()) {
    const bool is_number =
        !key.empty() && key.size() <= kMostDigits && key.find_first_not_of("0123456789") == std::string::npos;
    const size_t number = is_number ? static_cast<size_t>(std::stoull(key)) : names.size();
    if (number >= names.size() || is_there[number] || !name.is_string()) return {};
    is_there[number] = true;
    names[number] = name.get<std::string>();
  }
  return names;
}

}  // namespace levin::data
