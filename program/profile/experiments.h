#pragma once
#include <levin/program/profile/probe_data.h>
#include <levin/program/profile/profile_report.h>
#include <levin/program/profile/profile_trial.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace levin {

/// A change whose gain is measured.
struct Experiment {
  std::string cause = {};   ///< "data loading"
  std::string change = {};  ///< in words; empty: made of `changes`
  std::vector<ProfileChange> changes = {};
  std::vector<std::string> removes = {};  ///< JSON pointers of list items that are taken out, the last first
  ProfileProbe probe = {};
  ProfileEffect effect = ProfileEffect::None;
  double least_gain = 1.1;       ///< below which it is no advice
  bool changes_threads = false;  ///< so that waiting for a core may be the run's own doing
  bool cpu_decides = false;      ///< less work: if the clock is too noisy, the CPU time tells the gain
  bool is_limit = false;         ///< leaves out the whole part
  std::string family = {};       ///< of experiments that exclude each other: the best one is told
  std::string note = {};
};

/// Returns the trial of `base` with the change.
ProfileTrial changed(const ProfileTrial& base, const Experiment& experiment);
/// Returns "data.num_workers 0 -> 2".
std::string text_of(const std::vector<ProfileChange>& changes);

/// The parts of a run that are replaced first, to see where it is worth to look closer.
struct ProbeExperiments {
  Experiment loader = {}, output = {}, optimizer = {};
};
ProbeExperiments probe_experiments(const Json& config);

/// What to try if the loader, or logs, callbacks, checkpoints and validation together, hold the run back.
std::vector<Experiment> loader_experiments(const Json& config, const ProfileFacts& facts);
std::vector<Experiment> output_experiments(const Json& config, const ProfileFacts& facts);
/// Options that cost time where they are not needed, threads, and layouts.
std::vector<Experiment> option_experiments(const Json& config, const ProfileFacts& facts);
/// Changes of what is learnt: batch size, precision, accumulation.
std::vector<Experiment> learning_experiments(const Json& config, const ProfileFacts& facts);

}  // namespace levin
