#pragma once
#include <string>

namespace levin::cli {

/// A word as a POSIX shell reads it: in quotes where it has to be.
std::string shell_word(const std::string& word);

}  // namespace levin::cli
