#pragma once
#include <levin/core/run/profiler.h>
#include <levin/trainer/profilers/advanced_profiler_options.h>
#include <levin/trainer/profilers/operator_totals.h>
#include <levin/trainer/profilers/profile_files.h>

#include <optional>
#include <string>
#include <vector>

namespace levin {

/// Shows for each action of a run which operators of LibTorch it ran and what they took, the ones with the most time of
/// their own first. Where PyTorch Lightning's profiler of this name counts Python's functions, operators are what C++
/// can observe.
/// Source: lightning.pytorch.profilers.AdvancedProfiler
class AdvancedProfiler final : public Profiler {
 public:
  using Options = AdvancedProfilerOptions;

  explicit AdvancedProfiler(const Parts& parts, Options options = {}) : Profiler(parts), options_(std::move(options)) {}
  void begin(const Output& output) override;

 protected:
  void end() override;

 private:
  /// The operators of one action, the one with the most time of its own first.
  struct OfAction {
    std::string action;
    std::vector<OperatorTotal> operators;
  };
  std::vector<OfAction> by_action() const;
  std::string text_of(const std::vector<OfAction>& actions) const;
  std::string json_of(const std::vector<OfAction>& actions) const;

  Options options_;
  std::optional<Output> output_ = {};
  ProfileFiles files_ = {};
  std::optional<OperatorTotals> operators_ = {};
};

}  // namespace levin
