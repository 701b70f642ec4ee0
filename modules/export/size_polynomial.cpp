#include <levin/modules/export/size_polynomial.h>

#include <numeric>
#include <utility>

namespace levin::program {
namespace {

__extension__ using Wide = __int128;
using Monomial = SizePolynomial::Monomial;
using Polynomial = std::map<Monomial, Wide>;

constexpr int64_t kDegree = 3, kFactorial = 6;  // 3!, which makes all coefficients whole

int64_t degree(const Monomial& monomial) { return std::accumulate(monomial.begin(), monomial.end(), int64_t{0}); }

/// Returns all exponents of degree kDegree at most, in an order that begins with zeros.
std::vector<Monomial> monomials(size_t symbols) {
  std::vector<Monomial> all = {Monomial(symbols, 0)};
  for (size_t next = 0; next < all.size(); ++next) {
    if (degree(all[next]) == kDegree) continue;
    // Only symbols from the last one that is there on, so that each monomial is made once.
    size_t first = symbols;
    while (first > 0 && all[next][first - 1] == 0) --first;
    for (size_t s = first == 0 ? 0 : first - 1; s < symbols; ++s) {
      Monomial more = all[next];
      ++more[s];
      all.push_back(std::move(more));
    }
  }
  return all;
}

constexpr int64_t kChecked = 5;

int64_t factorial(int64_t n) { return n < 2 ? 1 : n * factorial(n - 1); }
int64_t choose(int64_t n, int64_t k) { return factorial(n) / factorial(k) / factorial(n - k); }

Polynomial times(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  for (const auto& [one, x] : a)
    for (const auto& [other, y] : b) {
      Monomial sum = one;
      for (size_t s = 0; s < sum.size(); ++s) sum[s] += other[s];
      product[sum] += x * y;
    }
  return product;
}

/// Returns kFactorial times the product of "s - base choose exponent" of all symbols.
Polynomial binomials(const Monomial& exponents, const std::vector<int64_t>& base) {
  int64_t divisor = 1;
  Polynomial product = {{Monomial(base.size(), 0), 1}};
  for (size_t s = 0; s < base.size(); ++s) {
    divisor *= factorial(exponents[s]);
    for (int64_t t = 0; t < exponents[s]; ++t) {
      Monomial symbol(base.size(), 0);
      symbol[s] = 1;
      product = times(product, {{symbol, 1}, {Monomial(base.size(), 0), -(base[s] + t)}});
    }
  }
  for (auto& [monomial, factor] : product) factor = factor * kFactorial / divisor;
  return product;
}

Wide value_at(const std::map<Monomial, int64_t>& coefficients, const std::vector<int64_t>& point) {
  Wide sum = 0;
  for (const auto& [monomial, coefficient] : coefficients) {
    Wide term = coefficient;
    for (size_t s = 0; s < point.size(); ++s)
      for (int64_t t = 0; t < monomial[s]; ++t) term *= point[s];
    sum += term;
  }
  return sum;
}

}  // namespace

std::vector<std::vector<int64_t>> SizePolynomial::points(const std::vector<int64_t>& base) {
  std::vector<std::vector<int64_t>> all = monomials(base.size());
  all.emplace_back(base.size(), kChecked);
  for (std::vector<int64_t>& point : all)
    for (size_t s = 0; s < base.size(); ++s) point[s] += base[s];
  return all;
}

/// By Newton's forward differences.
std::optional<SizePolynomial> SizePolynomial::through(const std::vector<int64_t>& base,
                                                      const std::vector<int64_t>& values) {
  const std::vector<Monomial> steps = monomials(base.size());
  std::map<Monomial, int64_t> value_of;
  for (size_t i = 0; i < steps.size(); ++i) value_of[steps[i]] = values.at(i);
  Polynomial sum;
  for (const Monomial& step : steps) {
    Wide difference = 0;
    for (const auto& [below, value] : value_of) {
      Wide term = value;
      for (size_t s = 0; s < base.size() && term != 0; ++s) {
        const int64_t missing = step[s] - below[s];
        term = missing < 0 ? 0 : term * choose(step[s], below[s]) * (missing % 2 == 0 ? 1 : -1);
      }
      difference += term;
    }
    if (difference == 0) continue;
    for (const auto& [monomial, factor] : binomials(step, base)) sum[monomial] += difference * factor;
  }
  SizePolynomial polynomial;
  for (const auto& [monomial, coefficient] : sum) {
    const Wide whole = coefficient / kFactorial;
    if (coefficient % kFactorial != 0 || whole != static_cast<int64_t>(whole)) return std::nullopt;
    if (whole != 0) polynomial.coefficients_[monomial] = static_cast<int64_t>(whole);
  }
  if (value_at(polynomial.coefficients_, points(base).back()) != values.back()) return std::nullopt;
  return polynomial;
}

SizePolynomial SizePolynomial::of(std::map<Monomial, int64_t> coefficients) {
  SizePolynomial polynomial;
  polynomial.coefficients_ = std::move(coefficients);
  return polynomial;
}

SizePolynomial SizePolynomial::plus(const Monomial& monomial, int64_t coefficient) const {
  SizePolynomial sum = *this;
  sum.coefficients_[monomial] += coefficient;
  return sum;
}

std::string symbol_expression(const std::string& symbol) {
  return "Symbol('" + symbol + "', positive=True, integer=True)";
}

std::string SizePolynomial::expression(const std::vector<std::string>& symbols) const {
  const auto call = [](const char* function, const std::vector<std::string>& arguments) {
    if (arguments.size() == 1) return arguments.front();
    std::string text = std::string(function) + "(";
    for (size_t i = 0; i < arguments.size(); ++i) text += (i == 0 ? "" : ", ") + arguments[i];
    return text + ")";
  };
  std::vector<std::string> terms;
  for (const auto& [monomial, coefficient] : coefficients_) {
    std::vector<std::string> factors;
    if (coefficient != 1 || degree(monomial) == 0) factors.push_back("Integer(" + std::to_string(coefficient) + ")");
    for (size_t s = 0; s < symbols.size(); ++s) {
      const std::string symbol = symbol_expression(symbols[s]);
      if (monomial[s] == 1) factors.push_back(symbol);
      if (monomial[s] > 1) factors.push_back("Pow(" + symbol + ", Integer(" + std::to_string(monomial[s]) + "))");
    }
    terms.push_back(call("Mul", factors));
  }
  return terms.empty() ? "Integer(0)" : call("Add", terms);
}

}  // namespace levin::program
