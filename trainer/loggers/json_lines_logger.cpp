#include <levin/trainer/loggers/json_lines_logger.h>
#include <levin/core/system/json_member.h>
#include <levin/core/system/json_text.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace levin {

JSONLinesLogger::JSONLinesLogger(const std::filesystem::path& folder) : file_(folder / "metrics.jsonl") {
  const std::string text = file_.read();
  rows_ = std::count(text.begin(), text.end(), '\n');
}

void JSONLinesLogger::log_metrics(const Metrics& values, const LogRow& where) {
  if (values.empty()) return;
  check_metric_names(values);
  nlohmann::ordered_json row = {
      {"step", where.step}, {"epoch", where.epoch}, {"wall_seconds", json_number(where.wall_seconds)}};
  for (const auto& [name, value] : values) add_member(row, name, json_number(value));
  file_.append(json_text(row) + '\n');
  ++rows_;
}

void JSONLinesLogger::finalize(const std::string&) { file_.sync(); }

State JSONLinesLogger::state_dict() const { return State::dict({{"rows", rows_}}); }

void JSONLinesLogger::load_state_dict(const State& state) {
  const int64_t kept = state.at("rows").to_int();
  if (kept >= rows_) return;
  const std::string text = file_.read();
  file_.replace(first_lines(text, kept));
  rows_ = kept;
}

}  // namespace levin
