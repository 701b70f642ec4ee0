#pragma once
#include <levin/data/loader.h>

#include <functional>

namespace levin {

/// The source of the loops' loaders: a data module, the module, or loaders given to the trainer. Each function is
/// called at its place in the order of hooks: once per run, and again if loaders are reloaded.
struct LoaderSource {
  std::function<data::Loaders()> train = {};
  std::function<data::Loaders()> evaluation = {};  ///< of the running stage: validation, test or prediction
};

}  // namespace levin
