#pragma once
#include <levin/program/profile/experiments.h>
#include <levin/program/profile/paired_ratios.h>
#include <levin/program/profile/profile.h>
#include <levin/program/profile/profile_trial.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace levin {

/// A change, and what its trials have shown.
struct Candidate {
  Experiment experiment = {};
  ProfileTrial trial = {};
  PairedRatios clock = {}, cpu = {};
  bool has_failed = false, is_settled = false;
  bool is_accepted = false, by_cpu = false;

  /// Returns a limit of the gain: 1 plus a part of what the least gain has above 1.
  double limit(double part) const { return 1 + part * (experiment.least_gain - 1); }
  /// Returns the gain that the medians show, at best.
  double shown() const;
  /// Returns whether a first look shows enough of the least gain.
  bool is_promising() const;
  void settle(bool accepted) {
    is_settled = true;
    is_accepted = accepted;
  }
  const PairedRatios& ratios() const { return by_cpu ? cpu : clock; }
};

using Candidates = std::vector<Candidate>;

/// Measures the gains of changes: each trial with a change runs between two without it.
class GainTrials {
 public:
  /// `config` is that of `subject`. All arguments must outlive the object.
  GainTrials(const ProfileSubject& subject, const Json& config, const ProfileOptions& options)
      : config_(config), options_(options), runner_(subject, config) {}

  /// Runs the first trials, which decide how many batches a trial measures. Returns what is known of the run.
  ProfileFacts calibrate();
  /// Returns the experiments that change something.
  Candidates candidates(const ProfileTrial& base, const std::vector<Experiment>& experiments) const;
  /// Measures each candidate once between two trials of `base`.
  void measure_pairs(const ProfileTrial& base, const std::vector<Candidate*>& list);
  /// Measures until each gain is clear or clearly not there.
  void settle(const ProfileTrial& base, Candidates& list);
  /// Does the same after a first look, which drops what shows no gain.
  void look_and_settle(const ProfileTrial& base, Candidates& list, const char* what);
  /// Runs a few batches under `watch`.
  void watch(const ProfileTrial& base, StepWatch& watch);
  /// Reports progress on rank 0.
  void say(const std::string& line) const;

  bool is_rank_zero() const { return runner_.is_rank_zero(); }
  int64_t trials() const { return runner_.trials(); }
  /// Returns the batches that a trial measures.
  int64_t batches() const { return batches_; }
  /// Returns medians over the trials without any change. The seconds are those of a batch; `own_seconds` are without
  /// the time in which the training thread waited for a core.
  double samples_per_second() const;
  double own_seconds() const;
  double cpu_seconds() const;
  /// Returns the changes whose trials failed, with the reason.
  const std::vector<std::string>& failed() const { return failed_; }

 private:
  int64_t batches_of(const ProfileTrial& trial) const;
  TrialMeasure measure(const ProfileTrial& trial);
  void look(const ProfileTrial& base, Candidates& list);
  void judge(Candidate& one) const;
  void confirm(const ProfileTrial& base, Candidates& list);

  const Json& config_;
  const ProfileOptions& options_;
  TrialRunner runner_;
  int64_t batches_ = 0;
  std::vector<double> base_speeds_ = {}, base_own_ = {}, base_cpu_ = {};
  std::vector<std::string> failed_ = {};
};

}  // namespace levin
