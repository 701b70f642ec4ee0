#include <levin/program/profile/profile_report.h>
#include <levin/core/options/option_type.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace levin {
namespace {

/// Prints with three significant digits, or none behind the point for large numbers.
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
  return text;
}

std::string seconds_text(double seconds) {
  if (seconds >= 1) return number(seconds) + " s";
  if (seconds >= 1e-3) return number(1e3 * seconds) + " ms";
  return number(1e6 * seconds) + " us";
}

const char* text_of_effect(ProfileEffect effect) {
  switch (effect) {
    case ProfileEffect::Output:
      return "output";
    case ProfileEffect::Learning:
      return "learning";
    default:
      return "none";
  }
}

void append_advice(std::string& text, size_t index, const ProfileAdvice& advice) {
  text += "  " + std::to_string(index) + ". " + (advice.is_limit ? "up to " : "") + number(advice.gain) + "x  " +
          advice.cause + ": " + advice.change + "  [" + number(advice.low) + " to " + number(advice.high) + ", " +
          std::to_string(advice.pairs) + " pairs" + (advice.by_cpu_time ? ", of CPU time" : "") + "]\n";
  if (!advice.note.empty()) text += "     " + advice.note + "\n";
}

}  // namespace

std::string ProfileReport::to_text() const {
  std::string text = number(samples_per_second) + " samples/s; a batch takes " + seconds_text(step_seconds) + ", and " +
                     seconds_text(cpu_seconds) + " of CPU time (" + std::to_string(trials) + " trials of " +
                     std::to_string(steps) + " batches)\n";
  text += "This machine: " + number(machine.matmul_flops / 1e9) + " GFLOP/s in float32 matrix products, " +
          number(machine.memory_bytes_per_second / 1e9) + " GB/s in copies";
  if (flops_per_step > 0 && step_seconds > 0 && machine.matmul_flops > 0) {
    const double rate = flops_per_step / step_seconds;
    text += "; the run computes " + number(rate / 1e9) + " GFLOP/s, " + number(100 * rate / machine.matmul_flops) +
            " % of what this machine can do";
  }
  text += "\n";
  if (floor.seconds() > 0 && step_seconds > 0) {
    text += "The floor of a step here is " + seconds_text(floor.seconds()) + ": matrix products " +
            seconds_text(floor.product_seconds) + ", the optimizer's memory " + seconds_text(floor.memory_seconds);
    if (floor.rank_seconds > 0) text += ", gradients between ranks " + seconds_text(floor.rank_seconds);
    text += "; a batch takes " + number(step_seconds / floor.seconds()) + " times that\n";
  }
  size_t index = 0;
  bool said_learning = false;
  if (!advice.empty()) text += "\nWhat holds the run back:\n";
  for (const ProfileAdvice& one : advice) {
    if (one.effect == ProfileEffect::Learning && !said_learning) {
      text += index == 0 ? "  (this changes what is learnt)\n"
                         : "  (changes what is learnt; measured on top of the above)\n";
      said_learning = true;
    }
    append_advice(text, ++index, one);
  }
  if (together) text += "  All options that leave learning as it is, together: " + number(*together) + "x\n";
  if (!traps.empty()) text += "\nIn the code of a step:\n";
  for (const ProfileTrap& trap : traps) {
    text += "  - " + (trap.gain > 1 ? number(trap.gain) + "x  " : std::string()) + trap.name;
    if (!trap.where.empty()) text += " at " + trap.where;
    if (trap.calls_per_step > 0) text += ", " + number(trap.calls_per_step) + " times a batch";
    text += ": " + trap.what_to_do + "\n";
  }
  if (is_clean()) text += "\nNothing that was tried makes this run clearly faster.\n";
  if (!without_gain.empty()) {
    text += "\nTried without gain: ";
    for (size_t i = 0; i < without_gain.size(); ++i) text += (i == 0 ? "" : "; ") + without_gain[i];
    text += "\n";
  }
  for (const std::string& one : failed) text += "Does not train: " + one + "\n";
  return text;
}

std::string ProfileReport::to_json() const {
  Json json = {{"samples_per_second", samples_per_second},
               {"step_seconds", step_seconds},
               {"cpu_seconds", cpu_seconds},
               {"flops_per_step", flops_per_step},
               {"steps", steps},
               {"trials", trials},
               {"machine",
                {{"matmul_flops", machine.matmul_flops}, {"memory_bytes_per_second", machine.memory_bytes_per_second}}},
               {"floor",
                {{"seconds", floor.seconds()},
                 {"product_seconds", floor.product_seconds},
                 {"memory_seconds", floor.memory_seconds},
                 {"rank_seconds", floor.rank_seconds}}},
               {"advice", Json::array()},
               {"together", together ? Json(*together) : Json()},
               {"traps", Json::array()},
               {"without_gain", without_gain},
               {"failed", failed}};
  for (const ProfileAdvice& one : advice) {
    Json changes = Json::array();
    for (const ProfileChange& change : one.changes)
      changes.push_back(
          {{"path", change.path}, {"before", Json::parse(change.before)}, {"after", Json::parse(change.after)}});
    json["advice"].push_back({{"cause", one.cause},
                              {"change", one.change},
                              {"changes", changes},
                              {"effect", text_of_effect(one.effect)},
                              {"gain", one.gain},
                              {"low", one.low},
                              {"high", std::isfinite(one.high) ? Json(one.high) : Json()},
                              {"pairs", one.pairs},
                              {"by_cpu_time", one.by_cpu_time},
                              {"is_limit", one.is_limit}});
  }
  for (const ProfileTrap& trap : traps)
    json["traps"].push_back({{"name", trap.name},
                             {"where", trap.where},
                             {"calls_per_step", trap.calls_per_step},
                             {"gain", trap.gain},
                             {"what_to_do", trap.what_to_do}});
  return json.dump(2) + "\n";
}

}  // namespace levin
