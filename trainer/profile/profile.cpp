#include <levin/trainer/profile/profile.h>
#include <levin/trainer/core/options/option.h>
#include <levin/trainer/core/system/error.h>
#include <levin/trainer/core/system/signals.h>
#include <levin/trainer/profile/experiments.h>
#include <levin/trainer/profile/machine_speed.h>
#include <levin/trainer/profile/paired_ratios.h>
#include <levin/trainer/profile/profile_trial.h>
#include <levin/trainer/profile/step_watch.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace levin {
namespace {

constexpr int64_t kWarmup = 5, kLeastBatches = 24, kMostBatches = 400, kWatchedBatches = 12;
/// A part of a least gain of which a first look must show, and of which a confidence interval must be clear.
constexpr double kPromising = 0.5, kClear = 0.4;

struct Candidate {
  Experiment experiment = {};
  ProfileTrial trial = {};
  PairedRatios clock = {}, cpu = {};
  bool has_failed = false, is_settled = false;
  bool is_accepted = false, by_cpu = false;

  /// Returns a limit of the gain: 1 plus a part of what the least gain has above 1.
  double limit(double part) const { return 1 + part * (experiment.least_gain - 1); }
  /// Returns the gain that the medians show, at best.
  double shown() const { return experiment.cpu_decides ? std::max(clock.median(), cpu.median()) : clock.median(); }
  bool is_promising() const { return !has_failed && shown() > limit(kPromising); }
  void settle(bool accepted) {
    is_settled = true;
    is_accepted = accepted;
  }
  const PairedRatios& ratios() const { return by_cpu ? cpu : clock; }
};

/// The measurements of one profile.
class Measurement {
 public:
  Measurement(const ProfileSubject& subject, const Json& config, const ProfileOptions& options)
      : config_(config), options_(options), runner_(subject, config) {}

  ProfileReport run();

 private:
  using Candidates = std::vector<Candidate>;

  void calibrate();
  Candidates candidates(const ProfileTrial& base, const std::vector<Experiment>& experiments) const;
  int64_t batches_of(const ProfileTrial& trial) const;
  TrialMeasure measure(const ProfileTrial& trial) { return runner_.run(trial, kWarmup, batches_of(trial)); }
  void measure_pairs(const ProfileTrial& base, const std::vector<Candidate*>& list);
  void look(const ProfileTrial& base, Candidates& list);
  void settle(const ProfileTrial& base, Candidates& list);
  void judge(Candidate& one) const;
  void confirm(const ProfileTrial& base, Candidates& list);
  void look_and_settle(const ProfileTrial& base, Candidates& list, const char* what);
  void report_on(const Candidates& list);
  void find_free(const ProfileTrial& base);
  void find_contiguous(const ProfileTrial& base);
  void measure_together(const ProfileTrial& base);
  void find_traps(const ProfileTrial& base);
  void say(const std::string& line) const {
    if (options_.progress && runner_.is_rank_zero()) options_.progress(line);
  }

  const Json& config_;
  const ProfileOptions& options_;
  TrialRunner runner_;
  ProfileFacts facts_ = {};
  int64_t batches_ = 0;
  std::vector<double> base_speeds_ = {}, base_own_ = {}, base_cpu_ = {};
  ProfileTrial improved_ = {};  ///< with all advice that leaves learning as it is
  ProfileReport report_ = {};
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void Measurement::calibrate() {
  const ProfileTrial base{.config = config_};
  say("the first trial");
  runner_.run(base, /*warmup=*/2, /*batches=*/2, &facts_);
  batches_ = options_.steps;
  const TrialMeasure first = runner_.run(base, kWarmup, kLeastBatches);
  facts_.validates = first.validations > 0;
  if (batches_ > 0) return;
  const double per_batch = first.seconds / static_cast<double>(std::max<int64_t>(first.batches, 1));
  batches_ = std::clamp(static_cast<int64_t>(std::ceil(options_.seconds / std::max(per_batch, 1e-7))), kLeastBatches,
                        kMostBatches);
}

/// Larger batches take longer.
int64_t Measurement::batches_of(const ProfileTrial& trial) const {
  constexpr int64_t kLeast = 8;
  const auto pointer = pointer_of("data.batch_size");
  if (!config_.contains(pointer) || trial.config[pointer] == config_[pointer]) return batches_;
  const double factor = trial.config[pointer].get<double>() / config_[pointer].get<double>();
  return std::max(std::min(kLeast, batches_), static_cast<int64_t>(static_cast<double>(batches_) / factor));
}

Measurement::Candidates Measurement::candidates(const ProfileTrial& base,
                                                const std::vector<Experiment>& experiments) const {
  Candidates list;
  for (const Experiment& experiment : experiments) {
    Candidate one{.experiment = experiment, .trial = changed(base, experiment)};
    if (one.experiment.change.empty()) one.experiment.change = text_of(experiment.changes);
    if (!(one.trial == base)) list.push_back(std::move(one));
  }
  return list;
}

/// Measures each candidate once between two trials of `base`, whose geometric mean it is compared with: a machine that
/// gets slower meets both alike.
void Measurement::measure_pairs(const ProfileTrial& base, const std::vector<Candidate*>& list) {
  if (list.empty()) return;
  TrialMeasure before = measure(base);
  const bool is_unchanged = base.config == config_ && base.probe == ProfileProbe();
  for (Candidate* const one : list) {
    TrialMeasure with;
    try {
      with = measure(one->trial);
    } catch (const std::exception& error) {
      if (received_signal() != 0) throw;
      one->has_failed = true;
      one->settle(false);
      const std::string text = error.what();
      report_.failed.push_back(one->experiment.change + ": " + text.substr(0, text.find('\n')));
      continue;
    }
    const TrialMeasure after = measure(base);
    const auto speed = [&](const TrialMeasure& of) {
      return one->experiment.changes_threads ? of.samples_per_second() : of.samples_per_own_second();
    };
    one->clock.add(speed(with) / std::sqrt(speed(before) * speed(after)));
    one->cpu.add(with.samples_per_cpu_second() /
                 std::sqrt(before.samples_per_cpu_second() * after.samples_per_cpu_second()));
    before = after;
    if (!is_unchanged) continue;
    base_speeds_.push_back(after.samples_per_second());
    base_own_.push_back((after.seconds - after.waited_seconds) /
                        static_cast<double>(std::max<int64_t>(after.batches, 1)));
    base_cpu_.push_back(after.cpu_seconds / static_cast<double>(std::max<int64_t>(after.batches, 1)));
  }
}

/// A first look: drops what shows no gain and, of each family, all but the smallest change that is nearly the best.
void Measurement::look(const ProfileTrial& base, Candidates& list) {
  constexpr double kNearlyBest = 1.1;
  std::vector<Candidate*> all;
  for (Candidate& one : list) all.push_back(&one);
  measure_pairs(base, all);
  for (Candidate& one : list)
    if (!one.is_promising()) one.settle(false);
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].is_settled || list[i].experiment.family.empty()) continue;
    double best = 0;
    const auto is_of_family = [&](const Candidate& one) {
      return !one.is_settled && one.experiment.family == list[i].experiment.family;
    };
    for (const Candidate& one : list)
      if (is_of_family(one)) best = std::max(best, one.shown());
    bool is_chosen = false;
    for (Candidate& one : list) {
      if (!is_of_family(one)) continue;
      if (is_chosen || one.shown() * kNearlyBest < best)
        one.settle(false);
      else
        is_chosen = true;
    }
  }
}

void Measurement::judge(Candidate& one) const {
  constexpr size_t kLeastPairs = 3;
  constexpr double kPrecise = 1.25;
  if (one.clock.size() < kLeastPairs) return;
  const bool is_last = static_cast<int64_t>(one.clock.size()) >= options_.max_pairs;
  const auto is_clear = [&](const PairedRatios& ratios) {
    return ratios.median() >= one.experiment.least_gain && ratios.is_clearly_above(one.limit(kClear));
  };
  if (is_clear(one.clock) && (is_last || one.clock.high() < kPrecise * one.clock.low())) {
    one.settle(true);
  } else if (is_last && one.experiment.cpu_decides && !is_clear(one.clock) && is_clear(one.cpu) &&
             one.clock.median() > one.limit(kClear)) {
    one.by_cpu = true;
    one.settle(true);
  } else if (is_last || (one.clock.high() < one.experiment.least_gain &&
                         (!one.experiment.cpu_decides || one.cpu.high() < one.experiment.least_gain))) {
    one.settle(false);
  }
}

/// Measures anew, since the first look has chosen those that were lucky, until each gain is clear or clearly not there.
void Measurement::settle(const ProfileTrial& base, Candidates& list) {
  for (Candidate& one : list) one.clock = one.cpu = {};
  for (int64_t pair = 0; pair < options_.max_pairs; ++pair) {
    std::vector<Candidate*> open;
    for (Candidate& one : list)
      if (!one.is_settled) open.push_back(&one);
    if (open.empty()) break;
    measure_pairs(base, open);
    for (Candidate* const one : open)
      if (!one->is_settled) judge(*one);
  }
  confirm(base, list);
}

/// Measures what was accepted twice more: of many changes without gain, one may look good by chance.
void Measurement::confirm(const ProfileTrial& base, Candidates& list) {
  std::vector<Candidate*> accepted, open;
  Candidates again;
  for (Candidate& one : list)
    if (one.is_accepted) accepted.push_back(&one);
  for (const Candidate* const one : accepted) again.push_back({.experiment = one->experiment, .trial = one->trial});
  for (Candidate& one : again) open.push_back(&one);
  for (int pair = 0; pair < 2; ++pair) measure_pairs(base, open);
  for (size_t i = 0; i < again.size(); ++i)
    if (again[i].has_failed || !again[i].is_promising()) accepted[i]->settle(false);
}

void Measurement::look_and_settle(const ProfileTrial& base, Candidates& list, const char* what) {
  if (list.empty()) return;
  say(std::to_string(list.size()) + " changes of " + what);
  look(base, list);
  for (const Candidate& one : list)
    if (!one.is_settled) say("measuring " + one.experiment.change);
  settle(base, list);
}

void Measurement::report_on(const Candidates& list) {
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
                              .note = experiment.note});
  }
}

void Measurement::find_free(const ProfileTrial& base) {
  const ProbeExperiments probes = probe_experiments(base.config);
  Candidates parts = candidates(base, {probes.loader, probes.output, probes.optimizer});
  say("a constant batch, a run without outputs, a run without the optimizer");
  for (int round = 0; round < 2; ++round) {
    std::vector<Candidate*> all;
    for (Candidate& one : parts)
      if (!one.has_failed) all.push_back(&one);
    measure_pairs(base, all);
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
  Candidates list = candidates(base, experiments);
  look_and_settle(base, list, "options, threads, loading and outputs");
  // A part for which a change was found is told by that change.
  const auto explains = [&](const Candidate* part) {
    return std::ranges::any_of(list, [&](const Candidate& one) {
      const bool is_of_loader = one.experiment.cause == probes.loader.cause ||
                                one.experiment.cause == "loaders that are made anew" ||
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
      say(part.experiment.cause + " is told by its changes");
    else
      report_.without_gain.push_back(part.experiment.change);
  }
  for (Candidate& one : rest) one.is_settled = false;
  for (const Candidate& one : rest) say("measuring " + one.experiment.cause);
  settle(base, rest);
  report_on(list);
  report_on(rest);
  improved_ = base;
  for (const Candidates* const found : {&list, &rest})
    for (const Candidate& one : *found)
      if (one.is_accepted) improved_ = changed(improved_, one.experiment);
}

void Measurement::find_contiguous(const ProfileTrial& base) {
  if (!facts_.has_non_contiguous) return;
  ProfileTrial constant = base;
  constant.probe.constant_batch = constant.probe.constant_hooks = true;
  Candidates list = candidates(
      constant, {{.cause = "non-contiguous inputs",
                  .change = "make the batch's tensors contiguous where they are made: tensor.contiguous() in the "
                            "dataset or the collate function",
                  .probe = {.contiguous = true}}});
  look_and_settle(constant, list, "the inputs' layout");
  report_on(list);
}

void Measurement::measure_together(const ProfileTrial& base) {
  Experiment all{.cause = "all together", .least_gain = 1};
  size_t advices = 0;
  for (const ProfileAdvice& advice : report_.advice) {
    if (advice.changes.empty() || advice.effect == ProfileEffect::Learning) continue;
    all.changes.insert(all.changes.end(), advice.changes.begin(), advice.changes.end());
    advices += 1;
  }
  if (advices < 2) return;
  Candidates list = candidates(base, {all});
  for (int pair = 0; pair < 3 && !list.empty(); ++pair) measure_pairs(base, {&list.front()});
  if (!list.empty() && !list.front().has_failed) report_.together = list.front().clock.median();
}

void Measurement::find_traps(const ProfileTrial& base) {
  say("the operations of a step");
  StepWatch watch(facts_.on_gpu);
  runner_.run(base, kWarmup, kWatchedBatches, nullptr, &watch);
  const Json precision = base.config.value(pointer_of("trainer.precision"), Json("32-true"));
  const bool is_double = precision == Json("64-true") || precision == Json("64") || precision == Json(64);
  report_.traps = watch.traps(median(base_own_), is_double);
}

ProfileReport Measurement::run() {
  calibrate();
  const ProfileTrial base{.config = config_};
  find_free(base);
  find_contiguous(base);
  std::ranges::stable_sort(report_.advice, [](const auto& a, const auto& b) { return a.gain > b.gain; });
  Candidates learning = candidates(improved_, learning_experiments(improved_.config, facts_));
  look_and_settle(improved_, learning, "batch size and precision");
  const size_t free = report_.advice.size();
  report_on(learning);
  std::stable_sort(report_.advice.begin() + static_cast<std::ptrdiff_t>(free), report_.advice.end(),
                   [](const auto& a, const auto& b) { return a.gain > b.gain; });
  measure_together(base);
  report_.steps = batches_;
  report_.samples_per_second = median(base_speeds_);
  report_.step_seconds = static_cast<double>(facts_.samples_per_batch) / std::max(report_.samples_per_second, 1e-9);
  report_.cpu_seconds = median(base_cpu_);
  report_.flops_per_step = facts_.flops_per_step;
  find_traps(base);
  if (runner_.is_rank_zero())
    report_.machine = machine_speed(facts_.on_gpu ? c10::Device(at::kCUDA) : c10::Device(at::kCPU));
  report_.trials = runner_.trials();
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
  return Measurement(subject, config, options).run();
}

}  // namespace levin
