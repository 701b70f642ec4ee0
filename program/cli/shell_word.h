#pragma once
#include <string>

namespace levin::cli {

/// Returns the word for a POSIX shell, quoted if necessary.
std::string shell_word(const std::string& word);

}  // namespace levin::cli
