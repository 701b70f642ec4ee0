#include <levin/modules/metrics/registry.h>
#include <levin/modules/metrics/engine/metric_entry.h>

#include <nlohmann/json.hpp>

namespace levin::metrics {
namespace {

/// A name without its underscores, in lower case, by which names are compared.
std::string plain_name(const std::string& name) {
  std::string plain;
  for (const char c : name)
    if (c != '_') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return plain;
}

/// Reads a metric by any of its names, and keeps the name of its class.
class MetricType : public PartType {
 public:
  MetricType() : PartType([]() -> const ClassList& { return MetricKind::registry(); }) {}

  void set(void* value, const std::string& path, const Json& json, const Limits& limits) const override {
    Json known = json;
    if (known.is_string()) known = metric_class(known.get<std::string>());
    if (known.is_object() && known.contains("class") && known["class"].is_string())
      known["class"] = metric_class(known["class"].get<std::string>());
    PartType::set(value, path, known, limits);
  }
  const Schema* inner(const std::string& class_name) const override {
    return PartType::inner(metric_class(class_name));
  }
  Json json_schema() const override {
    Json names = Json::array();
    const MetricEntries& registry = MetricKind::registry();
    for (const std::string& name : registry.names())
      for (const std::string& alias : registry.entry(name, "").aliases) names.push_back(alias);
    const Json with_options = {
        {"type", "object"}, {"properties", {{"class", {{"enum", names}}}}}, {"required", Json::array({"class"})}};
    return {{"anyOf", Json::array({{{"enum", names}}, with_options})}};
  }
};

}  // namespace

MetricEntries& MetricKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("metric", "metrics");
    add_classification_metrics(made);
    add_regression_metrics(made);
    add_wrapper_metrics(made);
    return made;
  }();
  return registry;
}

MadeMetric make_metric(const ClassChoice<MetricKind>& choice, const MetricTask& task, const std::string& path) {
  const MetricEntries& registry = MetricKind::registry();
  const auto& entry = registry.entry(choice.class_name(), path);
  return entry.make(choice.options(registry, path).get(), task, path);
}

LogChoices log_choices(const ClassChoice<MetricKind>& choice) {
  const MetricEntries& registry = MetricKind::registry();
  return registry.entry(choice.class_name(), "metrics").log(choice.options(registry, "metrics").get());
}

std::string metric_class(const std::string& name) {
  const MetricEntries& registry = MetricKind::registry();
  if (registry.find(name) != nullptr) return name;
  const std::string wanted = plain_name(name);
  for (const std::string& known : registry.names()) {
    if (plain_name(known) == wanted) return known;
    for (const std::string& alias : registry.entry(known, "").aliases)
      if (plain_name(alias) == wanted) return known;
  }
  return name;
}

}  // namespace levin::metrics

namespace levin {

const OptionType& OptionTraits<ClassChoice<metrics::MetricKind>>::type() {
  static const metrics::MetricType type;
  return type;
}

}  // namespace levin
