// Metrics over batches of 256: microseconds per update, and per compute after 100 updates, as JSON.
// benchmarks/metrics.py measures torchmetrics on the same data.
//
//   benchmark_metrics
#include <levin/levin.h>

#include <chrono>
#include <cstdio>

#include "benchmarks/statistics.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kUpdates = 100;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// Measures three rounds and takes the least.
void measure(const char* name, levin::metrics::Metric&& metric, const torch::Tensor& preds,
             const torch::Tensor& target) {
  Rounds update, compute;
  for (int round = 0; round < 4; ++round) {  // the first one warms up
    metric.reset();
    auto begin = Clock::now();
    for (int i = 0; i < kUpdates; ++i) metric.update(preds, target);
    const double update_us = microseconds_since(begin) / kUpdates;
    begin = Clock::now();
    metric.compute();
    const double compute_us = microseconds_since(begin);
    if (round == 0) continue;
    update.values.push_back(update_us);
    compute.values.push_back(compute_us);
  }
  std::printf("{\"metric\": \"%s\", \"update_us\": %.2f, \"compute_us\": %.2f}\n", name, update.least(),
              compute.least());
}

}  // namespace

int main() {
  namespace metrics = levin::metrics;
  torch::manual_seed(1);
  const torch::Tensor scores = torch::randn({256, 10}).softmax(1), classes = torch::randint(10, {256});
  measure("Accuracy", metrics::Accuracy({.task = "multiclass", .num_classes = 10}), scores, classes);
  measure("F1Score", metrics::F1Score({.task = "multiclass", .num_classes = 10, .average = "macro"}), scores, classes);
  measure("ConfusionMatrix", metrics::ConfusionMatrix({.task = "multiclass", .num_classes = 10}), scores, classes);
  measure("AUROC", metrics::AUROC({.task = "multiclass", .num_classes = 10}), scores, classes);
  measure("MeanSquaredError", metrics::MeanSquaredError(), torch::randn({256}), torch::randn({256}));
}
