#include <levin/program/profile/paired_ratios.h>

#include <limits>

#include "tests/catch.h"

namespace {

levin::PairedRatios ratios_of(std::initializer_list<double> values) {
  levin::PairedRatios ratios;
  for (const double value : values) ratios.add(value);
  return ratios;
}

}  // namespace

TEST_CASE("the interval of paired ratios is Student's") {
  // mean of logs 0.5, standard error 0.1 / sqrt(3), t(0.975, 2) = 4.303
  const auto ratios = ratios_of({std::exp(0.4), std::exp(0.5), std::exp(0.6)});
  CHECK(ratios.median() == Approx(std::exp(0.5)));
  CHECK(std::log(ratios.low()) == Approx(0.5 - 4.303 * 0.1 / std::sqrt(3.0)).epsilon(1e-6));
  CHECK(std::log(ratios.high()) == Approx(0.5 + 4.303 * 0.1 / std::sqrt(3.0)).epsilon(1e-6));
}

TEST_CASE("an even number of ratios has the geometric mean of the two in the middle as its median") {
  CHECK(ratios_of({1, 2, 8, 100}).median() == Approx(4));
  CHECK(ratios_of({}).median() == 1);
}

TEST_CASE("a gain is clear only if the interval is clear of the limit") {
  CHECK(ratios_of({1.5, 1.52, 1.48}).is_clearly_above(1.1));
  CHECK_FALSE(ratios_of({1.5, 1.5}).is_clearly_above(1.1));       // two pairs prove nothing
  CHECK_FALSE(ratios_of({0.7, 1.5, 2.6}).is_clearly_above(1.1));  // noise
  CHECK_FALSE(ratios_of({1.02, 1.03, 1.02}).is_clearly_above(1.1));
  CHECK(ratios_of({1.2, 90, 1.2, 1.3, 1.2, 1.2, 1.3}).is_clearly_above(1.1));  // one outlier, and all above
}

TEST_CASE("a ratio that is none is ignored") {
  const auto ratios = ratios_of({0, -1, std::numeric_limits<double>::infinity(), std::nan(""), 2});
  CHECK(ratios.size() == 1);
  CHECK(ratios.median() == Approx(2));
  CHECK(ratios.low() == 0);
}
