// The queue of MLflowLogger, which one thread fills and rewinds while another sends from it.
#include <levin/trainer/loggers/mlflow_queue.h>

#include "tests/catch.h"
#include "tests/temporary_folder.h"

using levin::MLflowQueue;

namespace {

MLflowQueue::Json row(int64_t step) { return {{"step", step}, {"time", step}, {"values", {{"loss", 0.5}}}}; }

}  // namespace

TEST_CASE("what is added after a queue went back is sent, though a part was being sent meanwhile") {
  const TemporaryFolder folder;
  MLflowQueue queue(folder / "", 0);
  for (int64_t step = 0; step < 20; ++step) queue.add(row(step));
  const MLflowQueue::Part before = queue.next();
  REQUIRE(queue.sent(before, 10, 10, 9));
  queue.add({{"status", "RUNNING"}});
  const MLflowQueue::Part part = queue.next();
  REQUIRE(part.things.size() == 11);
  queue.rewind(4);
  queue.add({{"parameters", {{"lr", "0.1"}}}});
  CHECK_FALSE(queue.sent(part, 11, 20, 19));
  const MLflowQueue::Part after = queue.next();
  REQUIRE(after.things.size() == 2);
  CHECK(after.things[0].contains("status"));
  CHECK(after.things[1].contains("parameters"));
  CHECK(queue.sent(after, 2, 0, {}));
  CHECK(queue.empty());
  queue.add(row(4));  // the server has it
  CHECK(queue.empty());
  CHECK(queue.rows() == 5);
}
