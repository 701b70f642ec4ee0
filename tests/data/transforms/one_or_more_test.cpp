#include <levin/data/transforms/one_or_more.h>
#include <levin/core/options/option.h>

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/error_text.h"

using levin::Json;
using levin::schema_of;
using namespace levin::data;

namespace {

struct Options {
  OneOrMore<int64_t> size = LEVIN_OPTION(size, {7}, "Size", {.min = 1});
  OneOrMore<double> range = LEVIN_OPTION(range, {0.5, 2}, "Range");
};

std::string error_of(const Json& json) {
  Options options;
  return error_text<levin::UsageError>([&] { schema_of<Options>().set(&options, "data", json); });
}

}  // namespace

TEST_CASE("one number may stand without a list, in C++ and in JSON") {
  CHECK(Options{.size = 3}.size.values == std::vector<int64_t>{3});
  CHECK(Options{.size = {3, 4}}.size.values == std::vector<int64_t>{3, 4});
  CHECK(Options{.range = 0.25}.range.values == std::vector<double>{0.25});
  Options options;
  CHECK(schema_of<Options>().get(&options) == Json({{"size", 7}, {"range", {0.5, 2.0}}}));
  schema_of<Options>().set(&options, "data", {{"size", {1, 2}}, {"range", 3}});
  CHECK(options.size.values == std::vector<int64_t>{1, 2});
  CHECK(options.range.values == std::vector<double>{3});
  CHECK(schema_of<Options>().get(&options) == Json({{"size", {1, 2}}, {"range", 3.0}}));
}

TEST_CASE("texts of flags are read as one number or as a list") {
  const levin::OptionType& type = levin::OptionTraits<OneOrMore<int64_t>>::type();
  CHECK(type.from_text("224") == Json(224));
  CHECK(type.from_text("224,320") == Json({224, 320}));
  CHECK(type.from_text("[224,320]") == Json({224, 320}));
  CHECK(type.json_schema() ==
        Json::parse(R"({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]})"));
}

TEST_CASE("wrong numbers are named with their place") {
  CHECK(error_of({{"size", 0}}) == "data.size: expected at least 1, got 0");
  CHECK(error_of({{"size", {3, 0}}}) == "data.size[1]: expected at least 1, got 0");
  CHECK(error_of({{"size", true}}) == "data.size: expected a whole number or a list of them, got true");
  CHECK(error_of({{"size", 1.5}}) == "data.size: expected a whole number, got 1.5");
  const Options options{.size = {3, -1}};
  CHECK(error_text([&] { schema_of<Options>().check(&options, "x"); }) == "x.size[1]: expected at least 1, got -1");
}

TEST_CASE("sizes and ranges are one number or two") {
  CHECK(height_and_width(5, "a.size") == std::array<int64_t, 2>{5, 5});
  CHECK(height_and_width({5, 6}, "a.size") == std::array<int64_t, 2>{5, 6});
  CHECK(error_text([] { height_and_width({}, "a.size"); }) ==
        "a.size: expected a number or [height, width], got 0 numbers");
  CHECK(low_and_high({1, 2}, "a.scale") == std::array<double, 2>{1, 2});
  CHECK(error_text([] { low_and_high({2, 1}, "a.scale"); }) == "a.scale: 2 is more than 1");
  CHECK(error_text([] { low_and_high(2, "a.scale"); }) == "a.scale: expected [low, high], got 1 numbers");
}
