#pragma once
#include <string>

namespace levin {

/// Opens a library that levin can do without, and leaves it open.
///
/// It is looked for in the folder that the variable LEVIN_MODULES names, beside levin's program or library, in the
/// folder lib beside theirs, and where the system's loader looks. Returns null if there is none. Throws
/// levin::UsageError with the loader's reason and `how_to_get` if it cannot be opened.
void* open_library(const std::string& file, const std::string& how_to_get);

}  // namespace levin
