#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace levin::program {

/// A whole number that follows sizes: a polynomial of symbols, of degree 3 at most, with whole coefficients.
class SizePolynomial {
 public:
  /// The exponent of each symbol.
  using Monomial = std::vector<int64_t>;

  /// Returns the values of `symbols` symbols at which numbers are recorded: all that are at most 3 steps of 1 above
  /// `base` together, `base` first, and one further away, with which the polynomial is checked.
  static std::vector<std::vector<int64_t>> points(const std::vector<int64_t>& base);
  /// Returns the polynomial with these values at `points(base)`; unset if there is none.
  static std::optional<SizePolynomial> through(const std::vector<int64_t>& base, const std::vector<int64_t>& values);

  static SizePolynomial of(std::map<Monomial, int64_t> coefficients);
  SizePolynomial plus(const Monomial& monomial, int64_t coefficient) const;
  /// By monomial; none is 0.
  const std::map<Monomial, int64_t>& coefficients() const { return coefficients_; }
  /// Returns the expression as sympy's srepr writes it: "Add(Integer(1), Mul(Integer(2), Symbol('s0', ...)))".
  std::string expression(const std::vector<std::string>& symbols) const;

  bool operator<(const SizePolynomial& other) const { return coefficients_ < other.coefficients_; }

 private:
  std::map<Monomial, int64_t> coefficients_ = {};
};

/// "Symbol('s0', positive=True, integer=True)"
std::string symbol_expression(const std::string& symbol);

}  // namespace levin::program
