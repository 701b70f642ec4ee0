#pragma once
#include <c10/util/StringUtil.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace levin {

/// The base class of levin's exceptions. The text, the arguments one after another, says what was expected, what came,
/// and what to do.
class Error : public std::runtime_error {
 public:
  template <class... Parts>
  explicit Error(const Parts&... parts) : std::runtime_error(c10::str(parts...)) {}
};

/// An error in how the run was set up: configuration, files, or the user's module. The program exits with status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Returns an exception's text without the stack trace that LibTorch appends.
std::string message_of(const std::exception& error);

/// Returns " (did you mean X?)" with the candidate nearest to `word` by edit distance; empty if none is near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace levin
