#include <levin/program/profile/profile.h>
#include <levin/core/options/option.h>
#include <levin/core/system/error.h>
#include <levin/program/profile/config_values.h>
#include <levin/program/profile/experiments.h>
#include <levin/program/profile/gain_trials.h>
#include <levin/program/profile/machine_speed.h>
#include <levin/program/profile/step_floor.h>
#include <levin/program/profile/step_watch.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin {
namespace {

/// Looks for what makes a run faster, and reports it.
class Profiling {
 public:
  Profiling(const ProfileSubject& subject, const Json& config, const ProfileOptions& options)
      : config_(config), gains_(subject, config, options) {}

  ProfileReport run();

 private:
  void report_on(const Candidates& list);
  void find_free(const ProfileTrial& base);
  void find_contiguous(const ProfileTrial& base);
  void measure_together(const ProfileTrial& base);
  void find_traps(const ProfileTrial& base);

  const Json& config_;
  GainTrials gains_;
  ProfileFacts facts_ = {};
  ProfileTrial improved_ = {};  ///< with all advice that leaves learning as it is
  ProfileReport report_ = {};
};

void Profiling::report_on(const Candidates& list) {
  for (const Candidate& one : list) {
    if (one.has_failed) continue;
    if (!one.is_accepted) {
      report_.without_gain.push_back(one.experiment.change);
      continue;
    }
    const Experiment& experiment = one.experiment;
    report_.advice.push_back({.cause = experiment.cause,
                              .change = experiment.change,
                              .changes = experiment.removes.empty() && experiment.probe == ProfileProbe()
                                             ? experiment.changes
                                             : std::vector<ProfileChange>(),
                              .effect = experiment.effect,
                              .gain = one.ratios().median(),
                              .low = one.ratios().low(),
                              .high = one.ratios().high(),
                              .pairs = static_cast<int64_t>(one.ratios().size()),
                              .by_cpu_time = one.by_cpu,
                              .is_limit = experiment.is_limit,
                              .note = experiment.note});
  }
}

void Profiling::find_free(const ProfileTrial& base) {
  const ProbeExperiments probes = probe_experiments(base.config);
  Candidates parts = gains_.candidates(base, {probes.loader, probes.output, probes.optimizer});
  gains_.say("a constant batch, a run without outputs, a run without the optimizer");
  for (int round = 0; round < 2; ++round) {
    std::vector<Candidate*> all;
    for (Candidate& one : parts)
      if (!one.has_failed) all.push_back(&one);
    gains_.measure_pairs(base, all);
  }
  const auto find = [&](const Experiment& experiment) {
    const auto found =
        std::ranges::find(parts, experiment.cause, [](const Candidate& one) { return one.experiment.cause; });
    return found == parts.end() ? nullptr : &*found;
  };
  Candidate* const loader = find(probes.loader);
  Candidate* const output = find(probes.output);
  std::vector<Experiment> experiments = option_experiments(base.config, facts_);
  const auto add = [&](std::vector<Experiment> more) { std::ranges::move(more, std::back_inserter(experiments)); };
  if (loader != nullptr && loader->is_promising()) add(loader_experiments(base.config, facts_));
  if (output != nullptr && output->is_promising()) add(output_experiments(base.config, facts_));
  Candidates list = gains_.candidates(base, experiments);
  gains_.look_and_settle(base, list, "options, threads, loading and outputs");
  // A part for which a change was found is told by that change.
  const auto explains = [&](const Candidate* part) {
    return std::ranges::any_of(list, [&](const Candidate& one) {
      const bool is_of_loader = one.experiment.cause == probes.loader.cause ||
                                one.experiment.cause == "loaders that are made again" ||
                                one.experiment.cause == "pinned memory";
      return one.is_accepted && (part == loader ? is_of_loader : one.experiment.effect == ProfileEffect::Output);
    });
  };
  Candidates rest;
  for (Candidate& part : parts) {
    if (part.has_failed) continue;
    const bool is_told = (&part == loader || &part == output) && explains(&part);
    if (part.is_promising() && !is_told)
      rest.push_back(part);
    else if (is_told)
      gains_.say(part.experiment.cause + " is told by its changes");
    else
      report_.without_gain.push_back(part.experiment.change);
  }
  for (Candidate& one : rest) one.is_settled = false;
  for (const Candidate& one : rest) gains_.say("measuring " + one.experiment.cause);
  gains_.settle(base, rest);
  report_on(list);
  report_on(rest);
  improved_ = base;
  for (const Candidates* const found : {&list, &rest})
    for (const Candidate& one : *found)
      if (one.is_accepted) improved_ = changed(improved_, one.experiment);
}

void Profiling::find_contiguous(const ProfileTrial& base) {
  if (!facts_.has_non_contiguous) return;
  ProfileTrial constant = base;
  constant.probe.constant_batch = constant.probe.constant_hooks = true;
  Candidates list = gains_.candidates(
      constant, {{.cause = "non-contiguous inputs",
                  .change = "make the batch's tensors contiguous where they are made: tensor.contiguous() in the "
                            "dataset or the collate function",
                  .probe = {.contiguous = true}}});
  gains_.look_and_settle(constant, list, "the inputs' layout");
  report_on(list);
}

void Profiling::measure_together(const ProfileTrial& base) {
  Experiment all{.cause = "all together", .least_gain = 1};
  size_t advices = 0;
  for (const ProfileAdvice& advice : report_.advice) {
    if (advice.changes.empty() || advice.effect == ProfileEffect::Learning) continue;
    all.changes.insert(all.changes.end(), advice.changes.begin(), advice.changes.end());
    advices += 1;
  }
  if (advices < 2) return;
  Candidates list = gains_.candidates(base, {all});
  for (int pair = 0; pair < 3 && !list.empty(); ++pair) gains_.measure_pairs(base, {&list.front()});
  if (!list.empty() && !list.front().has_failed) report_.together = list.front().clock.median();
}

void Profiling::find_traps(const ProfileTrial& base) {
  gains_.say("the operations of a step");
  StepWatch watch(facts_.on_gpu);
  gains_.watch(base, watch);
  const Json precision = base.config.value(pointer_of("trainer.precision"), Json("32-true"));
  const bool is_double = precision == Json("64-true") || precision == Json("64") || precision == Json(64);
  report_.traps = watch.traps(gains_.own_seconds(), is_double);
}

ProfileReport Profiling::run() {
  facts_ = gains_.calibrate();
  const ProfileTrial base{.config = config_};
  find_free(base);
  find_contiguous(base);
  // What can be done comes before what could be gained at most.
  std::ranges::stable_sort(report_.advice, [](const auto& a, const auto& b) {
    return a.is_limit == b.is_limit ? a.gain > b.gain : b.is_limit;
  });
  Candidates learning = gains_.candidates(improved_, learning_experiments(improved_.config, facts_));
  gains_.look_and_settle(improved_, learning, "batch size and precision");
  const size_t free = report_.advice.size();
  report_on(learning);
  std::stable_sort(report_.advice.begin() + static_cast<std::ptrdiff_t>(free), report_.advice.end(),
                   [](const auto& a, const auto& b) { return a.gain > b.gain; });
  measure_together(base);
  report_.steps = gains_.batches();
  report_.samples_per_second = gains_.samples_per_second();
  report_.step_seconds = static_cast<double>(facts_.samples_per_batch) / std::max(report_.samples_per_second, 1e-9);
  report_.cpu_seconds = gains_.cpu_seconds();
  report_.flops_per_step = facts_.flops_per_step;
  find_traps(base);
  if (gains_.is_rank_zero()) {
    const c10::Device device = facts_.on_gpu ? at::kCUDA : at::kCPU;
    report_.machine = machine_speed(device);
    report_.floor =
        floor_of_step(facts_.products, facts_.optimizer_bytes, facts_.gradient_bytes, report_.machine, device);
  }
  report_.trials = gains_.trials();
  report_.failed = gains_.failed();
  return std::move(report_);
}

}  // namespace

ProfileReport profile_run(const ProfileSubject& subject, const ProfileOptions& options) {
  schema_of<ProfileOptions>().check(&options, "profile");
  if (!subject.make) throw UsageError("profile: the subject has no make()");
  Json config;
  try {
    config = Json::parse(subject.config);
  } catch (const nlohmann::json::exception& error) {
    throw UsageError("profile: the subject's config is no JSON: ", error.what());
  }
  const Json dry = config.value(Json::json_pointer("/trainer/fast_dev_run"), Json(false));
  if (dry.is_number() ? dry.get<int64_t>() > 0 : dry == Json(true))
    throw UsageError("trainer.fast_dev_run: a test of a few batches is too short to be measured; leave it unset");
  return Profiling(subject, config, options).run();
}

}  // namespace levin
