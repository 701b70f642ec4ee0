#pragma once
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/temporary_folder.h"

namespace levin::testing {

/// A file "run.json" with this text, in a folder that lives as long as the object.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) : path_((folder_.path() / "run.json").string()) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  const std::string& path() const { return path_; }

 private:
  TemporaryFolder folder_ = {};
  std::string path_;
};

/// Sets an environment variable for the lifetime of the object; does nothing if the name is empty.
class Environment {
 public:
  Environment(const std::string& name, const std::string& value) : name_(name) {
    if (!name_.empty()) setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    if (!name_.empty()) unsetenv(name_.c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::string name_;
};

/// Returns `text` with each `from` replaced by `to`.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace levin::testing
