#pragma once
#include <levin/core/state/state.h>
#include <levin/modules/lightning_module.h>

#include <concepts>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

namespace levin {

namespace detail {

/// The "state_dict" and the "hyper_parameters" (as JSON; "{}" without) of a checkpoint.
struct SavedModule {
  State weights = {};
  std::string hyperparameters = {};
};
SavedModule read_saved_module(const std::filesystem::path& path);
void load_saved_weights(LightningModule& module, const SavedModule& saved, const std::filesystem::path& path);
/// Sets options from the hyperparameters that save_hyperparameters recorded.
void set_saved_options(const Schema& schema, void* options, const SavedModule& saved,
                       const std::filesystem::path& path);

template <class M>
concept MadeFromOptions = requires {
  typename M::Options;
  requires std::constructible_from<M, typename M::Options>;
};

}  // namespace detail

/// Makes a module with the weights of a checkpoint written by levin or PyTorch Lightning. The constructor receives
/// `args`; if there are none and the class is constructible from its struct `Options`, it receives the options that
/// save_hyperparameters recorded in the checkpoint. Throws levin::UsageError that names the file if it cannot be read
/// or the weights do not fit.
template <std::derived_from<LightningModule> M, class... Args>
std::shared_ptr<M> load_from_checkpoint(const std::filesystem::path& path, Args... args) {
  const detail::SavedModule saved = detail::read_saved_module(path);
  std::shared_ptr<M> module;
  if constexpr (sizeof...(Args) == 0 && detail::MadeFromOptions<M>) {
    typename M::Options options;
    detail::set_saved_options(schema_of<typename M::Options>(), &options, saved, path);
    module = make_module<M>(std::move(options));
  } else {
    module = make_module<M>(std::move(args)...);
  }
  detail::load_saved_weights(*module, saved, path);
  return module;
}

}  // namespace levin
