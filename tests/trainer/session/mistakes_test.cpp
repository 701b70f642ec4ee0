// What a host may do wrong with a session, and what it is told.
#include <levin/data/replay.h>

#include <atomic>
#include <thread>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/trainer/session/sessions.h"

namespace {

using levin::data::ReplayBuffer;
using levin::data::RolloutBuffer;

struct Scan {
  torch::Tensor points;
  LEVIN_BATCH_FIELDS(Scan, points)
};
struct Image {
  torch::Tensor pixels;
  LEVIN_BATCH_FIELDS(Image, pixels)
};

/// Trains on scans.
struct Scanner : ToyModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    return net->forward(batch.as<Scan>().points).square().mean();
  }
};

/// Saves a session with a state of the host in `folder`, and returns the file.
template <class Object>
std::string saved_with(const TemporaryFolder& folder, Object& object) {
  const ToyData data(8);
  const auto file = std::filesystem::absolute(folder / "saved.ckpt");
  levin::Session session = levin::Trainer(options_in(folder)).start(new_module());
  session.register_state("buffer", object);
  session.step(batch_of(data));
  session.save(file);
  session.finish();
  return file.string();
}

/// Returns the error of a resumed session that registers the object.
template <class Object>
std::string error_of_resuming(const TemporaryFolder& folder, const std::string& file, Object& object) {
  levin::Session session = levin::Trainer(options_in(folder)).start(new_module(), {.ckpt_path = file});
  const std::string text = error_text<levin::UsageError>([&] { session.register_state("buffer", object); });
  // The session has begun with a state that does not fit the weights.
  CHECK(error_text([&] { session.step(); }) == "Session::step: the session has ended by an exception");
  return text;
}

}  // namespace

TEST_CASE("a second thread that steps is told so, and the first trains on as alone") {
  // The first thread is inside of a step until the second one has tried.
  struct Waiting : ToyModule {
    Waiting() : ToyModule(0.2) {}
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      if (waits) {
        inside = true;
        while (!tried) std::this_thread::yield();
      }
      return ToyModule::training_step(batch, batch_idx);
    }
    bool waits = false;
    std::atomic<bool> inside = false, tried = false;
  };
  const ToyData data(8);
  std::vector<torch::Tensor> expected;
  for (const bool waits : {false, true}) {
    const TemporaryFolder folder;
    torch::manual_seed(1);
    const auto module = std::make_shared<Waiting>();
    module->waits = waits;
    levin::Session session = levin::Trainer(options_in(folder)).start(module);
    std::string text;
    std::thread second([&] {
      if (!waits) return;
      while (!module->inside) std::this_thread::yield();
      text = error_text<levin::UsageError>([&] { session.step(batch_of(data)); });
      module->tried = true;
    });
    for (int i = 0; i < 3; ++i) session.step(batch_of(data));
    second.join();
    CHECK(session.state().batches == 3);
    if (waits) {
      CHECK(text == "Session::step: another thread is in a step of this session; one thread trains");
      CHECK(bit_equal(expected, module->parameters()));
    }
    expected = copies(module->parameters());
  }
}

TEST_CASE("a call inside of a session's own step or validation is refused, where it would wait for itself") {
  struct Calling : ToyModule {
    Calling() : ToyModule(0.2) {}
    void validation_step(const levin::Batch& batch, int64_t) override { log("val_loss", loss_of(batch)); }
    void on_validation_end(levin::Run& run) override { called(run); }
    std::function<void(levin::Run&)> called = [](levin::Run&) {};
  };
  const ToyData data(8);
  const auto in_loss = [&](const std::function<void(levin::Session&)>& call) {
    const TemporaryFolder folder;
    const auto module = std::make_shared<Calling>();
    levin::Session session = levin::Trainer(options_in(folder)).start(module);
    return error_text<levin::UsageError>([&] {
      session.step([&] {
        call(session);
        return torch::zeros({});
      });
    });
  };
  const std::string inside =
      ": called inside of a step or a validation of this session, by a hook or a loss; call it between steps";
  CHECK(in_loss([&](auto& session) { session.validate(data.loader(4)); }) == "Session::validate" + inside);
  CHECK(in_loss([&](auto& session) { session.step(batch_of(data)); }) == "Session::step" + inside);
  CHECK(in_loss([](auto& session) { session.next(); }) == "Session::next" + inside);
  CHECK(in_loss([](auto& session) { session.end_epoch(); }) == "Session::end_epoch" + inside);
  CHECK(in_loss([](auto& session) { session.finish(); }) == "Session::finish" + inside);
  CHECK(in_loss([](auto& session) { session.update_lock(); }) == "Session::update_lock" + inside);

  const TemporaryFolder folder;
  const auto module = std::make_shared<Calling>();
  levin::Session session = levin::Trainer(options_in(folder)).start(module);
  std::string refused;
  module->called = [&](levin::Run&) { refused = error_text<levin::UsageError>([&] { session.step(batch_of(data)); }); };
  session.step(batch_of(data));
  session.validate(data.loader(4));
  CHECK(refused == "Session::step" + inside);
  session.step(batch_of(data));
  CHECK(session.state().batches == 2);
}

TEST_CASE("after finish each call of a session is refused by name") {
  const TemporaryFolder folder;
  const ToyData data(8);
  levin::Session session = levin::Trainer(options_in(folder)).start(new_module());
  session.step(batch_of(data));
  session.finish();
  const auto refused = [&](const auto& call) { return error_text<levin::UsageError>(call); };
  CHECK(refused([&] { session.step(batch_of(data)); }) == "Session::step: the session is finished");
  CHECK(refused([&] { session.step(); }) == "Session::step: the session is finished");
  CHECK(refused([&] { session.step([] { return torch::zeros({}); }); }) == "Session::step: the session is finished");
  CHECK(refused([&] { session.end_epoch(); }) == "Session::end_epoch: the session is finished");
  CHECK(refused([&] { session.validate(data.loader(4)); }) == "Session::validate: the session is finished");
  CHECK(refused([&] { session.loader(data.loader(4)); }) == "Session::loader: the session is finished");
  CHECK(refused([&] { session.save("late.ckpt"); }) == "Session::save: the session is finished");
  CHECK(refused([&] { session.publish(); }) == "Session::publish: the session is finished");
  CHECK(refused([&] { session.log("reward", 1.0); }) == "Session::log: the session is finished");
  CHECK(refused([&] { session.finish(); }) == "Session::finish: the session is finished");
  CHECK(refused([&] { session.register_state("x", [] { return levin::State(1); }, [](const levin::State&) {}); }) ==
        "Session::register_state: the session is finished");
  CHECK(session.is_over());
  // Requests of other threads may come late.
  session.request_stop("late");
  session.request_save();
  session.pause();
  session.resume();
  CHECK(session.state().is_over);

  levin::Session moved = std::move(session);
  CHECK(refused([&] { session.step(); }) == "Session: the object was moved from");
}

TEST_CASE("a batch of another struct is named with the one that the module takes") {
  const TemporaryFolder folder;
  const auto text_of = [&](const levin::Batch& batch) {
    levin::Session session = levin::Trainer(options_in(folder)).start(std::make_shared<Scanner>());
    session.step(Scan{torch::ones({2, 4})});
    const std::string text = error_text([&] { session.step(batch); });
    CHECK(error_text([&] { session.step(Scan{torch::ones({2, 4})}); }) ==
          "Session::step: the session has ended by an exception");
    return text;
  };
  const std::string other = text_of(Image{torch::ones({2, 4})});
  INFO(other);
  CHECK(contains(other, "Scan>: the batch holds "));
  CHECK(contains(other, "Image"));
  const ToyData data(8);
  const std::string tensors = text_of(batch_of(data));
  INFO(tensors);
  CHECK(contains(tensors, "Scan>: the batch holds "));
  CHECK(contains(tensors, "input"));
  const std::string nothing = text_of({});
  INFO(nothing);
  CHECK(contains(nothing, "Scan>: the batch holds "));

  // A module of tensors that gets a struct.
  levin::Session session = levin::Trainer(options_in(folder)).start(new_module());
  const std::string own = error_text([&] { session.step(Scan{torch::ones({2, 4})}); });
  INFO(own);
  CHECK(contains(own, "the batch has no tensor '"));
  CHECK(contains(own, "Scan; use batch.as<"));
}

TEST_CASE("a buffer of another shape than the saved one is named when a session is resumed") {
  const TemporaryFolder folder;
  ReplayBuffer<> saved({.capacity = 8}), larger({.capacity = 9}), wider({.capacity = 8}), fits({.capacity = 8});
  saved.add({{"input", torch::ones({3, 2})}});
  wider.add({{"input", torch::ones({3, 5})}});
  const std::string file = saved_with(folder, saved);
  CHECK(error_of_resuming(folder, file, larger) ==
        "ReplayBuffer: the saved buffer has the capacity 8, this one 9; give both the same capacity");
  CHECK(error_of_resuming(folder, file, wider) ==
        "ReplayBuffer: rows of \"input\" are Float [2] in the saved buffer and Float [5] in this one");
  levin::Session session = levin::Trainer(options_in(folder)).start(new_module(), {.ckpt_path = file});
  session.register_state("buffer", fits);
  CHECK(fits.size() == 3);

  RolloutBuffer<> rollout({.steps = 4, .environments = 2}), longer({.steps = 5, .environments = 2});
  const std::string rollout_file = saved_with(folder, rollout);
  CHECK(error_of_resuming(folder, rollout_file, longer) ==
        "RolloutBuffer: the saved buffer has 4 steps of 2 environments, this one 5 of 2; give both the same");
}

TEST_CASE("a change of rows that is refused leaves the session as it was") {
  const ToyData data(8);
  std::vector<torch::Tensor> expected;
  for (const bool mistaken : {false, true}) {
    const TemporaryFolder folder;
    const auto module = new_module();
    module->optimizers_of = [](ToyModule& self) {
      return levin::optim::Adam(self.net[0]->parameters(), {.lr = 0.01});  // not the last layer
    };
    levin::Session session = levin::Trainer(options_in(folder)).start(module);
    for (int i = 0; i < 4; ++i) {
      session.step(batch_of(data));
      if (!mistaken) continue;
      const torch::Tensor weight = module->net[0]->as<torch::nn::Linear>()->weight,
                          unknown = module->net[3]->as<torch::nn::Linear>()->weight;
      CHECK(contains(error_text([&] { levin::optim::append_rows(unknown, torch::ones({1, 8})); }),
                     "no optimizer steps this tensor of shape [1, 8]"));
      CHECK(contains(error_text([&] { levin::optim::keep_rows(torch::ones({3, 4}), torch::tensor({0})); }),
                     "no optimizer steps this tensor of shape [3, 4]"));
      CHECK(error_text([&] { levin::optim::keep_rows(weight, torch::ones({7}, torch::kBool)); }) ==
            "keep_rows: the mask has 7 elements, and the parameter of shape [8, 4] has 8 rows");
    }
    if (mistaken)
      CHECK(bit_equal(expected, module->parameters()));
    else
      expected = copies(module->parameters());
  }
}
