// What ranks agree on, among ranks in threads and with one process.
#include <levin/trainer/strategies/rank_sync.h>
#include <torch/torch.h>

#include <atomic>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/parallel/ranks/rank_threads.h"

using levin::ProcessGroup;
using levin::RankSync;

TEST_CASE("one process agrees with itself, and has no common w0") {
  RankSync sync;
  CHECK(sync.begin(3).finish() == 3);
  CHECK(sync.agree(5) == 5);
  CHECK(sync.agree_now(6) == 6);
  double agreed = 7;  // of a checkpoint that several ranks wrote
  CHECK(sync.reference_weight(2, agreed) == 0);
  CHECK(agreed == 7);
  torch::Tensor found_inf = torch::ones({1});
  sync.agree_on_found_inf(found_inf);
  CHECK(found_inf.item<float>() == 1);
}

TEST_CASE("requests travel with the weights of a window, or in a message of their own") {
  std::atomic<int> good = 0;
  run_rank_threads(3, [&](ProcessGroup& group) {
    RankSync sync(group);
    const auto own = uint64_t{1} << (60 + group.rank());
    const uint64_t all = uint64_t{7} << 60;
    good += sync.agree(own) == 0;  // nothing was sent yet
    RankSync::PendingSum sum = sync.begin(static_cast<double>(group.rank() + 1));
    good += sum.finish() == 6;
    good += sync.agree(0) == all;
    good += sync.agree(own) == 0;  // each is answered once
    good += sync.agree_now(0) == all;
    good += sync.agree_now(0) == 0;
  });
  CHECK(good == 3 * 6);
}

TEST_CASE("w0 is the lowest rank's first weight that is not 0, and is kept") {
  std::atomic<int> good = 0;
  run_rank_threads(3, [&](ProcessGroup& group) {
    const RankSync sync(group);
    double agreed = 0;
    good += sync.reference_weight(0, agreed) == 0;
    good += sync.reference_weight(group.rank() == 0 ? 0 : 4.0 * static_cast<double>(group.rank()), agreed) == 4;
    good += agreed == 4;
    good += sync.reference_weight(9, agreed) == 4;
  });
  CHECK(good == 3 * 4);
}

TEST_CASE("a gradient that is not finite on one rank counts on all") {
  std::atomic<int> good = 0;
  run_rank_threads(2, [&](ProcessGroup& group) {
    torch::Tensor found_inf = torch::full({1}, group.rank() == 1 ? 1.0F : 0.0F);
    RankSync(group).agree_on_found_inf(found_inf);
    good += found_inf.item<float>() == 1;
  });
  CHECK(good == 2);
}

TEST_CASE("ranks at different places are told") {
  std::atomic<int> told = 0;
  run_rank_threads(2, [&](ProcessGroup& group) {
    RankSync sync(group);
    try {
      if (group.rank() == 0)
        sync.begin(1).finish();
      else
        sync.agree_now(0);
    } catch (const levin::Error& error) {
      const bool ends_window = group.rank() == 1;
      told += contains(error.what(), ends_window ? "it ends a window here" : "it does not end a window here");
    }
  });
  CHECK(told == 2);
}
