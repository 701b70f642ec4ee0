#pragma once
#include <string>

namespace levin {

/// Returns 128 random bits from the system as 32 hexadecimal digits; the program's generators are not touched.
std::string random_id();

}  // namespace levin
