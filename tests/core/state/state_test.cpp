#include <levin/core/state/state.h>
#include <levin/core/state/find_state_dict.h>

#include "tests/catch.h"
#include "tests/error_text.h"

using levin::State;

TEST_CASE("a state holds plain values of each kind") {
  CHECK(State().is_none());
  CHECK(State(true).to_bool());
  CHECK(State(int64_t{-7}).to_int() == -7);
  CHECK(State(0.5).to_double() == 0.5);
  CHECK(State(3).to_double() == 3.0);
  CHECK(State("text").to_string() == "text");
  CHECK(State(State::Bytes{std::string("\0\xff", 2)}).to_bytes().size() == 2);
  CHECK(State(State::Tuple{{State(1), State("a")}}).items().size() == 2);
  CHECK(State(State::Tuple{}).is_tuple());
  CHECK_FALSE(State(State::Tuple{}).is_list());
}

TEST_CASE("a dict keeps the order of its keys, which may be text or integers") {
  State state;
  state["b"] = 1;
  state["a"] = "x";
  state[int64_t{0}] = State::list({State(2.5)});
  state["b"] = 2;
  REQUIRE(state.size() == 3);
  CHECK(levin::to_text(state.to_dict()[0].first) == "b");
  CHECK(levin::to_text(state.to_dict()[2].first) == "0");
  CHECK(state.at("b").to_int() == 2);
  CHECK(state.contains(int64_t{0}));
  CHECK_FALSE(state.contains("0"));
}

TEST_CASE("a copy of a state does not change with the original") {
  State state = State::dict({{"list", State::list()}});
  State copy = state;
  copy["list"].push_back(1);
  CHECK(state.at("list").size() == 0);
  CHECK(copy.at("list").size() == 1);
}

TEST_CASE("reading a state as another kind names both kinds, and a missing key the keys there are") {
  CHECK(error_text([] { State("x").to_int(); }) == "state: expected a int, found a string");
  CHECK(error_text([] { State(1.5).to_int(); }) == "state: expected a int, found a float");
  const State state = State::dict({{"epoch", 1}, {"global_step", 2}});
  CHECK(error_text([&] { state.at("epochs"); }) == "state: no key 'epochs'; there are: epoch, global_step");
}

TEST_CASE("the weights in a checkpoint are a dict under state_dict") {
  const State checkpoint = State::dict({{"epoch", 1}, {"state_dict", State::dict({{"w", 2}})}});
  REQUIRE(levin::find_state_dict(checkpoint) != nullptr);
  CHECK(levin::find_state_dict(checkpoint)->at("w").to_int() == 2);
  CHECK(levin::find_state_dict(State::dict({{"w", 2}})) == nullptr);
  CHECK(levin::find_state_dict(State::dict({{"state_dict", 1}})) == nullptr);
  CHECK(levin::find_state_dict(State("text")) == nullptr);
}
