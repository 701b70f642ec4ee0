#pragma once
#include <levin/data/loader.h>

#include <functional>

namespace levin {

/// Where the loops get their loaders from: a data module, the module itself, or loaders given to the trainer. Each
/// function is called at its place in the order of hooks: once per run, and again where loaders are made anew.
struct LoaderSource {
  std::function<data::Loaders()> train = {};
  std::function<data::Loaders()> evaluation = {};  ///< of the stage that runs: validation, test or prediction
};

}  // namespace levin
