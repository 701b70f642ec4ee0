#pragma once
#include <levin/program/runs/recorded_run.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace levin::runs {

/// The runs below a folder, each of which is read again only if its files have changed.
class RunCache {
 public:
  struct Entry {
    std::string stamp = {};  ///< another one if the run's files are others
    std::shared_ptr<const RecordedRun> run = {};
  };

  explicit RunCache(std::filesystem::path root) : root_(std::move(root)) {}

  /// Returns all runs by their paths below the root. Throws levin::Error if `stop` asks for it.
  std::vector<std::pair<std::string, Entry>> all(const std::stop_token& stop);
  /// Returns the run of that path, which must be one that `all` gives; nullopt otherwise.
  std::optional<Entry> at(const std::string& name, const std::stop_token& stop);

 private:
  bool is_inside(const std::filesystem::path& folder) const;
  std::optional<Entry> read(const std::filesystem::path& folder, const std::string& name) const;

  std::filesystem::path root_;
  std::map<std::string, Entry> known_ = {};
};

}  // namespace levin::runs
