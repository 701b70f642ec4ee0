#pragma once
#include <string>

namespace levin {

/// 128 random bits of the system as 32 hexadecimal digits; the program's random numbers are not touched.
std::string random_id();

}  // namespace levin
