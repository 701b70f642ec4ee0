#include <levin/program/config/json_schema.h>
#include <levin/core/options/class_list.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

Json reference_to(const std::string& definition) { return {{"$ref", "#/definitions/" + definition}}; }

/// Returns the schema extended to accept null.
Json nullable(Json schema) {
  if (schema.contains("enum")) {
    schema["enum"].push_back(nullptr);
  } else if (schema.contains("type")) {
    if (schema["type"].is_string()) schema["type"] = Json::array({schema["type"]});
    Json& types = schema["type"];
    if (std::find(types.begin(), types.end(), "null") == types.end()) types.push_back("null");
  } else if (!schema.empty()) {
    schema = {{"anyOf", Json::array({schema, {{"type", "null"}}})}};
  }
  return schema;
}

/// Returns a number in JSON form: 3, not 3.0.
Json bound(double value) {
  const auto whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

class Writer {
 public:
  Json definitions = Json::object();

  /// Returns the schema of an object with `schema`'s options. `class_name`: their class, or empty.
  Json object(const Schema& schema, const std::string& class_name) {
    Json properties = Json::object();
    if (!class_name.empty()) properties["class"] = {{"const", class_name}};
    const Json defaults = schema.defaults();
    for (const Field& field : schema.fields()) {
      Json property = {{"description", field.help}};
      // The defaults of a nested struct are given at its options.
      const Json& by_default = defaults[field.name];
      if (!by_default.is_null() && (!by_default.is_object() || by_default.contains("class")))
        property["default"] = by_default;
      property.update(value(*field.type, field.limits, defaults[field.name]));
      properties[field.name] = std::move(property);
      if (field.type->is_list())
        properties[field.name + "+="] = added_items(*field.type->item(), field.name, field.limits);
    }
    return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  }

 private:
  /// Accepts any value of the type, or a reference.
  Json value(const OptionType& type, const Limits& limits, const Json& by_default) {
    Json plain = plain_value(type, limits, by_default);
    const bool takes_any_text =
        plain.empty() || (plain.value("type", Json()) == "string" && !plain.contains("pattern"));
    if (takes_any_text) return plain;
    return {{"anyOf", Json::array({std::move(plain), reference_to("reference")})}};
  }

  Json plain_value(const OptionType& type, const Limits& limits, const Json& by_default) {
    if (type.is_list() && type.is_switch()) return switched_list(type);
    if (type.is_list()) return list(type, limits);
    if (type.item()) return nullable(plain_value(*type.item(), limits, by_default));
    if (type.classes()) {
      Json choice = part(*type.classes(), class_name_of_default(by_default));
      if (Json others = type.json_schema(); !others.empty()) choice["anyOf"].push_back(std::move(others));
      return choice;
    }
    if (const Schema* inner = type.inner("")) return object(*inner, "");
    if (!limits.choices.empty()) return {{"enum", limits.choices}};
    return with_limits(type.json_schema(), limits);
  }

  /// Accepts a list; a single item may stand alone if items are classes.
  Json list(const OptionType& type, const Limits& limits) {
    const Json item = value(*type.item(), limits, Json());
    const Json items = {{"type", "array"}, {"items", item}};
    return type.item()->classes() ? Json{{"anyOf", Json::array({item, items})}} : items;
  }

  /// Accepts items that are appended to a list of an earlier file.
  Json added_items(const OptionType& type, const std::string& name, const Limits& limits) {
    const Json item = value(type, limits, Json());
    return {{"description", "Added to the " + name + " of earlier files"},
            {"anyOf", Json::array({item, {{"type", "array"}, {"items", item}}})}};
  }

  /// Accepts a list, a single item, true or false.
  Json switched_list(const OptionType& type) {
    const Json item = value(*type.item(), {}, Json());
    return {{"anyOf", Json::array({{{"type", "boolean"}}, item, {{"type", "array"}, {"items", item}}})}};
  }

  static std::string class_name_of_default(const Json& by_default) {
    return by_default.is_object() ? by_default.value("class", "") : "";
  }

  static Json with_limits(Json schema, const Limits& limits) {
    if (limits.min) schema["minimum"] = bound(*limits.min);
    if (limits.max) schema["maximum"] = bound(*limits.max);
    if (limits.exclusive_min) schema["exclusiveMinimum"] = bound(*limits.exclusive_min);
    if (limits.exclusive_max) schema["exclusiveMaximum"] = bound(*limits.exclusive_max);
    return schema;
  }

  /// Accepts a class name, or an object with "class" and that class's options. "class" may be left out for the default
  /// class.
  Json part(const ClassList& classes, const std::string& default_class) {
    const std::string kind = define(classes);
    Json without_class =
        default_class.empty() ? Json{{"required", Json::array({"class"})}} : reference_to(kind + "." + default_class);
    return {{"anyOf", Json::array({{{"enum", classes.names()}},
                                   {{"type", "null"}},
                                   {{"type", "object"},
                                    {"if", {{"required", Json::array({"class"})}}},
                                    {"then", reference_to(kind)},
                                    {"else", std::move(without_class)}}})}};
  }

  /// Writes the definitions of all classes of a kind, once, and returns the kind's name.
  std::string define(const ClassList& classes) {
    std::string kind = classes.noun();
    std::replace(kind.begin(), kind.end(), ' ', '_');
    if (definitions.contains(kind)) return kind;
    definitions[kind] = nullptr;  // reserved, because a class of the kind may have a part of the same kind
    Json choices = Json::array();
    for (const ClassInfo& info : classes.classes()) {
      choices.push_back({{"if", {{"properties", {{"class", {{"const", info.name}}}}}}},
                         {"then", reference_to(kind + "." + info.name)}});
      Json options = object(info.schema(), info.name);
      if (!info.help.empty()) options["description"] = info.help;
      definitions[kind + "." + info.name] = std::move(options);
    }
    Json names = {{"enum", classes.names()}};
    definitions[kind] = {{"properties", {{"class", {{"anyOf", Json::array({names, reference_to("reference")})}}}}}};
    if (!choices.empty()) definitions[kind]["allOf"] = std::move(choices);
    return kind;
  }
};

}  // namespace

Json json_schema(const Schema& schema) {
  Writer writer;
  Json root = writer.object(schema, "");
  // An editor's "$schema" is allowed, although it is not an option.
  root["properties"]["$schema"] = {{"type", "string"}};
  root["properties"]["base"] = {
      {"description", "Config files that this one overrides"},
      {"anyOf", Json::array({{{"type", "string"}}, {{"type", "array"}, {"items", {{"type", "string"}}}}})}};
  writer.definitions["reference"] = {
      {"type", "string"}, {"pattern", "\\$\\{"}, {"description", "${path.of.an.option} or ${env:NAME}"}};
  Json document = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "A config of levin"}};
  document.update(root);
  document["definitions"] = std::move(writer.definitions);
  return document;
}

}  // namespace levin::cli
