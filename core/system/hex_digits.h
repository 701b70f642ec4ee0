#pragma once
#include <string>
#include <string_view>

namespace levin {

/// Returns two hexadecimal digits for each byte.
std::string hex_digits(std::string_view bytes);

}  // namespace levin
