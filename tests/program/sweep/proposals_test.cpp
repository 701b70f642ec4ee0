#include <levin/program/sweep/proposals.h>
#include <levin/program/commands/swept_flags.h>
#include <levin/program/config/run_options.h>
#include <levin/program/sweep/halving.h>
#include <levin/program/sweep/trial_process.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "tests/catch.h"
#include "tests/error_text.h"

using namespace levin::sweep;
using Texts = std::vector<std::string>;

TEST_CASE("values of a list and points of ranges make a grid, of which the last parameter varies fastest") {
  const Parameter lr = Parameter::list("lr", "1e-3,1e-2", ','), width = Parameter::range("width", "1:3", true);
  CHECK(grid({lr, width}) ==
        std::vector<Assignment>{
            {"1e-3", "1"}, {"1e-3", "2"}, {"1e-3", "3"}, {"1e-2", "1"}, {"1e-2", "2"}, {"1e-2", "3"}});
  CHECK(Parameter::range("lr", "1e-4:1e-1:log:4", false).points() == Texts{"0.0001", "0.001", "0.01", "0.1"});
  CHECK(Parameter::range("lr", "0:1:5", false).points() == Texts{"0", "0.25", "0.5", "0.75", "1"});
  CHECK(Parameter::range("width", "1:4:log:9", true).points() == Texts{"1", "2", "3", "4"});
  CHECK(Parameter::range("width", "-3:-1", true).points() == Texts{"-3", "-2", "-1"});
  CHECK(Parameter::list("layers", "32|64,64", '|').points() == Texts{"32", "64,64"});
  CHECK(contains(error_text([] { Parameter::range("lr", "1e-4:1:log", false).points(); }),
                 "a grid needs the number of points: 0.0001:1:log:5"));
}

TEST_CASE("draws stay inside of their range, are uniform in it, and differ") {
  const Parameter rate = Parameter::range("lr", "1e-4:1:log", false), width = Parameter::range("width", "1:4", true);
  const std::vector<Assignment> drawn = draw({rate, width}, 4000, 7);
  REQUIRE(drawn.size() == 4000);
  CHECK(std::set<Assignment>(drawn.begin(), drawn.end()).size() == 4000);
  int64_t small = 0;
  std::map<std::string, int64_t> widths;
  for (const Assignment& one : drawn) {
    const double value = std::stod(one[0]);
    CHECK((value >= 1e-4 && value <= 1));
    small += value < 1e-2;
    ++widths[one[1]];
  }
  CHECK(std::abs(small - 2000) < 200);
  REQUIRE(widths.size() == 4);
  for (const auto& [text, count] : widths) CHECK(std::abs(count - 1000) < 150);
}

TEST_CASE("one seed draws the same trials, however many, and another seed others") {
  const std::vector<Parameter> parameters = {Parameter::range("lr", "0:1", false), Parameter::list("net", "a,b", ',')};
  const std::vector<Assignment> few = draw(parameters, 5, 1), many = draw(parameters, 50, 1);
  CHECK(std::equal(few.begin(), few.end(), many.begin()));
  CHECK(draw(parameters, 5, 2) != few);
  const std::vector<Assignment> all = draw({Parameter::list("net", "a,b,c", ',')}, 10, 1);
  CHECK(std::set<Assignment>(all.begin(), all.end()).size() == 3);
  CHECK(all.size() == 3);
}

TEST_CASE("wrong values and ranges are errors that name the flag") {
  const auto of_list = [](const char* text) { return error_text([&] { Parameter::list("lr", text, ','); }); };
  const auto of_range = [](const char* text, bool whole = false) {
    return error_text([&] { Parameter::range("lr", text, whole); });
  };
  CHECK(contains(of_list("1,,2"), "--lr 1,,2: one of the values is empty"));
  CHECK(contains(of_list("1,2,1"), "1 stands there twice"));
  CHECK(contains(of_list("1"), "two values or more"));
  CHECK(contains(of_range("2:1"), "the range is empty: 2 is not below 1"));
  CHECK(contains(of_range("1:1"), "the range is empty"));
  CHECK(contains(of_range("0:1:log"), "a logarithmic range begins above 0, and this one at 0"));
  CHECK(contains(of_range("-1:1:log"), "a logarithmic range begins above 0"));
  CHECK(contains(of_range("1:2.5", true), "whole numbers, and 2.5 is none"));
  for (const char* text : {"1:2:lg", "1:2:log:x", "1:2:3:4", "1", "a:b", "1:", ":", "1:nan", "1:inf", "1:2:"})
    CHECK(contains(of_range(text), "expected LOW:HIGH"));
  CHECK(contains(of_range("1:2:1"), "the number of points is at least 2"));
}

TEST_CASE("halving promotes by the order of entry, so that the clock decides nothing") {
  constexpr int64_t kTrials = 27, kFactor = 3;
  const Halving halving(kTrials, 3, kFactor, levin::MetricMode::Min);
  std::mt19937 random(5);
  const auto value_of = [](int64_t trial, size_t rung) -> RungValue {
    if (trial == 4) return {};
    return std::fmod(static_cast<double>(trial) * 0.618034, 1.0) - 0.01 * static_cast<double>(rung);
  };
  std::vector<std::vector<int64_t>> expected;
  for (int round = 0; round < 20; ++round) {
    // A worker may take any trial that is due, in any order.
    std::vector<RungValues> ended(3);
    for (;;) {
      std::vector<std::pair<size_t, int64_t>> open;
      const auto entrants = halving.entrants(ended);
      for (size_t rung = 0; rung < 3; ++rung)
        for (const int64_t trial : entrants[rung])
          if (!ended[rung].contains(trial)) open.emplace_back(rung, trial);
      if (open.empty()) break;
      const auto [rung, trial] = open[random() % open.size()];
      ended[rung][trial] = value_of(trial, rung);
    }
    const auto entrants = halving.entrants(ended);
    if (expected.empty()) expected = entrants;
    CHECK(entrants == expected);
  }
  CHECK(expected[0].size() == 27);
  CHECK(expected[1].size() >= 9);
  CHECK(expected[2].size() >= 3);
  CHECK(std::ranges::find(expected[1], 4) == expected[1].end());
  // The best third of all is among those that went on.
  std::vector<int64_t> by_value(27);
  for (int64_t i = 0; i < 27; ++i) by_value[static_cast<size_t>(i)] = i;
  std::ranges::sort(by_value, {}, [&](int64_t trial) { return value_of(trial, 0).value_or(9); });
  for (size_t i = 0; i < 9; ++i) CHECK(std::ranges::find(expected[1], by_value[i]) != expected[1].end());
  CHECK(Halving(2, 2, 3, levin::MetricMode::Min).entrants({{{0, 1.0}, {1, 2.0}}, {}})[1].empty());
  CHECK(Halving(2, 2, 2, levin::MetricMode::Max).entrants({{{0, 1.0}, {1, 2.0}}, {}})[1] == std::vector<int64_t>{1});
  CHECK(rung_epochs(1, 10, 3) == std::vector<int64_t>{1, 3, 9, 10});
  CHECK(rung_epochs(4, 4, 3) == std::vector<int64_t>{4});
}

TEST_CASE("trials share cores, and take GPUs in turn") {
  const std::vector<Place> two = make_places(2, 1, {"0", "3"});
  CHECK(two[0].cores.size() == 1);
  CHECK(two[1].cores == two[0].cores);
  CHECK(two[0].gpus == "0");
  CHECK(two[1].gpus == "3");
  const std::vector<Place> one = make_places(1, 1024, {});
  CHECK(one[0].gpus.empty());
  CHECK_FALSE(one[0].cores.empty());
}

TEST_CASE("a rate that may be a list of rates takes a range") {
  const levin::cli::SweptFlags found = levin::cli::find_swept_flags(
      levin::schema_of<levin::cli::RunOptions>(), {"--model.class", "ImageClassifier", "--model.lr_scheduler.class",
                                                   "OneCycleLR", "--model.lr_scheduler.max_lr", "1e-3:1:log"});
  REQUIRE(found.parameters.size() == 1);
  CHECK(found.parameters[0].name() == "model.lr_scheduler.max_lr");
  CHECK(found.parameters[0].bounds() == std::vector<std::string>{"0.001", "1"});
}
