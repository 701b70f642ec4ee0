#include <levin/modules/nn/initial_weights.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/local_path.h>
#include <levin/modules/name_pattern.h>
#include <levin/modules/weights.h>

#include <filesystem>

namespace levin {

namespace {

void load_file(torch::nn::Module& module, const InitialWeights& options, const std::string& path) {
  const std::filesystem::path file = local_path(options.weights);
  if (!std::filesystem::exists(file)) throw UsageError(path, ".weights: no file ", options.weights);
  const WeightsReport report = load_weights(module, file,
                                            {.strict = options.weights_strict,
                                             .prefix = options.weights_prefix,
                                             .renamed = options.weights_rename.values(),
                                             .added_prefix = options.weights_add_prefix});
  if (report.is_complete()) return;
  console::warn(options.weights + ": " + std::to_string(report.loaded.size()) +
                " weights are loaded, these do not fit:" + report.text());
}

void freeze(torch::nn::Module& module, const std::vector<std::string>& frozen, const std::string& path) {
  for (const std::string& pattern : frozen) {
    bool is_found = false;
    for (auto& item : module.named_parameters()) {
      if (!names_parameter(pattern, item.key())) continue;
      item.value().set_requires_grad(false);
      is_found = true;
    }
    if (!is_found)
      throw UsageError(path, ".frozen: ", pattern, " names no parameter and no part of the module",
                       did_you_mean(pattern, module.named_parameters().keys()));
  }
}

}  // namespace

void load_initial_weights(torch::nn::Module& module, const InitialWeights& options, const std::string& path) {
  if (!options.weights.empty()) load_file(module, options, path);
  freeze(module, options.frozen, path);
  if (options.adapter) options.adapter.make(path + ".adapter", module);
}

}  // namespace levin
