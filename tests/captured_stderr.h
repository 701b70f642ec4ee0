#pragma once
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/temporary_folder.h"

/// Captures what the process writes to stderr while this object lives.
class CapturedStderr {
 public:
  CapturedStderr() : original_(::dup(STDERR_FILENO)) {
    std::fflush(stderr);
    FILE* file = std::fopen(path().c_str(), "w");
    ::dup2(::fileno(file), STDERR_FILENO);
    std::fclose(file);
  }
  ~CapturedStderr() {
    std::fflush(stderr);
    ::dup2(original_, STDERR_FILENO);
    ::close(original_);
  }
  std::string text() const {
    std::fflush(stderr);
    std::ostringstream all;
    all << std::ifstream(path()).rdbuf();
    return all.str();
  }

 private:
  std::string path() const { return (folder_.path() / "stderr.txt").string(); }
  TemporaryFolder folder_;
  int original_;
};

/// Returns how often `part` occurs in `text`.
inline int64_t occurrences(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}
