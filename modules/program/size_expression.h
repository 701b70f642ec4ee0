#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace levin::program {

/// Returns the symbol that an expression consists of: "Symbol('s0', positive=True)" is s0. Unset for other expressions.
std::optional<std::string> symbol_of(std::string_view expression);

/// Computes an expression of sizes, as sympy's srepr writes it: "Add(Mul(Integer(2), Symbol('s0')), Integer(1))".
/// Unset if a symbol has no value, a function is unknown, or the result is no 64-bit number.
std::optional<int64_t> value_of(std::string_view expression, const std::map<std::string, int64_t>& symbols);

}  // namespace levin::program
