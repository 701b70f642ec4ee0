#include <levin/core/options/option.h>
#include <levin/core/system/error.h>

#include <nlohmann/json.hpp>

#include "tests/catch.h"

using levin::Json;

namespace {

struct Crop {
  int64_t pixels = LEVIN_OPTION(pixels, 4, "Border", {.min = 0});
  bool mirror = LEVIN_OPTION(mirror, false, "Mirror at random");
};

struct When {
  std::string interval = LEVIN_OPTION(interval, "epoch", "When", {.choices = {"epoch", "step"}});
};

struct All {
  bool flag = LEVIN_OPTION(flag, true, "A flag");
  int64_t count = LEVIN_OPTION(count, 3, "A count", {.min = 0, .max = 10});
  double lr = LEVIN_OPTION(lr, 1e-3, "A rate", {.exclusive_min = 0});
  std::string name = LEVIN_OPTION(name, "x", "A name");
  std::vector<double> betas = LEVIN_OPTION(betas, {0.9, 0.999}, "Decay", {.min = 0, .exclusive_max = 1});
  std::vector<std::string> words = LEVIN_OPTION(words, {}, "Words");
  std::optional<int64_t> steps = LEVIN_OPTION(steps, {}, "Steps", {.min = 1});
  Crop crop = LEVIN_OPTION(crop, {}, "Crop");
  When when = {};
  std::shared_ptr<int> only_in_code = {};
};

std::string error_of(const Json& values) {
  All all;
  try {
    levin::schema_of<All>().set(&all, "model", values);
  } catch (const levin::UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a schema holds the options in order, those of a flat struct too") {
  const levin::Schema& schema = levin::schema_of<All>();
  CHECK(schema.names() ==
        std::vector<std::string>{"flag", "count", "lr", "name", "betas", "words", "steps", "crop", "interval"});
  CHECK(schema.find("lr")->help == "A rate");
  CHECK(schema.find("count")->limits.to_text() == "at least 0 and at most 10");
  CHECK(schema.find("lr")->limits.to_text() == "more than 0");
  CHECK(schema.find("nothing") == nullptr);
  CHECK(schema.defaults().dump() ==
        R"({"flag":true,"count":3,"lr":0.001,"name":"x","betas":[0.9,0.999],"words":[],"steps":null,)"
        R"("crop":{"pixels":4,"mirror":false},"interval":"epoch"})");
}

TEST_CASE("values are set from JSON and the others stay") {
  All all{.count = 7, .crop = {.pixels = 2}};
  levin::schema_of<All>().set(&all, "model", Json::parse(R"({"flag": false, "lr": 1, "name": "y", "betas": [0.5],
      "words": ["a", "b"], "steps": 5, "crop": {"mirror": true}, "interval": "step"})"));
  CHECK_FALSE(all.flag);
  CHECK(all.count == 7);
  CHECK(all.lr == 1.0);
  CHECK(all.name == "y");
  CHECK(all.betas == std::vector<double>{0.5});
  CHECK(all.words == std::vector<std::string>{"a", "b"});
  CHECK(all.steps == 5);
  CHECK(all.crop.pixels == 2);
  CHECK(all.crop.mirror);
  CHECK(all.when.interval == "step");
  levin::schema_of<All>().set(&all, "model", Json::parse(R"({"steps": null, "count": 1e1})"));
  CHECK_FALSE(all.steps.has_value());
  CHECK(all.count == 10);
  All again;
  levin::schema_of<All>().set(&again, "model", levin::schema_of<All>().get(&all));
  CHECK(levin::schema_of<All>().get(&again) == levin::schema_of<All>().get(&all));
}

TEST_CASE("a wrong value is named with its path and what is allowed") {
  CHECK(error_of({{"cuont", 1}}) == "model.cuont: no such option (did you mean count?)");
  CHECK(error_of({{"crop", {{"pixel", 1}}}}) == "model.crop.pixel: no such option (did you mean pixels?)");
  CHECK(error_of({{"crop", 1}}) == "model.crop: expected an object, got 1");
  CHECK(error_of({{"lr", "fast"}}) == "model.lr: expected a number, got \"fast\"");
  CHECK(error_of({{"lr", 0}}) == "model.lr: expected more than 0, got 0.0");
  CHECK(error_of({{"flag", 1}}) == "model.flag: expected true or false, got 1");
  CHECK(error_of({{"name", 1}}) == "model.name: expected text, got 1");
  CHECK(error_of({{"count", 1.5}}) == "model.count: expected a whole number, got 1.5");
  CHECK(error_of({{"count", 11}}) == "model.count: expected at least 0 and at most 10, got 11");
  CHECK(error_of({{"count", 18446744073709551615u}}) ==
        "model.count: expected a whole number, got 18446744073709551615");
  CHECK(error_of({{"betas", {0.5, 1.0}}}) == "model.betas[1]: expected at least 0 and less than 1, got 1.0");
  CHECK(error_of({{"betas", 0.5}}) == "model.betas: expected a list, each a number, got 0.5");
  CHECK(error_of({{"steps", 0}}) == "model.steps: expected at least 1, got 0");
  CHECK(error_of({{"interval", "setp"}}) ==
        "model.interval: expected one of epoch, step, got \"setp\" (did you mean step?)");
  CHECK(error_of(Json::array()) == "model: expected an object, got []");
}

TEST_CASE("limits hold for values set in C++ too") {
  All all;
  CHECK_NOTHROW(levin::schema_of<All>().check(&all, "model"));
  all.crop.pixels = -1;
  CHECK_THROWS_WITH(levin::schema_of<All>().check(&all, "model"), "model.crop.pixels: expected at least 0, got -1");
  all.crop.pixels = 0;
  all.betas = {0.5, NAN};
  CHECK_THROWS_AS(levin::schema_of<All>().check(&all, "model"), levin::UsageError);
}

TEST_CASE("flag texts become JSON by the option's type") {
  const auto from_text = [](const char* name, const char* text) {
    return levin::schema_of<All>().find(name)->type->from_text(text).dump();
  };
  CHECK(from_text("flag", "on") == "true");
  CHECK(from_text("flag", "0") == "false");
  CHECK(from_text("flag", "perhaps") == "\"perhaps\"");
  CHECK(from_text("count", "-3") == "-3");
  CHECK(from_text("lr", ".5") == "0.5");
  CHECK(from_text("lr", "1e-3") == "0.001");
  CHECK(from_text("lr", "fast") == "\"fast\"");
  CHECK(from_text("name", "12") == "\"12\"");
  CHECK(from_text("betas", "0.5,.9") == "[0.5,0.9]");
  CHECK(from_text("betas", "[0.5, 0.9]") == "[0.5,0.9]");
  CHECK(from_text("words", "a,1") == R"(["a","1"])");
  CHECK(from_text("steps", "null") == "null");
  CHECK(from_text("crop", R"({"pixels": 1})") == R"({"pixels":1})");
}

TEST_CASE("two options of one name are an error") {
  struct Twice {
    int64_t a = LEVIN_OPTION(a, 1, "One");
    int64_t b = LEVIN_OPTION(a, 2, "Two");
  };
  CHECK_THROWS_WITH(levin::schema_of<Twice>(), "LEVIN_OPTION(a, ...): two options of one struct have this name");
}
