#pragma once
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

/// The times between ticks, in microseconds.
struct StepClock {
  void tick() {
    const auto now = std::chrono::steady_clock::now();
    microseconds.push_back(std::chrono::duration<double, std::micro>(now - last_).count());
    last_ = now;
  }
  std::vector<double> microseconds = {};

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Measurements of several rounds.
struct Rounds {
  std::vector<double> values = {};

  double median() const {
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const size_t middle = sorted.size() / 2;
    return sorted.size() % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
  double least() const { return *std::min_element(values.begin(), values.end()); }
  double most() const { return *std::max_element(values.begin(), values.end()); }
  /// Returns the ratios, round by round.
  Rounds over(const Rounds& other) const {
    Rounds ratios;
    for (size_t i = 0; i < values.size(); ++i) ratios.values.push_back(values[i] / other.values[i]);
    return ratios;
  }
};
