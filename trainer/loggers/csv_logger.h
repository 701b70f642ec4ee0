#pragma once
#include <levin/trainer/loggers/logger.h>
#include <levin/trainer/loggers/row_file.h>

#include <filesystem>
#include <string>
#include <vector>

namespace levin {

/// Writes `metrics.csv`: the columns `epoch,step,wall_seconds`, then the metrics in order of first appearance, with an
/// empty cell if a row has no value. Numbers are the shortest text that reads back the same, or `nan`, `inf`, `-inf`.
///
/// Each row is written at once, so a killed run keeps all rows. A metric that appears later widens the header: the file
/// is rewritten with empty cells in the earlier rows.
class CSVLogger final : public Logger {
 public:
  /// `folder`: the run's folder; an existing `metrics.csv` is continued. Throws levin::Error if the file cannot be
  /// opened.
  explicit CSVLogger(const std::filesystem::path& folder);

  std::string name() const override { return "CSVLogger"; }
  void log_metrics(const Metrics& values, const LogRow& where) override;
  void finalize(const std::string& status) override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  void read_existing();
  void widen(const Metrics& values);

  RowFile file_;
  std::vector<std::string> columns_ = {};
  int64_t rows_ = 0;
};

}  // namespace levin
