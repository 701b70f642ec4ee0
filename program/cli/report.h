#pragma once
#include <levin/trainer/trainer.h>

#include <ostream>
#include <string>
#include <vector>

namespace levin::cli {

/// Prints a short block: status, epochs, steps, seconds, metrics, best checkpoint, the run's folder.
void print_result(std::ostream& out, const RunResult& result);

/// Prints a table of the metrics of each loader.
void print_metrics(std::ostream& out, const std::string& command, const std::vector<Metrics>& by_loader);

/// Formats a number with at most six significant digits.
std::string short_number(double value);

/// Prints the number of predicted batches and samples, by loader.
void print_predictions(std::ostream& out, const std::vector<std::vector<Batch>>& by_loader);

}  // namespace levin::cli
