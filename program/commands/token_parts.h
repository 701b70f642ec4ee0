#pragma once
#include <c10/core/ScalarType.h>
#include <levin/data/download/file_lock.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace levin::cli {

/// A file of tokens on its way: parts in the folder OUT.parts, each of which appears whole or not at all, so that a
/// process that was killed is continued by the next one. Parts belong to stretches of the input.
class TokenParts {
 public:
  /// Takes up the parts that another process has left, if its `plan`, a text that says what is written of what, was the
  /// same; otherwise removes them. Waits for a process that writes the same file. Throws levin::UsageError if the
  /// folder cannot be made, or is none of these.
  TokenParts(std::filesystem::path out, at::ScalarType dtype, const std::string& plan);

  /// Returns the number of parts of a stretch, if all are there.
  std::optional<int64_t> finished(int64_t stretch) const;
  bool has(int64_t stretch, int64_t part) const;
  /// Writes a part. May be called from several threads at a time for different parts. Throws levin::UsageError for a
  /// token that does not fit the dtype.
  void write(int64_t stretch, int64_t part, std::span<const int32_t> tokens) const;
  void finish(int64_t stretch, int64_t parts) const;
  /// Puts the parts of the first `stretches` together to OUT and removes the folder. Returns the number of tokens. If
  /// the name of OUT ends with .npy, it is an array of NumPy; otherwise it has no header.
  int64_t join(int64_t stretches);

 private:
  std::filesystem::path part_file(int64_t stretch, int64_t part) const;
  std::filesystem::path count_file(int64_t stretch) const;
  void remove_parts() const;

  std::filesystem::path out_, folder_;
  at::ScalarType dtype_;
  std::unique_ptr<data::FileLock> lock_;
};

}  // namespace levin::cli
