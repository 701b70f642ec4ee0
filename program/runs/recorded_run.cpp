#include <levin/program/runs/recorded_run.h>
#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/state/unread_file_error.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>
#include <levin/data/files/csv_file.h>
#include <levin/program/runs/run_folders.h>
#include <levin/program/runs/run_json.h>
#include <levin/trainer/run_folder/run_environment.h>
#include <levin/trainer/run_folder/run_lock.h>
#include <levin/trainer/run_folder/run_record.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

namespace levin::runs {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The most bytes of a JSON file that is read as a whole, and of a line of metrics.jsonl.
constexpr size_t kMostJsonBytes = 64 << 20, kMostLineBytes = 16 << 20;

/// Returns nothing if there is no file of this name, and, with a word in the run's problems, if there is something
/// else: a link, which may lead out of the run's folder, a FIFO, a device.
std::optional<FileBytes> bytes_of(const fs::path& file, RecordedRun& run) {
  std::error_code ignored;
  const fs::file_type type = fs::symlink_status(file, ignored).type();
  if (type == fs::file_type::not_found || type == fs::file_type::none) return {};
  try {
    if (type == fs::file_type::regular) return map_file_bytes(file);
    run.problems.push_back(file.filename().string() + " is no plain file");
  } catch (const UsageError& error) {
    run.is_unread |= dynamic_cast<const UnreadFileError*>(&error) != nullptr;
    run.problems.push_back(error.what());
  }
  return {};
}

/// Returns null, and says so in the run's problems, if the file is there and is no JSON object.
Json object_of(const fs::path& file, RecordedRun& run) {
  const std::optional<FileBytes> bytes = bytes_of(file, run);
  if (!bytes) return nullptr;
  Json json = bytes->size <= kMostJsonBytes ? parse_run_json(bytes->text()) : Json();
  if (json.is_object()) return json;
  run.problems.push_back(file.filename().string() + " is damaged");
  return nullptr;
}

/// Returns a logged number, which may stand as the text "NaN"; nullopt for other values.
std::optional<double> number_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  return {};
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return {};
  return value;
}

bool is_position(const std::string& name) { return name == "step" || name == "epoch" || name == "wall_seconds"; }

/// A row of a log: where it stands, and its metrics.
using Row = std::map<std::string, double>;

/// Returns a number as a whole one; a double holds no more exactly.
int64_t whole(double value) {
  constexpr double kMost = 9007199254740992;  // 2^53
  return static_cast<int64_t>(std::clamp(value, -kMost, kMost));
}

void add(const Row& row, RecordedRun& run) {
  const auto at = [&](const char* name) {
    const auto found = row.find(name);
    return found == row.end() || !std::isfinite(found->second) ? 0.0 : found->second;
  };
  run.step = whole(at("step"));
  run.epoch = whole(at("epoch"));
  run.seconds = at("wall_seconds");
  for (const auto& [name, value] : row) {
    if (is_position(name)) continue;
    Series& series = run.metrics[name];
    series.steps.push_back(run.step);
    series.seconds.push_back(run.seconds);
    series.values.push_back(value);
  }
}

void read_lines(std::string_view text, RecordedRun& run) {
  int64_t line = 0, bad = 0, first_bad = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view one = text.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    if (one.empty()) continue;
    const Json json = one.size() <= kMostLineBytes ? parse_run_json(one) : Json();
    if (!json.is_object() || !json.contains("step")) {
      if (bad++ == 0) first_bad = line;
      continue;
    }
    Row row;
    for (const auto& [name, value] : json.items())
      if (const std::optional<double> number = number_of(value)) row[name] = *number;
    add(row, run);
  }
  if (bad > 0)
    run.problems.push_back(std::string(kMetricLines) + ": " + std::to_string(bad) +
                           " lines cannot be read, the first is line " + std::to_string(first_bad));
}

void read_table(const std::string& text, RecordedRun& run) try {
  data::CsvReader reader(text, kMetricTable);
  while (reader.next()) {
    Row row;
    for (size_t i = 0; i < reader.columns().size(); ++i)
      if (const std::optional<double> number = number_of(reader[i])) row[reader.columns()[i]] = *number;
    add(row, run);
  }
} catch (const UsageError& error) {
  run.problems.push_back(error.what());
}

void read_metrics(RecordedRun& run) {
  const std::optional<FileBytes> lines = bytes_of(run.folder / kMetricLines, run);
  // One logger may have failed where the other has not.
  std::optional<FileBytes> table = {};
  if (!lines || lines->text().empty()) table = bytes_of(run.folder / kMetricTable, run);
  if (table)
    read_table(std::string(table->text()), run);
  else if (lines)
    read_lines(lines->text(), run);
  else
    run.problems.push_back("there is neither metrics.jsonl nor metrics.csv");
}

void read_files(RecordedRun& run) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(run.folder, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end; at.increment(error)) {
    std::error_code ignored;
    const fs::file_type type = at->symlink_status(ignored).type();
    if (type == fs::file_type::directory && is_run_folder(at->path())) at.disable_recursion_pending();  // another run
    if (!at->is_regular_file(ignored)) continue;
    const fs::file_time_type time = at->last_write_time(ignored);
    if (!ignored) run.changed = std::max(run.changed, time);
    if (at->path().extension() == ".ckpt")
      run.checkpoints.push_back({.name = at->path().lexically_relative(run.folder).generic_string(),
                                 .bytes = checkpoint_bytes(at->path()),
                                 .is_link = type == fs::file_type::symlink});
  }
  std::ranges::sort(run.checkpoints, {}, &CheckpointFile::name);
}

/// Returns the bytes of a picture; empty, and says so in the run's problems, if it is too large for a page.
std::string picture_of(const fs::path& file, RecordedRun& run) {
  constexpr uintmax_t kMostBytes = 1'000'000;
  std::error_code error;
  const uintmax_t bytes = fs::file_size(file, error);
  if (error) return {};
  if (bytes <= kMostBytes) {
    const std::optional<FileBytes> found = bytes_of(file, run);
    return found ? std::string(found->text()) : std::string();
  }
  run.problems.push_back(file.filename().string() + " has " + std::to_string(bytes) +
                         " bytes, which is too much to show");
  return {};
}

bool is_square(const Json& matrix) {
  const auto is_row = [&](const Json& row) {
    return row.is_array() && row.size() == matrix.size() &&
           std::ranges::all_of(row, [](const Json& count) { return count.is_number(); });
  };
  return matrix.is_array() && std::ranges::all_of(matrix, is_row);
}

/// Returns whether a folder is there, and is no link out of the run's folder.
bool is_own_folder(const fs::path& folder) {
  std::error_code ignored;
  return fs::symlink_status(folder, ignored).type() == fs::file_type::directory;
}

void read_classifications(RecordedRun& run) {
  const fs::path folder = run.folder / "classification";
  if (!is_own_folder(folder)) return;
  for (const char* stage : {"validate", "test"}) {
    Classification found = {.json = object_of(folder / (std::string(stage) + ".json"), run)};
    if (found.json.is_null()) continue;
    if (!is_square(found.json.value("matrix", Json()))) {
      run.problems.push_back(std::string("classification/") + stage + ".json is damaged");
      continue;
    }
    for (const char* part : {"samples", "mistakes"})
      if (found.json.contains(std::string(part) + "_picture"))
        found.pictures[part] = picture_of(folder / (std::string(stage) + "_" + part + ".png"), run);
    run.classifications.push_back(std::move(found));
  }
}

/// Returns the file of the run's samples whose name begins so and has the largest number; empty if there is none.
fs::path newest_sample(const RecordedRun& run, std::string_view beginning, const char* extension) {
  std::pair<int64_t, fs::path> newest = {-1, {}};
  std::error_code error;
  for (fs::directory_iterator at(run.folder / "samples", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().stem().string();
    if (at->path().extension() != extension || !name.starts_with(beginning)) continue;
    int64_t number = -1;
    std::from_chars(name.data() + beginning.size(), name.data() + name.size(), number);
    newest = std::max(newest, {number, at->path()});
  }
  return newest.first >= 0 ? newest.second : fs::path();
}

/// Reads what SampleText wrote last.
void read_sample_texts(const fs::path& file, RecordedRun& run) {
  const Json json = object_of(file, run);
  if (json.is_null()) return;
  const Json texts = json.value("texts", Json());
  const auto is_sample = [](const Json& one) {
    return one.is_object() && one.value("prompt", Json()).is_string() && one.value("text", Json()).is_string();
  };
  if (texts.is_array() && std::ranges::all_of(texts, is_sample))
    run.sample_texts = {{"name", file.filename().string()}, {"texts", texts}};
  else
    run.problems.push_back(file.filename().string() + " is damaged");
}

void read_samples(RecordedRun& run) {
  if (!is_own_folder(run.folder / "samples")) return;
  if (const fs::path picture = newest_sample(run, "epoch=", ".png"); !picture.empty())
    run.sample_picture = {picture.filename().string(), picture_of(picture, run)};
  if (const fs::path texts = newest_sample(run, "step=", ".json"); !texts.empty()) read_sample_texts(texts, run);
}

void read_sessions(RecordedRun& run) {
  Json environment = object_of(run.folder / kEnvironmentFile, run);
  if (environment.is_object() && environment.contains("sessions") && environment["sessions"].is_array())
    run.sessions = std::move(environment["sessions"]);
}

/// Of a run that has ended and logged to no file here, the summary alone tells where it was.
void take_place_of_summary(RecordedRun& run) {
  if (!run.metrics.empty() || !run.summary.is_object()) return;
  Row place;
  for (const auto& [counter, name] :
       {std::pair("global_step", "step"), std::pair("epochs", "epoch"), std::pair("wall_seconds", "wall_seconds")})
    if (const std::optional<double> number = number_of(run.summary.value(counter, Json()))) place[name] = *number;
  add(place, run);
  run.epoch = std::max<int64_t>(run.epoch - 1, 0);
}

std::string status_of(const RecordedRun& run) {
  if (RunLock::holder(run.folder)) return "running";
  if (!run.summary.is_object()) return "killed";
  const auto status = run.summary.find("status");
  return status != run.summary.end() && status->is_string() ? status->get<std::string>() : "ended";
}

}  // namespace

std::optional<Monitor> monitor_of(const Json& callback) {
  if (!callback.is_object() || callback.value("class", Json()) != "ModelCheckpoint") return {};
  const Json metric = callback.value("monitor", Json());
  if (!metric.is_string()) return {};
  return Monitor{metric, callback.value("mode", Json()) == "max" ? MetricMode::Max : MetricMode::Min};
}

std::string RecordedRun::shown_status() const {
  if (is_paused) return request == RunRequest::Pause ? "paused" : "paused, continues soon";
  if (request == RunRequest::None) return status;
  return status + (request == RunRequest::Pause ? ", pauses soon" : ", stops soon");
}

std::optional<double> RecordedRun::last(const std::string& metric) const {
  const auto found = metrics.find(metric);
  if (found == metrics.end() || found->second.values.empty()) return {};
  return found->second.values.back();
}

std::optional<Best> RecordedRun::best(const Monitor& monitor) const {
  const auto found = metrics.find(monitor.metric);
  if (found == metrics.end()) return {};
  std::optional<Best> best;
  for (size_t i = 0; i < found->second.values.size(); ++i) {
    const double value = found->second.values[i];
    if (!std::isfinite(value)) continue;
    if (!best || is_better(value, best->value, monitor.mode)) best = Best{monitor, value, found->second.steps[i]};
  }
  return best;
}

std::optional<Best> RecordedRun::best() const {
  const std::optional<Monitor> judged_by = monitor();
  return judged_by ? best(*judged_by) : std::nullopt;
}

Json RecordedRun::option(const char* name) const {
  const Json::json_pointer place(std::string("/trainer/") + name);
  return config.contains(place) ? config.at(place) : Json();
}

std::optional<Monitor> RecordedRun::monitor() const {
  const Json callbacks = option("callbacks");
  for (const Json& callback : callbacks) {
    const std::optional<Monitor> monitor = monitor_of(callback);
    if (monitor && metrics.contains(monitor->metric)) return monitor;
  }
  for (const char* name : {"val_loss", "train_loss"})
    if (metrics.contains(name)) return Monitor{name};
  return {};
}

Json best_json(const std::optional<Best>& best) {
  if (!best) return nullptr;
  return {{"metric", best->monitor.metric}, {"value", json_number(best->value)}, {"step", best->step}};
}

RecordedRun read_run(const fs::path& folder) {
  require_run_folder(folder);
  RecordedRun run;
  run.folder = folder;
  run.config = object_of(folder / "config.json", run);
  run.summary = object_of(folder / "summary.json", run);
  read_metrics(run);
  read_files(run);
  read_sessions(run);
  read_classifications(run);
  read_samples(run);
  run.status = status_of(run);
  if (run.status == "running") {
    run.request = read_run_request(folder);
    run.is_paused = is_marked_paused(folder);
  } else {
    take_place_of_summary(run);
  }
  return run;
}

}  // namespace levin::runs
