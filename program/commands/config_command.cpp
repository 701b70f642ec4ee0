#include <ATen/ops/zeros.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/optim/registry.h>
#include <levin/program/cli/command_line.h>
#include <levin/program/commands/commands.h>
#include <levin/program/config/config_docs.h>
#include <levin/program/config/explain.h>
#include <levin/program/config/json_schema.h>
#include <levin/program/config/without_effect.h>
#include <levin/trainer/options/optimizer_check.h>
#include <levin/trainer/options/resolved_options.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

constexpr const char* kSubcommands = "show, check, explain, schema, docs";

/// Finds the origin of each value of a resolved config.
class Origins {
 public:
  Origins(const Config& config, const RunOptions& options)
      : config_(config),
        trainer_(options.trainer),
        raw_(schema().get(&options.trainer)),
        resolved_(resolved(trainer_)) {}

  std::string of(const std::string& path) const {
    const std::vector<std::string> keys = keys_of(path);
    // The value was not written, but results from other options.
    if (keys.size() > 1 && keys[0] == "trainer" && raw_[keys[1]] != resolved_[keys[1]])
      for (const std::string& cause : causes_of(keys[1])) return "trainer." + cause + " (" + origin(cause) + ")";
    if (keys.back() == "class" && !config_.origins.count(path)) {
      // "AdamW" is short for {"class": "AdamW"}.
      const std::string part = path.substr(0, path.size() - std::string(".class").size());
      const Json* written = find_value(config_.values, keys_of(part));
      if (written && written->is_string()) return written_origin(config_, part);
    }
    return written_origin(config_, path);
  }

  /// Returns the config to explain. Early spellings, which `resolve` unsets, get their written values back.
  Json explained(Json config) const {
    for (const auto& item : config["trainer"].items())
      if (item.value().is_null() && !raw_[item.key()].is_null() && causes_of(item.key()).empty())
        item.value() = raw_[item.key()];
    return config;
  }

 private:
  static const Schema& schema() { return schema_of<TrainerOptions>(); }
  static Json resolved(const TrainerOptions& options) {
    const TrainerOptions all = resolve(options);
    return schema().get(&all);
  }

  std::string origin(const std::string& option) const { return written_origin(config_, "trainer." + option); }

  /// Returns the written options without which `option` would have another value.
  std::vector<std::string> causes_of(const std::string& option) const {
    std::vector<std::string> causes;
    const Json* written = find_value(config_.values, {"trainer"});
    if (!written) return causes;
    const Json defaults = schema().defaults();
    for (const auto& item : written->items()) {
      if (item.key() == option) continue;
      TrainerOptions without = trainer_;
      const Field& field = *schema().find(item.key());
      try {
        field.type->set(field.in(&without), item.key(), defaults[item.key()], field.limits);
        if (resolved(without)[option] != resolved_[option]) causes.push_back(item.key());
      } catch (const UsageError&) {
        // Without this option the others contradict each other, which says nothing about `option`.
      }
    }
    return causes;
  }

  const Config& config_;
  const TrainerOptions& trainer_;
  Json raw_, resolved_;
};

/// Returns the class that an option of the model names; unset if it names none of this kind.
template <class Kind>
ClassChoice<Kind> chosen_by(const Json& model, const char* option, const std::string& path) {
  ClassChoice<Kind> choice;
  const auto chosen = model.find(option);
  if (chosen == model.end() || !chosen->is_object()) return choice;
  const std::string name = class_name_of(*chosen);
  const auto& known = Kind::registry().classes();
  if (std::ranges::find(known, name, &ClassInfo::name) != known.end())
    OptionTraits<ClassChoice<Kind>>::type().set(&choice, path, *chosen, {});
  return choice;
}

/// Whether a list has a value for each parameter group, which only the module knows.
bool has_list(const Json& value) {
  return std::any_of(value.begin(), value.end(),
                     [](const Json& one) { return one.is_array() || (one.is_structured() && has_list(one)); });
}

/// Makes the optimizer of the config, for a parameter of its own, and its schedule: they say what does not fit
/// together.
void check_optimizer_and_schedule(const RunOptions& options) {
  constexpr const char *kOptimizer = "model.optimizer", *kSchedule = "model.lr_scheduler";
  constexpr int64_t kManySteps = 1'000'000'000;  // the data say how many
  const Json model = options_of_model(options);
  const auto optimizer = chosen_by<optim::OptimizerKind>(model, "optimizer", kOptimizer);
  const auto schedule = chosen_by<LRSchedulerKind>(model, "lr_scheduler", kSchedule);
  const auto made = schedule ? schedule.make(kSchedule) : nullptr;
  if (!optimizer) return;
  const ResolvedOptions resolved = resolve(options.trainer);
  const auto stepped = optim::make_optimizer(optimizer, kOptimizer, {at::zeros({1}).requires_grad_(true)});
  check_optimizer(*stepped, resolved);
  if (!made || has_list(model["lr_scheduler"])) return;
  const bool ends = resolved.epoch_limit() || resolved.max_steps >= 0;
  made->bind(*stepped, {.total_steps = [&] { return ends ? std::optional(kManySteps) : std::nullopt; }});
}

void print_check(const CommandLine& line) {
  std::cout << "ok";
  for (size_t i = 0; i < line.files.size(); ++i) std::cout << (i == 0 ? ": " : ", ") << line.files[i];
  std::cout << std::endl;
  for (const std::string& text : options_without_effect(schema_of<RunOptions>(), line.config)) console::warn(text);
}

void print_explanation(const CommandLine& line, const RunOptions& options) {
  const Origins origins(line.config, options);
  std::cout << explain(origins.explained(resolved_config(options)), [&](const std::string& path) {
    return origins.of(path);
  }) << std::flush;
}

}  // namespace

void config_command(const std::vector<std::string>& arguments) {
  const std::string what = arguments.empty() ? "" : arguments[0];
  const std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  const Schema& schema = schema_of<RunOptions>();
  if (what == "schema" || what == "docs") {
    if (!rest.empty()) throw UsageError("levin config ", what, ": unexpected argument '", rest[0], "'");
    Json document = json_schema(schema);
    document["required"] = Json::array({"model"});
    std::cout << (what == "schema" ? document.dump(2) + "\n" : config_docs(schema)) << std::flush;
    return;
  }
  if (what != "show" && what != "check" && what != "explain")
    throw UsageError("levin config: expected one of ", kSubcommands, what.empty() ? "" : ", got " + what);
  const CommandLine line = read_command_line(schema, "config " + what, rest);
  if (!line.flags.help.empty()) {
    std::cout << line.flags.help << std::flush;
    return;
  }
  const RunOptions options = read_run_options(line.config);
  if (what == "check") {
    require_model(options);
    check_optimizer_and_schedule(options);
  }
  if (what == "show") std::cout << config_text(options, line.config) << std::flush;
  if (what == "check") print_check(line);
  if (what == "explain") print_explanation(line, options);
}

}  // namespace levin::cli
