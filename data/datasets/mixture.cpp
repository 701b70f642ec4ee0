#include <levin/data/datasets/mixture.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace levin::data {
namespace {

std::string path_of(size_t number) { return "data.datasets[" + std::to_string(number) + "]"; }

void refuse_own_transfers(const DataModule& data_module, const std::string& path) {
  const DataOverrides overrides = overrides_of(data_module);
  for (const DataMethod method : {DataMethod::on_before_batch_transfer, DataMethod::transfer_batch_to_device,
                                  DataMethod::on_after_batch_transfer})
    if (overrides.has(method))
      throw UsageError(path,
                       ": this class changes whole batches as they move to their device, which hold samples of other "
                       "datasets in a mixture; change them by transforms");
}

/// Warns of options that are set in a part and that the mixture's own loader decides.
void warn_of_idle_options(const ClassChoice<DataModuleKind>& dataset, const std::string& path) {
  const ClassList& classes = DataModuleKind::registry();
  const Schema& schema = classes.at(dataset.class_name(), path).schema();
  const nlohmann::ordered_json given = schema.get(dataset.options(classes, path).get()), defaults = schema.defaults();
  for (const char* name :
       {"batch_size", "num_workers", "drop_last", "pin_memory", "prefetch_factor", "timeout_seconds"})
    if (given.contains(name) && given[name] != defaults[name])
      console::warn(path + "." + name + ": has no effect in a mixture; set data." + name);
}

/// Returns the one loader of a data module that a mixture can read; nothing if it has none.
std::optional<MixturePart> part_of(const Loaders& loaders, double weight, const std::string& path) {
  if (loaders.empty()) return {};
  const auto* const loader = loaders.size() == 1 ? dynamic_cast<const DataLoader*>(&loaders[0]) : nullptr;
  if (!loader) throw UsageError(path, ": a mixture needs one data::DataLoader of each data module");
  try {
    return MixturePart(*loader, weight);
  } catch (const UsageError& error) {
    throw UsageError(path, ": ", error.what());
  }
}

/// Returns the states of all data modules; none if all have none.
template <class StateOf>
State states_of(const std::vector<std::shared_ptr<DataModule>>& modules, const StateOf& state_of) {
  State states = State::list();
  bool has_any = false;
  for (const auto& module : modules) {
    State state = state_of(*module);
    has_any = has_any || !state.is_none();
    states.push_back(std::move(state));
  }
  return has_any ? State::dict({{"datasets", std::move(states)}}) : State();
}

template <class Load>
void load_states(const std::vector<std::shared_ptr<DataModule>>& modules, const State& state, const Load& load) {
  if (state.is_none()) return;
  const auto& states = state.at("datasets").items();
  if (states.size() != modules.size())
    throw UsageError("data.datasets: the state is of ", states.size(), " datasets, the config has ", modules.size());
  for (size_t i = 0; i < modules.size(); ++i)
    if (!states[i].is_none()) load(*modules[i], states[i]);
}

}  // namespace

Mixture::Mixture(Options options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "data");
  if (options_.datasets.empty())
    throw UsageError("data.datasets: not set; it lists the data to mix, [{\"class\": \"Tar\", ...}, ...]");
  if (options_.weights.empty()) options_.weights.assign(options_.datasets.size(), 1.0);
  if (options_.weights.size() != options_.datasets.size())
    throw UsageError("data.weights: ", options_.weights.size(), " weights for ", options_.datasets.size(),
                     " datasets; give one for each");
  for (const auto& dataset : options_.datasets) {
    const std::string path = path_of(modules_.size());
    modules_.push_back(dataset.make(path));
    warn_of_idle_options(dataset, path);
    refuse_own_transfers(*modules_.back(), path);
  }
}

void Mixture::prepare_data() {
  for (const auto& module : modules_) module->prepare_data();
}

void Mixture::setup(Stage stage) {
  for (const auto& module : modules_) module->setup(stage);
}

void Mixture::teardown(Stage stage) {
  for (const auto& module : modules_) module->teardown(stage);
}

Loaders Mixture::train_dataloader() {
  std::vector<MixturePart> parts;
  for (size_t i = 0; i < modules_.size(); ++i) {
    auto part = part_of(modules_[i]->train_dataloader(), options_.weights[i], path_of(i));
    if (!part) throw UsageError(path_of(i), ": has no training data");
    parts.push_back(*std::move(part));
  }
  return DataLoader(std::make_shared<const MixtureDataset>(std::move(parts), options_.mixing),
                    loader_options(options_));
}

Loaders Mixture::evaluation_loader(Loaders (DataModule::*loaders)()) const {
  std::vector<MixturePart> parts;
  for (size_t i = 0; i < modules_.size(); ++i)
    if (auto part = part_of(((*modules_[i]).*loaders)(), 1, path_of(i))) parts.push_back(*std::move(part));
  if (parts.empty()) return {};
  DataLoaderOptions options = loader_options(options_);
  options.shuffle = options.drop_last = false;
  return DataLoader(
      std::make_shared<const MixtureDataset>(std::move(parts), MixtureDatasetOptions{.in_sequence = true}),
      std::move(options));
}

Loaders Mixture::val_dataloader() { return evaluation_loader(&DataModule::val_dataloader); }
Loaders Mixture::test_dataloader() { return evaluation_loader(&DataModule::test_dataloader); }
Loaders Mixture::predict_dataloader() { return evaluation_loader(&DataModule::predict_dataloader); }

State Mixture::learned_state() {
  return states_of(modules_, [](DataModule& module) { return module.learned_state(); });
}

void Mixture::load_learned_state(const State& state) {
  load_states(modules_, state, [](DataModule& module, const State& own) { module.load_learned_state(own); });
}

State Mixture::state_dict() const {
  return states_of(modules_, [](const DataModule& module) { return module.state_dict(); });
}

void Mixture::load_state_dict(const State& state) {
  load_states(modules_, state, [](DataModule& module, const State& own) { module.load_state_dict(own); });
}

}  // namespace levin::data
