#include <levin/program/profile/gain_trials.h>
#include <levin/core/system/signals.h>
#include <levin/program/profile/config_values.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

namespace levin {
namespace {

constexpr int64_t kWarmup = 5, kLeastBatches = 24, kMostBatches = 400, kWatchedBatches = 12;
/// The parts of the least gain that a first look must show, and that a confidence interval must lie above.
constexpr double kPromising = 0.5, kClear = 0.4;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

double Candidate::shown() const {
  return experiment.cpu_decides ? std::max(clock.median(), cpu.median()) : clock.median();
}

bool Candidate::is_promising() const { return !has_failed && shown() > limit(kPromising); }

ProfileFacts GainTrials::calibrate() {
  const ProfileTrial base{.config = config_};
  say("the first trial");
  ProfileFacts facts;
  runner_.run(base, /*warmup=*/2, /*batches=*/2, &facts);
  batches_ = options_.steps;
  const TrialMeasure first = runner_.run(base, kWarmup, kLeastBatches);
  facts.validates = first.validations > 0;
  if (batches_ > 0) return facts;
  const double per_batch = first.seconds / static_cast<double>(std::max<int64_t>(first.batches, 1));
  batches_ = std::clamp(static_cast<int64_t>(std::ceil(options_.seconds / std::max(per_batch, 1e-7))), kLeastBatches,
                        kMostBatches);
  return facts;
}

/// Larger batches take longer.
int64_t GainTrials::batches_of(const ProfileTrial& trial) const {
  constexpr int64_t kLeast = 8;
  const auto pointer = pointer_of("data.batch_size");
  if (!config_.contains(pointer) || trial.config[pointer] == config_[pointer]) return batches_;
  const double factor = trial.config[pointer].get<double>() / config_[pointer].get<double>();
  return std::max(std::min(kLeast, batches_), static_cast<int64_t>(static_cast<double>(batches_) / factor));
}

TrialMeasure GainTrials::measure(const ProfileTrial& trial) { return runner_.run(trial, kWarmup, batches_of(trial)); }

Candidates GainTrials::candidates(const ProfileTrial& base, const std::vector<Experiment>& experiments) const {
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
void GainTrials::measure_pairs(const ProfileTrial& base, const std::vector<Candidate*>& list) {
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
      failed_.push_back(one->experiment.change + ": " + text.substr(0, text.find('\n')));
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
void GainTrials::look(const ProfileTrial& base, Candidates& list) {
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

void GainTrials::judge(Candidate& one) const {
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
void GainTrials::settle(const ProfileTrial& base, Candidates& list) {
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
void GainTrials::confirm(const ProfileTrial& base, Candidates& list) {
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

void GainTrials::look_and_settle(const ProfileTrial& base, Candidates& list, const char* what) {
  if (list.empty()) return;
  say(std::to_string(list.size()) + " changes of " + what);
  look(base, list);
  for (const Candidate& one : list)
    if (!one.is_settled) say("measuring " + one.experiment.change);
  settle(base, list);
}

void GainTrials::watch(const ProfileTrial& base, StepWatch& watch) {
  runner_.run(base, kWarmup, kWatchedBatches, nullptr, &watch);
}

void GainTrials::say(const std::string& line) const {
  if (options_.progress && runner_.is_rank_zero()) options_.progress(line);
}

double GainTrials::samples_per_second() const { return median(base_speeds_); }
double GainTrials::own_seconds() const { return median(base_own_); }
double GainTrials::cpu_seconds() const { return median(base_cpu_); }

}  // namespace levin
