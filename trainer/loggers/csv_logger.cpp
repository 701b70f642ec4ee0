#include <levin/trainer/loggers/csv_logger.h>
#include <levin/core/system/error.h>
#include <levin/data/files/csv_cell.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace levin {
namespace {

const std::vector<std::string> kFirstColumns = {"epoch", "step", "wall_seconds"};

std::string csv_header(const std::vector<std::string>& columns) {
  std::string line;
  for (const std::string& column : columns) line += (line.empty() ? "" : ",") + data::csv_cell(column);
  return line + '\n';
}

/// Removes the first line from `text` and returns its cells.
std::vector<std::string> take_csv_header(std::string_view& text) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  size_t i = 0;
  for (; i < text.size() && (quoted || text[i] != '\n'); ++i) {
    if (text[i] == '"') {
      // A quote after a closing quote is a literal quote.
      if (!quoted && i > 0 && text[i - 1] == '"') cells.back() += '"';
      quoted = !quoted;
    } else if (text[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += text[i];
    }
  }
  text.remove_prefix(std::min(i + 1, text.size()));
  return cells;
}

}  // namespace

CSVLogger::CSVLogger(const std::filesystem::path& folder) : file_(folder / "metrics.csv") { read_existing(); }

void CSVLogger::read_existing() {
  const std::string text = file_.read();
  columns_ = kFirstColumns;
  if (text.empty()) {
    file_.append(csv_header(columns_));
    return;
  }
  std::string_view rows = text;
  columns_ = take_csv_header(rows);
  if (columns_.size() < kFirstColumns.size() ||
      !std::equal(kFirstColumns.begin(), kFirstColumns.end(), columns_.begin())) {
    throw Error(file_.path().string(), ": expected a file that starts with 'epoch,step,wall_seconds', found '",
                csv_header(columns_), "'; move it away");
  }
  rows_ = std::count(rows.begin(), rows.end(), '\n');
}

void CSVLogger::widen(const Metrics& values) {
  std::vector<std::string> columns = columns_;
  for (const auto& [name, value] : values) {
    if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
  }
  if (columns.size() == columns_.size()) return;
  const std::string text = file_.read();
  std::string_view rows = text;
  take_csv_header(rows);
  std::string widened = csv_header(columns);
  const std::string empty_cells(columns.size() - columns_.size(), ',');
  for (char c : rows) {
    if (c == '\n') widened += empty_cells;
    widened += c;
  }
  file_.replace(widened);
  columns_ = std::move(columns);
}

void CSVLogger::log_metrics(const Metrics& values, const LogRow& where) {
  if (values.empty()) return;
  check_metric_names(values);
  widen(values);
  std::string line = std::to_string(where.epoch) + ',' + std::to_string(where.step) + ',';
  line += number_text(where.wall_seconds);
  for (size_t i = kFirstColumns.size(); i < columns_.size(); ++i) {
    line += ',';
    const auto found = values.find(columns_[i]);
    if (found != values.end()) line += number_text(found->second);
  }
  file_.append(line + '\n');
  ++rows_;
}

void CSVLogger::finalize(const std::string&) { file_.sync(); }

State CSVLogger::state_dict() const { return State::dict({{"rows", rows_}}); }

void CSVLogger::load_state_dict(const State& state) {
  const int64_t kept = state.at("rows").to_int();
  if (kept >= rows_) return;
  const std::string text = file_.read();
  std::string_view rows = text;
  take_csv_header(rows);
  file_.replace(csv_header(columns_) + std::string(first_lines(rows, kept)));
  rows_ = kept;
}

}  // namespace levin
