#pragma once
#include <levin/trainer/loggers/logger.h>
#include <levin/trainer/loggers/row_file.h>

#include <filesystem>
#include <string>

namespace levin {

/// Writes `metrics.jsonl`, one JSON object per row: `{"step":50,"epoch":0,"wall_seconds":1.25,"train_loss":0.5}`.
///
/// JSON has no numbers that are not finite, so these are written as the texts "NaN", "Infinity" and "-Infinity", which
/// Python's `float()` reads. Each row is written at once, so a killed run keeps all rows.
class JSONLinesLogger final : public Logger {
 public:
  /// `folder`: the run's folder; an existing `metrics.jsonl` is continued. Throws levin::Error if the file cannot be
  /// opened.
  explicit JSONLinesLogger(const std::filesystem::path& folder);

  std::string name() const override { return "JSONLinesLogger"; }
  void log_metrics(const Metrics& values, const LogRow& where) override;
  void finalize(const std::string& status) override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  RowFile file_;
  int64_t rows_ = 0;
};

}  // namespace levin
