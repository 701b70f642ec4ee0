#pragma once
#include <levin/trainer/cli/config.h>

#include <string>
#include <vector>

namespace levin::cli {

/// A sentence for each option that was asked for and cannot matter, since another one decides:
/// "--model.optimizer.lr has no effect: OneCycleLR takes its rates from model.lr_scheduler.max_lr". Options at their
/// defaults, as resolved configs have them, are none. The config's problems are reported already.
std::vector<std::string> options_without_effect(const Schema& schema, const Config& config);

}  // namespace levin::cli
