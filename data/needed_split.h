#pragma once
#include <levin/core/run/stage.h>
#include <levin/data/dataset_module.h>

namespace levin::data {

/// Returns whether a stage reads a split.
bool needs(Stage stage, Split split);

}  // namespace levin::data
