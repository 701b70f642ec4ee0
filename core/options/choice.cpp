#include <levin/core/options/choice.h>
#include <nlohmann/json.hpp>

namespace levin {

std::string ChoiceType::expected() const { return "text"; }

Json ChoiceType::from_text(const std::string& text) const { return text; }

Json ChoiceType::get(const void* value) const { return access_.get(value); }

void ChoiceType::set(void* value, const std::string& path, const Json& json, const Limits& limits) const {
  if (!json.is_string()) throw_unexpected(path, expected(), json);
  limits.check(path, json);
  access_.set(value, json.get<std::string>());
}

}  // namespace levin
