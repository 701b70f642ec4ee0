#include <levin/modules/program/number_function.h>
#include <levin/core/system/error.h>

#include <cmath>
#include <limits>
#include <map>

namespace levin::program {
namespace {

using Arguments = std::vector<c10::IValue>;

void expect(const Arguments& arguments, size_t count) {
  if (arguments.size() != count) throw UsageError("a function of ", count, " numbers was given ", arguments.size());
  for (const c10::IValue& argument : arguments)
    if (!argument.isInt() && !argument.isDouble() && !argument.isBool())
      throw UsageError("a function of numbers was given a ", argument.tagKind());
}

bool is_real(const c10::IValue& value) { return value.isDouble(); }
double real(const c10::IValue& value) {
  if (value.isDouble()) return value.toDouble();
  return value.isBool() ? static_cast<double>(value.toBool()) : static_cast<double>(value.toInt());
}
int64_t whole(const c10::IValue& value) {
  if (value.isDouble()) throw UsageError("a whole number was expected");
  return value.isBool() ? static_cast<int64_t>(value.toBool()) : value.toInt();
}
bool truth(const c10::IValue& value) { return value.isDouble() ? value.toDouble() != 0 : whole(value) != 0; }

int64_t checked_whole(double value) {
  if (!(value > -9.2e18 && value < 9.2e18)) throw UsageError("a size is beyond 64 bits");
  return static_cast<int64_t>(value);
}

[[noreturn]] void overflow() { throw UsageError("a size is beyond 64 bits"); }

// Python rounds quotients down, and a remainder has the sign of the divisor.
int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) throw UsageError("a size is divided by zero");
  if (b == -1) {
    if (a == std::numeric_limits<int64_t>::min()) overflow();
    return -a;
  }
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

struct Add {
  static bool whole(int64_t a, int64_t b, int64_t& c) { return __builtin_add_overflow(a, b, &c); }
  static double real(double a, double b) { return a + b; }
};
struct Sub {
  static bool whole(int64_t a, int64_t b, int64_t& c) { return __builtin_sub_overflow(a, b, &c); }
  static double real(double a, double b) { return a - b; }
};
struct Mul {
  static bool whole(int64_t a, int64_t b, int64_t& c) { return __builtin_mul_overflow(a, b, &c); }
  static double real(double a, double b) { return a * b; }
};

template <class Operation>
c10::IValue arithmetic(const Arguments& arguments) {
  expect(arguments, 2);
  if (is_real(arguments[0]) || is_real(arguments[1])) return Operation::real(real(arguments[0]), real(arguments[1]));
  int64_t result = 0;
  if (Operation::whole(whole(arguments[0]), whole(arguments[1]), result)) overflow();
  return result;
}

c10::IValue floordiv(const Arguments& arguments) {
  expect(arguments, 2);
  if (!is_real(arguments[0]) && !is_real(arguments[1])) return floor_div(whole(arguments[0]), whole(arguments[1]));
  if (real(arguments[1]) == 0) throw UsageError("a size is divided by zero");
  return std::floor(real(arguments[0]) / real(arguments[1]));
}

c10::IValue mod(const Arguments& arguments) {
  expect(arguments, 2);
  if (!is_real(arguments[0]) && !is_real(arguments[1])) {
    const int64_t a = whole(arguments[0]), b = whole(arguments[1]);
    if (b == 0) throw UsageError("a size is divided by zero");
    if (b == -1) return int64_t{0};
    const int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  const double b = real(arguments[1]);
  if (b == 0) throw UsageError("a size is divided by zero");
  return real(arguments[0]) - std::floor(real(arguments[0]) / b) * b;
}

c10::IValue truediv(const Arguments& arguments) {
  expect(arguments, 2);
  if (real(arguments[1]) == 0) throw UsageError("a size is divided by zero");
  return real(arguments[0]) / real(arguments[1]);
}

c10::IValue power(const Arguments& arguments) {
  expect(arguments, 2);
  if (is_real(arguments[0]) || is_real(arguments[1]) || whole(arguments[1]) < 0)
    return std::pow(real(arguments[0]), real(arguments[1]));
  const int64_t base = whole(arguments[0]), exponent = whole(arguments[1]);
  int64_t result = 1;
  // Any base but -1, 0 and 1 is beyond 64 bits from the exponent 64 on.
  const int64_t steps = base >= -1 && base <= 1 ? exponent % 2 + (exponent > 1 ? 2 : 0) : exponent;
  for (int64_t i = 0; i < steps; ++i)
    if (__builtin_mul_overflow(result, base, &result)) overflow();
  return result;
}

template <bool compare(double, double), bool compare_whole(int64_t, int64_t)>
c10::IValue comparison(const Arguments& arguments) {
  expect(arguments, 2);
  if (is_real(arguments[0]) || is_real(arguments[1])) return compare(real(arguments[0]), real(arguments[1]));
  return compare_whole(whole(arguments[0]), whole(arguments[1]));
}
template <class T>
bool eq(T a, T b) {
  return a == b;
}
template <class T>
bool ne(T a, T b) {
  return a != b;
}
template <class T>
bool lt(T a, T b) {
  return a < b;
}
template <class T>
bool le(T a, T b) {
  return a <= b;
}
template <class T>
bool gt(T a, T b) {
  return a > b;
}
template <class T>
bool ge(T a, T b) {
  return a >= b;
}

c10::IValue neg(const Arguments& arguments) {
  expect(arguments, 1);
  if (is_real(arguments[0])) return -real(arguments[0]);
  int64_t result = 0;
  if (__builtin_sub_overflow(int64_t{0}, whole(arguments[0]), &result)) overflow();
  return result;
}
c10::IValue pos(const Arguments& arguments) {
  expect(arguments, 1);
  return arguments[0].isBool() ? c10::IValue(whole(arguments[0])) : arguments[0];
}
c10::IValue logical_not(const Arguments& arguments) {
  expect(arguments, 1);
  return !truth(arguments[0]);
}

template <bool both>
c10::IValue logical(const Arguments& arguments) {
  expect(arguments, 2);
  if (arguments[0].isBool() && arguments[1].isBool())
    return both ? arguments[0].toBool() && arguments[1].toBool() : arguments[0].toBool() || arguments[1].toBool();
  const int64_t a = whole(arguments[0]), b = whole(arguments[1]);
  return both ? a & b : a | b;
}

template <bool left>
c10::IValue shift(const Arguments& arguments) {
  expect(arguments, 2);
  const int64_t a = whole(arguments[0]), b = whole(arguments[1]);
  if (b < 0 || b > 62) overflow();
  int64_t result = 0;
  if (left ? __builtin_mul_overflow(a, int64_t{1} << b, &result) : (result = a >> b, false)) overflow();
  return result;
}

template <bool largest>
c10::IValue extreme(const Arguments& arguments) {
  expect(arguments, 2);
  const bool first = largest ? real(arguments[0]) >= real(arguments[1]) : real(arguments[0]) <= real(arguments[1]);
  if (!is_real(arguments[0]) && !is_real(arguments[1])) {
    const int64_t a = whole(arguments[0]), b = whole(arguments[1]);
    return largest ? std::max(a, b) : std::min(a, b);
  }
  return real(first ? arguments[0] : arguments[1]);
}

c10::IValue to_whole(const Arguments& arguments) {
  expect(arguments, 1);
  return is_real(arguments[0]) ? checked_whole(std::trunc(real(arguments[0]))) : whole(arguments[0]);
}
c10::IValue floor_of(const Arguments& arguments) {
  expect(arguments, 1);
  return is_real(arguments[0]) ? checked_whole(std::floor(real(arguments[0]))) : whole(arguments[0]);
}
c10::IValue ceil_of(const Arguments& arguments) {
  expect(arguments, 1);
  return is_real(arguments[0]) ? checked_whole(std::ceil(real(arguments[0]))) : whole(arguments[0]);
}
c10::IValue round_of(const Arguments& arguments) {
  expect(arguments, 1);
  return is_real(arguments[0]) ? checked_whole(std::nearbyint(real(arguments[0]))) : whole(arguments[0]);
}
c10::IValue to_real(const Arguments& arguments) {
  expect(arguments, 1);
  return real(arguments[0]);
}
c10::IValue square_root(const Arguments& arguments) {
  expect(arguments, 1);
  return std::sqrt(real(arguments[0]));
}
c10::IValue if_then_else(const Arguments& arguments) {
  expect(arguments, 3);
  return arguments[truth(arguments[0]) ? 1 : 2];
}

}  // namespace

NumberFunction find_number_function(const std::string& target) {
  static const std::map<std::string, NumberFunction> functions = {
      {"_operator.add", arithmetic<Add>},
      {"_operator.sub", arithmetic<Sub>},
      {"_operator.mul", arithmetic<Mul>},
      {"_operator.floordiv", floordiv},
      {"_operator.mod", mod},
      {"_operator.truediv", truediv},
      {"_operator.pow", power},
      {"_operator.eq", comparison<eq<double>, eq<int64_t>>},
      {"_operator.ne", comparison<ne<double>, ne<int64_t>>},
      {"_operator.lt", comparison<lt<double>, lt<int64_t>>},
      {"_operator.le", comparison<le<double>, le<int64_t>>},
      {"_operator.gt", comparison<gt<double>, gt<int64_t>>},
      {"_operator.ge", comparison<ge<double>, ge<int64_t>>},
      {"_operator.neg", neg},
      {"_operator.pos", pos},
      {"_operator.and_", logical<true>},
      {"_operator.or_", logical<false>},
      {"_operator.lshift", shift<true>},
      {"_operator.rshift", shift<false>},
      {"math.trunc", to_whole},
      {"math.floor", floor_of},
      {"math.ceil", ceil_of},
      {"builtins.round", round_of},
      {"torch.sym_not", logical_not},
      {"torch.sym_int", to_whole},
      {"torch.sym_float", to_real},
      {"torch.sym_max", extreme<true>},
      {"torch.sym_min", extreme<false>},
      {"torch.sym_sqrt", square_root},
      {"torch._sym_sqrt", square_root},
      {"torch.sym_ite", if_then_else},
  };
  const auto found = functions.find(target);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace levin::program
