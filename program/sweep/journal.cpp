#include <levin/program/sweep/journal.h>
#include <fcntl.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <levin/core/system/json_text.h>
#include <levin/trainer/run_folder/config_changes.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

namespace levin::sweep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> kKinds = {"ended", "failed", "lost", "again"};

Json json_of(const TrialEvent& event) {
  Json json = {{"trial", event.trial}, {"event", kKinds[static_cast<size_t>(event.kind)]}, {"rung", event.rung}};
  if (event.kind == TrialEvent::Kind::Ended) {
    json["epochs"] = event.epochs;
    json["metric"] = event.metric;
    json["mode"] = event.mode;
    json["value"] = event.value ? json_number(*event.value) : nullptr;
    json["step"] = event.step;
  }
  if (!event.error.empty()) json["error"] = event.error;
  return json;
}

/// Throws nlohmann's exceptions, and std::out_of_range for an unknown event.
TrialEvent event_of(const Json& json) {
  TrialEvent event{.trial = json.at("trial"), .rung = json.at("rung")};
  const std::string kind = json.at("event");
  const auto found = std::find(kKinds.begin(), kKinds.end(), kind);
  if (found == kKinds.end()) throw std::out_of_range("no event " + kind);
  event.kind = static_cast<TrialEvent::Kind>(found - kKinds.begin());
  event.error = json.value("error", "");
  if (event.kind != TrialEvent::Kind::Ended) return event;
  event.epochs = json.at("epochs");
  event.metric = json.at("metric");
  event.mode = json.at("mode");
  if (json.at("value").is_number()) event.value = json["value"].get<double>();
  event.step = json.at("step");
  return event;
}

}  // namespace

Journal::Journal(const fs::path& folder, const Json& identity) : path_(folder / kFile) {
  std::error_code error;
  const bool exists = fs::exists(path_, error);
  if (!exists && fs::exists(folder, error) && !(fs::is_directory(folder, error) && fs::is_empty(folder, error)))
    throw UsageError("levin sweep: ", folder.string(), " is there and no sweep's folder; name another with --folder");
  fs::create_directories(folder, error);
  if (error) throw UsageError("levin sweep: cannot create ", folder.string(), ": ", error.message());
  try {
    lock_ = RunLock(folder);
  } catch (const UsageError&) {
    throw UsageError("levin sweep: the sweep in ", folder.string(), " is being run by ",
                     RunLock::holder(folder).value_or("another process"));
  }
  std::string text;
  if (const int reason = read_file(path_, text); reason != 0 && reason != ENOENT)
    throw UsageError(path_.string(), ": cannot be read: ", std::generic_category().message(reason));
  descriptor_ = open_file(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0)
    throw UsageError(path_.string(), ": cannot be written: ", std::generic_category().message(errno));
  const size_t whole = text.rfind('\n') + 1;  // 0 without a line
  // A killed process may have left the beginning of a line.
  if (whole < text.size() && ::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0)
    throw Error(path_.string(), ": cannot be cut: ", std::generic_category().message(errno));
  is_continued_ = whole > 0;
  if (is_continued_)
    read(text.substr(0, whole), identity);
  else
    write_line(identity);
}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Journal::read(const std::string& text, const Json& identity) {
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const Json line =
        Json::parse(std::string_view(text).substr(begin, end - begin), nullptr, /*allow_exceptions=*/false);
    begin = end + 1;
    try {
      if (++number > 1)
        events_.push_back(event_of(line));
      else if (!line.is_object() || !line.contains("parameters"))
        throw std::out_of_range("no sweep");
      else if (line != identity) {
        std::string changes;
        for (const std::string& change : config_changes(line.dump(), identity.dump())) changes += "\n  " + change;
        throw UsageError("levin sweep: ", path_.parent_path().string(),
                         " is the folder of another sweep; name another with --folder. What differs:", changes);
      }
    } catch (const UsageError&) {
      throw;
    } catch (const std::exception&) {
      throw UsageError(path_.string(), ": line ", number, " is damaged; start the sweep again with another --folder");
    }
  }
}

void Journal::append(const TrialEvent& event) {
  write_line(json_of(event));
  events_.push_back(event);
}

void Journal::write_line(const Json& line) {
  const std::string text = json_text(line) + "\n";
  int error = write_all(descriptor_, text.data(), text.size());
  if (error == 0) error = sync_file(descriptor_);
  if (error != 0)
    throw Error(path_.string(), ": cannot be written: ", std::generic_category().message(error),
                "; the same command resumes it with the sweep");
}

}  // namespace levin::sweep
