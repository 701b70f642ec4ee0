// fit and sessions of a module that makes its own data, without a loader.
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/trainer/session/sessions.h"

namespace {

std::shared_ptr<OwnData> new_own_data() {
  torch::manual_seed(1);
  return std::make_shared<OwnData>(0.2);
}

}  // namespace

TEST_CASE("fit without a loader trains as a session that calls step()") {
  for (const int64_t accumulate : {1, 3}) {
    const TemporaryFolder folder;
    levin::TrainerOptions options = options_in(folder);
    options.max_steps = 7;
    options.accumulate_grad_batches = accumulate;
    const auto fitted = new_own_data(), driven = new_own_data();
    const levin::RunResult expected = levin::Trainer(options).fit(*fitted);
    levin::Session session = levin::Trainer(options).start(driven);
    while (session.next()) session.step();
    const levin::RunResult result = session.finish();
    CHECK(bit_equal(fitted->parameters(), driven->parameters()));
    CHECK(expected.global_step == 7);
    CHECK(result.global_step == expected.global_step);
    CHECK(result.epochs == expected.epochs);
    CHECK(result.metrics == expected.metrics);
  }
}

TEST_CASE("fit without a loader ends at max_time, and at a request to stop") {
  struct Stopping : OwnData {
    void on_train_batch_end(levin::Run& run) override {
      if (stops && run.state().global_step == 3) run.request_stop("three steps are enough");
    }
    bool stops = false;
  };
  const TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.max_time = levin::Duration(0.05);
  Stopping stopping;
  CHECK(levin::Trainer(options).fit(stopping).global_step > 0);
  stopping.stops = true;
  options.max_time = "00:01:00:00";
  CHECK(levin::Trainer(options).fit(stopping).stop_reason == "three steps are enough");
}

TEST_CASE("fit without a loader continues to the bit, also from a session's checkpoint") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.max_steps = 9;
  const auto unbroken = new_own_data();
  levin::Trainer(options).fit(*unbroken);
  const std::filesystem::path file = folder / "middle.ckpt";
  {
    levin::Session session = levin::Trainer(options).start(new_own_data());
    for (int i = 0; i < 4; ++i) session.step();
    session.save(std::filesystem::absolute(file));
  }
  const auto fitted = new_own_data(), driven = new_own_data();
  levin::Trainer(options).fit(*fitted, {}, {}, file.string());
  levin::Session session = levin::Trainer(options).start(driven, {.ckpt_path = file.string()});
  while (session.next()) session.step();
  session.finish();
  CHECK(bit_equal(unbroken->parameters(), fitted->parameters()));
  CHECK(bit_equal(unbroken->parameters(), driven->parameters()));

  options.max_steps = 4;
  const auto first = new_own_data(), second = new_own_data();
  levin::Trainer trainer(options);
  trainer.fit(*first);
  trainer.save_checkpoint(folder / "fitted.ckpt");
  options.max_steps = 9;
  levin::Trainer(options).fit(*second, {}, {}, (folder / "fitted.ckpt").string());
  CHECK(bit_equal(unbroken->parameters(), second->parameters()));
}

TEST_CASE("without a limit, a missing loader is named") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 2;
  const auto module = new_own_data();
  const std::string text = error_text<levin::UsageError>([&] { levin::Trainer(options).fit(*module); });
  CHECK(contains(text, "there is no training loader"));
  CHECK(contains(text, "set trainer.max_steps or trainer.max_time"));
}
