#include <levin/core/system/error.h>

#include "tests/catch.h"

TEST_CASE("the nearest name is suggested, and none when none is near") {
  CHECK(levin::did_you_mean("max_epoch", {"max_steps", "max_epochs"}) == " (did you mean max_epochs?)");
  CHECK(levin::did_you_mean("zzzzzz", {"lr"}).empty());
  CHECK(levin::did_you_mean("AdmaW", {"Adam", "AdamW"}) == " (did you mean AdamW?)");  // a swap is one slip
  CHECK(levin::did_you_mean("max_epohcs", {"max_steps", "max_epochs"}) == " (did you mean max_epochs?)");
}
