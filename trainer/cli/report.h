#pragma once
#include <levin/trainer/trainer.h>

#include <ostream>
#include <string>
#include <vector>

namespace levin::cli {

/// One short block: status, epochs, steps, seconds, metrics, the run's folder.
void print_result(std::ostream& out, const RunResult& result);

/// A table of the metrics of each loader.
void print_metrics(std::ostream& out, const std::string& command, const std::vector<Metrics>& by_loader);

/// A number with at most six digits.
std::string short_number(double value);

/// How much was predicted, by loader.
void print_predictions(std::ostream& out, const std::vector<std::vector<Batch>>& by_loader);

}  // namespace levin::cli
