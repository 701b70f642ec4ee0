#include <levin/modules/load_from_checkpoint.h>
#include <levin/core/state/find_state_dict.h>
#include <levin/core/state/json_state.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/local_path.h>
#include <levin/modules/weights.h>

#include <nlohmann/json.hpp>

namespace levin::detail {

SavedModule read_saved_module(const std::filesystem::path& path) {
  State checkpoint = load_state(local_path(path));
  const State* weights = find_state_dict(checkpoint);
  if (weights == nullptr)
    throw UsageError(path.string(),
                     ": it is no checkpoint, it has no \"state_dict\"; levin::load_weights reads weights");
  const State* hyperparameters = checkpoint.find("hyper_parameters");
  return {*weights, hyperparameters == nullptr ? "{}" : json_of_state(*hyperparameters)};
}

void load_saved_weights(LightningModule& module, const SavedModule& saved, const std::filesystem::path& path) {
  try {
    load_module_state_dict(module, saved.weights);
  } catch (const UsageError& error) {
    throw UsageError(path.string(), ": ", error.what());
  }
}

void set_saved_options(const Schema& schema, void* options, const SavedModule& saved,
                       const std::filesystem::path& path) {
  if (const size_t at = saved.hyperparameters.find("${env:"); at != std::string::npos)
    throw UsageError(path.string(), ": its hyper_parameters have ",
                     saved.hyperparameters.substr(at, saved.hyperparameters.find('}', at) - at + 1),
                     ", a value of the environment that is not saved; pass the module's own arguments to "
                     "load_from_checkpoint");
  try {
    schema.set(options, "hyper_parameters", Json::parse(saved.hyperparameters));
  } catch (const UsageError& error) {
    throw UsageError(path.string(), ": ", error.what(), "; pass the module's own arguments to load_from_checkpoint");
  }
}

}  // namespace levin::detail
