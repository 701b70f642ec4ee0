#pragma once
#include <levin/core/run/stage.h>
#include <levin/data/data_module.h>
#include <levin/data/loader.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/run/loader_source.h>

#include <optional>
#include <string>

namespace levin {

/// The data and the checkpoint that one call of fit, validate, test or predict is given.
struct RunInputs {
  std::optional<data::DataModuleRef> data_module = {};
  data::Loaders train = {}, evaluation = {};
  std::string ckpt_path = {};  ///< see Trainer

  /// Returns the source of the loaders of a run: those that were given, else the data module's, else the module's.
  /// `stage`: Fit or Validate for validation loaders, Test, or Predict. The object and `module` must outlive the
  /// source.
  LoaderSource loaders(LightningModule& module, Stage stage) const;
};

}  // namespace levin
