#include <levin/core/options/class_choice.h>
#include <levin/core/options/class_list.h>
#include <levin/core/options/value_type.h>
#include <levin/core/system/error.h>

namespace levin {

void PartValue::require(const ClassList& classes, const std::string& path) const {
  if (!*this) throw UsageError(path, ": no ", classes.noun(), " is chosen");
}

std::shared_ptr<const void> PartValue::options(const ClassList& classes, const std::string& path) const {
  const Schema& schema = classes.at(class_name_, join_path(path, "class")).schema();
  if (!options_) return schema.make();
  if (schema_ != &schema)
    throw UsageError(path, ": the options given are not those of ", classes.noun(), " '", class_name_, "'");
  return options_;
}

std::string PartType::expected() const {
  const std::string& noun = registry_().noun();
  const bool spoken_with_vowel = noun.find_first_of("aeiou") == 0 || noun.starts_with("lr_");
  const char* const article = spoken_with_vowel ? "an " : "a ";
  return "the name of " + (article + noun) + " or an object with \"class\"";
}

Json PartType::get(const void* value) const {
  const auto& part = *static_cast<const PartValue*>(value);
  if (!part) return nullptr;
  Json json = {{"class", part.class_name()}};
  const std::shared_ptr<const void> options = part.options(registry_(), registry_().noun());
  json.update(registry_().at(part.class_name(), registry_().noun()).schema().get(options.get()));
  return json;
}

void PartType::set(void* value, const std::string& path, const Json& json, const Limits& /*limits*/) const {
  auto& part = *static_cast<PartValue*>(value);
  if (json.is_null()) {
    part = PartValue();
    return;
  }
  if (!json.is_object() && !json.is_string()) throw_unexpected(path, expected(), json);
  const std::string class_path = join_path(path, "class");
  Json values = json.is_object() ? json : Json::object();
  std::string name = json.is_string() ? json.get<std::string>() : part.class_name();
  if (values.contains("class")) {
    if (!values["class"].is_string()) throw_unexpected(class_path, "a name", values["class"]);
    name = values["class"].get<std::string>();
    values.erase("class");
  }
  if (name.empty()) throw UsageError(class_path, ": missing; name one of the ", registry_().noun(), " classes");
  const Schema& schema = registry_().at(name, class_path).schema();
  const bool keeps_options = name == part.class_name() && !json.is_string();
  const std::shared_ptr<void> options =
      keeps_options ? schema.copy(part.options(registry_(), path).get()) : schema.make();
  schema.set(options.get(), path, values);
  part = PartValue(name, options, &schema);
}

void PartType::check(const void* value, const std::string& path, const Limits& /*limits*/) const {
  const auto& part = *static_cast<const PartValue*>(value);
  if (!part) return;
  const std::shared_ptr<const void> options = part.options(registry_(), path);
  registry_().at(part.class_name(), join_path(path, "class")).schema().check(options.get(), path);
}

Json PartType::from_text(const std::string& text) const { return text == "null" ? Json(nullptr) : json_or_text(text); }

const Schema* PartType::inner(const std::string& class_name) const {
  const ClassInfo* info = registry_().find(class_name);
  return info ? &info->schema() : nullptr;
}

}  // namespace levin
