#pragma once
#include <levin/trainer/core/device/own_generator.h>
#include <levin/trainer/core/system/warnings.h>

#include <memory>
#include <optional>
#include <utility>

namespace levin {

/// While it lives, this thread works for a run: warnings go to the run's list, and random numbers come from the run's
/// generator, if it has one of its own.
class RunScope {
 public:
  RunScope(std::shared_ptr<console::WarningList> warnings, const std::optional<at::Generator>& generator)
      : warnings_(std::move(warnings)), generator_(generator) {}

 private:
  console::WarningScope warnings_;
  GeneratorScope generator_;
};

}  // namespace levin
