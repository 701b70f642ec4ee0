#pragma once
#include <levin/core/device/own_generator.h>
#include <levin/core/system/warnings.h>
#include <levin/modules/parallel/sharding/watched_memory.h>

#include <memory>
#include <optional>
#include <utility>

namespace levin {

/// While it lives, this thread works for a run: warnings go to the run's list, and random numbers come from the run's
/// generator, if it has one of its own. Operations find parameters whole that are divided among ranks.
class RunScope {
 public:
  RunScope(std::shared_ptr<console::WarningList> warnings, const std::optional<at::Generator>& generator,
           bool shards_parameters)
      : warnings_(std::move(warnings)), generator_(generator) {
    if (shards_parameters) watch_.emplace();
  }

 private:
  console::WarningScope warnings_;
  GeneratorScope generator_;
  std::optional<parallel::WatchScope> watch_ = {};
};

}  // namespace levin
