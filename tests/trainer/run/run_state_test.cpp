// The small states that the loops of a run share.
#include <levin/core/system/error.h>
#include <levin/trainer/run/accumulation_scale.h>
#include <levin/trainer/run/resumption.h>
#include <levin/trainer/run/run_clock.h>
#include <levin/trainer/run/stop_requests.h>

#include "tests/catch.h"

using namespace levin;

TEST_CASE("a stop request of one rank waits until all ranks agree, and the first reason is kept") {
  StopRequests one_rank(/*several_ranks=*/false);
  CHECK_FALSE(one_rank.are_agreed());
  one_rank.request("first");
  one_rank.request("second");
  CHECK(one_rank.are_agreed());
  CHECK(one_rank.reason() == "first");
  CHECK(one_rank.end_the_run());

  StopRequests several(/*several_ranks=*/true);
  several.request("mine");
  CHECK_FALSE(several.are_agreed());
  several.agree();
  CHECK(several.are_agreed());
}

TEST_CASE("a job's time limit ends the session and not the run") {
  StopRequests stops(/*several_ranks=*/false);
  CHECK_FALSE(stops.end_the_run());
  stops.request_end_of_session("the time is over");
  CHECK(stops.are_agreed());
  CHECK_FALSE(stops.end_the_run());
}

TEST_CASE("micro-batches per step keep the global batch when the number of ranks changes") {
  AccumulationScale scale;
  CHECK(scale.on_ranks(3, 2) == 3);
  scale.change_ranks(/*before=*/4, /*after=*/2);
  CHECK(scale.on_ranks(3, 2) == 6);
  scale.change_ranks(/*before=*/2, /*after=*/8);
  CHECK(scale.on_ranks(4, 8) == 2);
  CHECK_THROWS_AS(scale.on_ranks(3, 8), UsageError);

  AccumulationScale loaded;
  loaded.load_state(scale.state());
  CHECK(loaded.on_ranks(4, 8) == 2);
  loaded.change_ranks(/*before=*/8, /*after=*/4);
  CHECK(loaded.on_ranks(5, 4) == 5);
}

TEST_CASE("the clock of a resumed run continues from the seconds of its earlier sessions") {
  RunClock clock;
  clock.continue_from(1000);
  const double first = clock.seconds();
  CHECK(first >= 1000);
  CHECK(first < 1100);
  CHECK(clock.seconds() >= first);
}

TEST_CASE("a resumed fit keeps its places until the loops have taken them up") {
  Resumption resumption;
  CHECK_FALSE(resumption.is_resumed());
  CHECK(resumption.places() == nullptr);
  resumption.begin();
  resumption.set_places(State::dict({{"rng", 1}}));
  REQUIRE(resumption.places() != nullptr);
  CHECK(resumption.places()->at("rng").to_int() == 1);
  resumption.drop_places();
  CHECK(resumption.places() == nullptr);
  CHECK(resumption.is_resumed());
}
