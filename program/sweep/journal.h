#pragma once
#include <levin/trainer/run_folder/run_lock.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace levin::sweep {

/// Something that happened to a trial.
struct TrialEvent {
  enum class Kind {
    Ended,   ///< it has ended a rung in order
    Failed,  ///< it will not be continued
    Lost,    ///< its process was ended by a signal, and it will be continued
    Again,   ///< what was before is forgotten: it restarts from the beginning
  };
  Kind kind = Kind::Ended;
  int64_t trial = 0;
  size_t rung = 0;
  std::optional<double> value = {};  ///< the best of the monitor so far, if it had a finite one
  int64_t step = 0;                  ///< of that value
  int64_t epochs = 0;
  std::string metric = {};  ///< the monitor's, and what is better: "min" or "max"
  std::string mode = {};
  std::string error = {};  ///< of Failed and Lost
};

/// The file in a sweep's folder to which it writes, line by line, what happens. A killed sweep goes on from there.
class Journal {
 public:
  static constexpr const char* kFile = "sweep.jsonl";

  /// Creates the folder with its journal, or opens that of an earlier session, and locks it. `identity` describes the
  /// sweep. Throws levin::UsageError if the folder has files and no journal, if another process runs the sweep, if the
  /// journal is damaged, and, with the differences, if it is that of another sweep.
  Journal(const std::filesystem::path& folder, const nlohmann::ordered_json& identity);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Returns the events of all sessions.
  const std::vector<TrialEvent>& events() const { return events_; }
  bool is_continued() const { return is_continued_; }
  /// Writes an event, and returns when the disk has it. Throws levin::Error.
  void append(const TrialEvent& event);

 private:
  void write_line(const nlohmann::ordered_json& line);
  void read(const std::string& text, const nlohmann::ordered_json& identity);

  std::filesystem::path path_;
  RunLock lock_ = {};
  int descriptor_ = -1;
  bool is_continued_ = false;
  std::vector<TrialEvent> events_ = {};
};

}  // namespace levin::sweep
