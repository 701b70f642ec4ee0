#include <levin/program/profile/experiments.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/catch.h"

namespace {

using levin::Json;

/// Returns what experiments on two ranks would write at the path, in order.
std::vector<std::string> values_tried(const Json& strategy, const std::string& path) {
  const Json config = {{"trainer", {{"strategy", strategy}}}};
  levin::ProfileFacts facts;
  facts.world_size = 2;
  std::vector<std::string> values;
  for (const auto& list : {levin::option_experiments(config, facts), levin::learning_experiments(config, facts)})
    for (const levin::Experiment& one : list)
      for (const levin::ProfileChange& change : one.changes)
        if (change.path == path) values.push_back(change.after);
  return values;
}

}  // namespace

TEST_CASE("options of the strategy are tried where the config has them") {
  const Json ddp = {{"class", "ddp"}, {"bucket_cap_mb", 1}, {"static_graph", true}, {"gradient_compression", "none"}};
  CHECK(values_tried(ddp, "trainer.strategy.bucket_cap_mb") == std::vector<std::string>{"25.0"});
  CHECK(values_tried(ddp, "trainer.strategy.static_graph").empty());
  CHECK(values_tried(ddp, "trainer.strategy.gradient_compression") == std::vector<std::string>{R"("bf16")"});
  CHECK(values_tried(ddp, "trainer.strategy").empty());
}

TEST_CASE("a strategy that is left to the devices is named when an option of it is tried") {
  CHECK(values_tried({{"class", "auto"}}, "trainer.strategy") ==
        std::vector<std::string>{R"({"class":"ddp","static_graph":true})",
                                 R"({"class":"ddp","gradient_compression":"bf16"})"});
}

TEST_CASE("options that the strategy has not are not tried") {
  const Json fsdp = {{"class", "fsdp"}, {"gradient_compression", "bf16"}};
  CHECK(values_tried(fsdp, "trainer.strategy.static_graph").empty());
  CHECK(values_tried(fsdp, "trainer.strategy.gradient_compression").empty());
  CHECK(values_tried(fsdp, "trainer.strategy").empty());
}
