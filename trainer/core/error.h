#pragma once
#include <c10/util/StringUtil.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace levin {

/// What levin throws: what was expected, what came, and what to do. The arguments are written one after another.
class Error : public std::runtime_error {
 public:
  template <class... Parts>
  explicit Error(const Parts&... parts) : std::runtime_error(c10::str(parts...)) {}
};

/// An error in how the run was set up: configuration, files, the contract of the user's module. The program exits 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// What an exception says, without the stack that LibTorch appends.
std::string message_of(const std::exception& error);

/// The candidate nearest to `word` by edit distance, as " (did you mean X?)"; empty when none is near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace levin
