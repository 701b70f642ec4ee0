#include <levin/program/cli/report.h>
#include <levin/trainer/fit/run_messages.h>

#include <algorithm>
#include <cstdio>
#include <set>

namespace levin::cli {
namespace {

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

size_t longest(const std::set<std::string>& names) {
  size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  return width;
}

}  // namespace

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

void print_result(std::ostream& out, const RunResult& result) {
  out << result_line(result) << "\n";
  std::set<std::string> names = {"run folder"};
  for (const auto& [name, value] : result.metrics) names.insert(name);
  const size_t width = longest(names) + 2;
  for (const auto& [name, value] : result.metrics) out << "  " << padded(name, width) << short_number(value) << "\n";
  // Without a monitor no checkpoint is known to be the best.
  if (!result.best_checkpoint.empty())
    out << "  " << padded(result.best_score ? "best" : "checkpoint", width) << result.best_checkpoint.string() << "\n";
  if (!result.folder.empty()) out << "  " << padded("run folder", width) << result.folder.string() << "\n";
  out.flush();
}

void print_metrics(std::ostream& out, const std::string& command, const std::vector<Metrics>& by_loader) {
  constexpr size_t kColumn = 14;
  std::set<std::string> names = {command};
  for (const Metrics& metrics : by_loader)
    for (const auto& [name, value] : metrics) names.insert(name);
  const size_t width = longest(names) + 2;
  out << padded(command, width);
  for (size_t i = 0; i < by_loader.size(); ++i) out << padded("loader " + std::to_string(i), kColumn);
  out << "\n";
  for (const std::string& name : names) {
    if (name == command) continue;
    out << padded(name, width);
    for (const Metrics& metrics : by_loader) {
      const auto found = metrics.find(name);
      out << padded(found == metrics.end() ? "-" : short_number(found->second), kColumn);
    }
    out << "\n";
  }
  out.flush();
}

void print_predictions(std::ostream& out, const std::vector<std::vector<Batch>>& by_loader) {
  for (size_t i = 0; i < by_loader.size(); ++i) {
    int64_t samples = 0;
    for (const Batch& batch : by_loader[i]) samples += batch.size();
    out << "predict: loader " << i << ": " << by_loader[i].size() << " batches, " << samples << " samples\n";
  }
  out.flush();
}

}  // namespace levin::cli
