#include <levin/modules/lr_schedulers/engine/nested_lr_scheduler.h>
#include <c10/util/Type.h>
#include <levin/core/system/error.h>
#include <levin/modules/lr_schedulers/registry.h>

#include <nlohmann/json.hpp>

namespace levin {
namespace {

/// Reads a ClassChoice<LRSchedulerKind> without the keys of LRSchedulerConfig, and makes the spec immediately.
class NestedType : public OptionType {
 public:
  using Chosen = ClassChoice<LRSchedulerKind>;

  std::string expected() const override { return chosen_.expected(); }
  const ClassList* classes() const override { return chosen_.classes(); }
  Json from_text(const std::string& text) const override { return chosen_.from_text(text); }

  Json get(const void* value) const override {
    const auto& nested = *static_cast<const NestedLRScheduler*>(value);
    if (!nested.config.empty()) return Json::parse(nested.config);
    if (!nested.spec) return nullptr;
    const LRSchedulerSpec& spec = *nested.spec;
    return {{"class", c10::demangle(typeid(spec).name())}};
  }

  void set(void* value, const std::string& path, const Json& json, const Limits& limits) const override {
    const std::vector<std::string> outer_keys = schema_of<LRSchedulerConfig>().names();
    for (const std::string& key : outer_keys)
      if (json.is_object() && json.contains(key))
        throw UsageError(join_path(path, key), ": a scheduler inside another steps with it; give ", key,
                         " to the outermost scheduler");
    Chosen part;
    chosen_.set(&part, path, json, limits);
    NestedLRScheduler nested;
    nested.spec = part.make(path);
    Json config = chosen_.get(&part);
    for (const std::string& key : outer_keys) config.erase(key);
    nested.config = config.dump();
    *static_cast<NestedLRScheduler*>(value) = std::move(nested);
  }

  void check(const void* value, const std::string& path, const Limits& /*limits*/) const override {
    const auto& nested = *static_cast<const NestedLRScheduler*>(value);
    if (!nested.spec) throw UsageError(path, ": expected a scheduler, got nothing");
    const Schema& schema = schema_of<LRSchedulerConfig>();
    if (schema.get(&nested.spec->config) != schema.defaults())
      throw UsageError(path,
                       ": a scheduler inside another steps with it; give interval, frequency, monitor and strict to "
                       "the outermost scheduler");
  }

 private:
  const OptionType& chosen_ = OptionTraits<Chosen>::type();
};

}  // namespace

std::unique_ptr<LRScheduler> NestedLRScheduler::bind(torch::optim::Optimizer& optimizer,
                                                     const LRSchedulerContext& outer, const std::string& path) const {
  std::unique_ptr<LRScheduler> scheduler = spec->bind(optimizer, outer);
  if (scheduler->needs_metric())
    throw UsageError(path, ": a scheduler that follows a metric cannot be inside another; use it alone");
  return scheduler;
}

LRSchedulerContext context_inside(const LRSchedulerContext& context, const LRSchedulerConfig& own_config) {
  LRSchedulerContext inside = context;
  if (!inside.outer_config) inside.outer_config = &own_config;
  if (!inside.initial_lr) inside.initial_lr = std::make_shared<std::vector<double>>();
  return inside;
}

const OptionType& OptionTraits<NestedLRScheduler>::type() {
  static const NestedType type;
  return type;
}

}  // namespace levin
