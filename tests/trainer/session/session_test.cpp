// A session beside fit: the same batches give the same bits; requests of other threads; the host's state; errors.
#include <atomic>
#include <thread>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/trainer/session/sessions.h"

namespace {

/// Counts what it sees, as a host's buffer or environment would.
struct HostState {
  levin::State state_dict() const { return levin::State::dict({{"sum", sum}, {"noise", noise}}); }
  void load_state_dict(const levin::State& state) {
    sum = state.at("sum").to_int();
    noise = state.at("noise").to_tensor().clone();
  }
  int64_t sum = 0;
  torch::Tensor noise = torch::zeros({3});
};

}  // namespace

TEST_CASE("a session trains a loader's batches as fit does") {
  const ToyData data(22);
  for (const int64_t accumulate : {1, 3}) {
    TemporaryFolder folder;
    levin::TrainerOptions options = options_in(folder);
    options.max_epochs = 3;
    options.accumulate_grad_batches = accumulate;
    options.gradient_clip_val = 0.5;
    const auto fitted = new_module(), driven = new_module();
    const levin::RunResult expected = levin::Trainer(options).fit(*fitted, data.loader(4));
    levin::Session session = levin::Trainer(options).start(driven);
    levin::SessionLoader batches = session.loader(data.loader(4));
    CHECK(batches.batches() == 6);
    int64_t epochs = 0;
    while (session.next()) epochs += session.step(batches.next()).ended_epoch;
    CHECK(epochs == 3);
    const levin::RunResult result = session.finish();
    CHECK(bit_equal(fitted->parameters(), driven->parameters()));
    CHECK(result.status == "completed");
    CHECK(result.global_step == expected.global_step);
    CHECK(result.epochs == expected.epochs);
    CHECK(result.metrics == expected.metrics);
    CHECK(std::filesystem::exists(result.folder / "weights.pt"));
  }
}

TEST_CASE("a session's step returns its loss and what the optimizer did") {
  TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.max_steps = 2;
  options.accumulate_grad_batches = 2;
  const ToyData data(8);
  const auto module = new_module();
  levin::Session session = levin::Trainer(options).start(module);
  std::vector<bool> stepped;
  while (session.next()) {
    const levin::StepResult result = session.step(levin::Batch(data.input, data.target));
    CHECK(result.loss.numel() == 1);
    CHECK_FALSE(result.loss.requires_grad());
    CHECK(result.trained);
    stepped.push_back(result.stepped);
  }
  CHECK((stepped == std::vector<bool>{false, true, false, true}));
  CHECK(session.state().global_step == 2);
  CHECK(session.state().batches == 4);
  CHECK(session.state().samples == 32);
  CHECK(session.state().is_over);
}

TEST_CASE("a session needs no data: the module makes it, or the host computes the loss") {
  TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.max_steps = 5;
  const auto own = std::make_shared<OwnData>();
  levin::Session session = levin::Trainer(options).start(own);
  while (session.next()) session.step();
  CHECK(session.finish().global_step == 5);

  const ToyData data(8);
  const auto by_closure = new_module(), by_batch = new_module();
  levin::Session first = levin::Trainer(options).start(by_closure);
  while (first.next()) first.step([&] { return by_closure->loss_of({data.input, data.target}); });
  first.finish();
  levin::Session second = levin::Trainer(options).start(by_batch);
  while (second.next()) second.step(levin::Batch(data.input, data.target));
  second.finish();
  CHECK(bit_equal(by_closure->parameters(), by_batch->parameters()));
}

TEST_CASE("a step that the end of a session's epoch makes is averaged, masked and saved as the fit's is") {
  // Three batches in windows of two: a fit knows the last one, and a host's loss does not.
  const ToyData data(12);
  const auto options = [&](const TemporaryFolder& folder) {
    levin::TrainerOptions result = options_in(folder);
    result.max_epochs = 3;
    result.accumulate_grad_batches = 2;
    result.callbacks = {levin::EMAWeightAveraging({.decay = 0.5, .update_starting_at_epoch = 0}),
                        levin::ModelPruning({.pruning_fn = "l1_unstructured", .amount = 0.3}),
                        levin::ModelCheckpoint({.filename = "{step}", .save_top_k = -1, .every_n_train_steps = 2})};
    return result;
  };
  const auto by_fit = new_module(), by_host = new_module();
  for (const auto& module : {by_fit, by_host})
    module->optimizers_of = [](ToyModule& one) {
      return levin::optim::SGD(one.parameters(), {.lr = 0.1, .momentum = 0.9});  // moves what is pruned
    };
  const TemporaryFolder of_fit, of_host;
  const levin::RunResult fitted = levin::Trainer(options(of_fit)).fit(*by_fit, data.loader(4));
  levin::Session session = levin::Trainer(options(of_host)).start(by_host);
  while (session.next()) {
    for (int64_t i = 0; i < 3; ++i) {
      const auto part = [&](const torch::Tensor& values) { return values.narrow(0, 4 * i, 4); };
      session.step([&] { return by_host->loss_of({part(data.input), part(data.target)}); });
    }
    session.end_epoch();
  }
  const levin::RunResult hosted = session.finish();
  CHECK(bit_equal(by_fit->parameters(), by_host->parameters()));
  for (const char* const name : {"step=2.ckpt", "step=4.ckpt", "step=6.ckpt"}) {
    INFO(name);
    CHECK(std::filesystem::exists(fitted.folder / "checkpoints" / name));
    CHECK(std::filesystem::exists(hosted.folder / "checkpoints" / name));
  }
}

TEST_CASE("auto_microbatch leaves a loss that the host computes alone") {
  const ToyData data(8);
  std::vector<std::vector<torch::Tensor>> ended;
  for (const bool splits : {false, true}) {
    const TemporaryFolder folder;
    levin::TrainerOptions options = options_in(folder);
    options.max_steps = 3;
    options.auto_microbatch = splits;
    const auto module = new_module();
    levin::Session session = levin::Trainer(options).start(module);
    while (session.next()) session.step([&] { return module->loss_of({data.input, data.target}); });
    session.finish();
    ended.push_back(copies(module->parameters()));
  }
  CHECK(bit_equal(ended[0], ended[1]));
}

TEST_CASE("LBFGS evaluates a session's closure several times") {
  TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.max_steps = 4;
  const ToyData data(16);
  const auto module = std::make_shared<ToyModule>(0.0);
  module->optimizers_of = [](ToyModule& self) {
    return levin::OptimizerConfig(torch::optim::LBFGS(self.parameters(), torch::optim::LBFGSOptions(0.5)));
  };
  int calls = 0;
  double first = 0, last = 0;
  levin::Session session = levin::Trainer(options).start(module);
  while (session.next()) {
    last = session
               .step([&] {
                 ++calls;
                 return module->loss_of({data.input, data.target});
               })
               .loss.item<double>();
    if (first == 0) first = last;
  }
  CHECK(calls > 8);
  CHECK(last < first);
}

TEST_CASE("a session continues to the bit, with its loader and the host's state") {
  const ToyData data(22);
  const auto train = [&](const std::filesystem::path& root, const std::string& ckpt_path, int64_t stop_after,
                         const std::shared_ptr<ToyModule>& module) {
    levin::TrainerOptions options;
    options.default_root_dir = root.string();
    options.enable_progress_bar = options.enable_model_summary = false;
    options.seed = 5;
    options.max_epochs = 4;
    options.accumulate_grad_batches = 2;
    HostState host;
    levin::Session session = levin::Trainer(options).start(module, {.ckpt_path = ckpt_path, .host_saves = true});
    session.register_state("host", host);
    levin::SessionLoader batches = session.loader(data.loader(4));
    for (int64_t i = 0; session.next() && i != stop_after; ++i) {
      session.step(batches.next());
      host.sum = host.sum * 3 % 1000003 + session.state().batches;
      host.noise += torch::randn({3});
    }
    if (session.next()) session.save("middle.ckpt");
    session.finish();
    return host;
  };
  for (const int64_t stop_after : {1, 5, 6, 9}) {
    TemporaryFolder folder;
    const auto unbroken = new_module(), broken = new_module(), resumed = new_module(9);
    const HostState expected = train(folder.path() / "a", "", -1, unbroken);
    train(folder.path() / "b", "", stop_after, broken);
    const auto file = folder.path() / "b" / "levin_logs" / "version_0" / "checkpoints" / "middle.ckpt";
    const HostState host = train(folder.path() / "c", file.string(), -1, resumed);
    CHECK(bit_equal(unbroken->parameters(), resumed->parameters()));
    CHECK(host.sum == expected.sum);
    CHECK(torch::equal(host.noise, expected.noise));
  }
}

TEST_CASE("other threads stop, pause, save and read a session") {
  TemporaryFolder folder;
  const ToyData data(8);
  const auto module = new_module();
  levin::TrainerOptions options = options_in(folder);
  options.max_steps = 1000000;
  levin::Session session = levin::Trainer(options).start(module);
  std::atomic<bool> torn = false;
  std::thread other([&] {
    while (session.state().global_step < 20) std::this_thread::yield();
    session.request_save("asked.ckpt");
    session.pause();
    const int64_t at = session.state().global_step;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    torn = session.state().global_step > at + 1 || !session.state().is_paused;
    session.resume();
    while (session.state().global_step < 60) std::this_thread::yield();
    session.request_stop("the window was closed");
  });
  while (session.next()) session.step(levin::Batch(data.input, data.target));
  other.join();
  CHECK_FALSE(torn);
  const levin::RunResult result = session.finish();
  CHECK(result.status == "stopped");
  CHECK(result.stop_reason == "the window was closed");
  CHECK(std::filesystem::exists(result.folder / "checkpoints" / "asked.ckpt"));
}

TEST_CASE("a paused session ends when it is asked to stop") {
  TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.max_steps = 100;
  const ToyData data(8);
  levin::Session session = levin::Trainer(options).start(new_module());
  session.step(levin::Batch(data.input, data.target));
  session.pause();
  std::thread other([&] { session.request_stop("enough"); });
  const levin::StepResult result = session.step(levin::Batch(data.input, data.target));
  other.join();
  CHECK_FALSE(result.trained);
  CHECK(session.is_over());
  CHECK(session.state().batches == 1);
}

TEST_CASE("published weights are whole, and are kept while a reader has them") {
  TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.max_steps = 300;
  const ToyData data(8);
  const auto module = new_module();
  levin::Session session = levin::Trainer(options).start(module);
  CHECK(session.published().empty());
  // Each publication fills every weight with its number.
  const auto fill = [&](double value) {
    const torch::NoGradGuard no_grad;
    for (auto& parameter : module->parameters()) parameter.fill_(value);
  };
  std::atomic<bool> ends = false;
  std::atomic<int64_t> torn = 0, reads = 0;
  const auto read = [&] {
    while (!ends) {
      const levin::PublishedWeights weights = session.published();
      if (weights.empty()) continue;
      const double first = weights.tensors().front().second.flatten()[0].item<double>();
      for (const auto& [name, tensor] : weights.tensors()) torn += !(tensor == first).all().item<bool>();
      ++reads;
    }
  };
  std::thread one(read), other(read);
  for (int i = 1; i <= 2000 || reads < 100; ++i) {
    fill(i);
    session.publish();
  }
  ends = true;
  one.join();
  other.join();
  CHECK(torn == 0);

  const levin::PublishedWeights kept = session.published();
  const double value = kept["net.0.weight"][0][0].item<double>();
  for (int i = 0; i < 5; ++i) {
    fill(-i);
    session.publish();
  }
  CHECK(kept["net.0.weight"][0][0].item<double>() == value);
  ToyModule copy;
  session.published().copy_to(copy);
  CHECK(bit_equal(copy.parameters(), module->parameters()));
  CHECK(error_text([&] { kept["net.9.weight"]; }) == "published weights: there is no \"net.9.weight\"");
}

TEST_CASE("a session's values are logged at its steps, and validate returns metrics") {
  struct Validated : ToyModule {
    void validation_step(const levin::Batch& batch, int64_t) override { log("val_loss", loss_of(batch)); }
  };
  TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.max_steps = 6;
  const ToyData data(8);
  levin::Session session = levin::Trainer(options).start(std::make_shared<Validated>());
  int64_t told = 0;
  session.on_progress([&](const levin::SessionState& state) { told = state.global_step; }, 0);
  while (session.next()) {
    session.step(levin::Batch(data.input, data.target));
    session.log("reward", static_cast<double>(session.state().batches));
  }
  CHECK(told == 6);
  const std::vector<levin::Metrics> metrics = session.validate(data.loader(4));
  REQUIRE(metrics.size() == 1);
  CHECK(metrics[0].count("val_loss") == 1);
  const levin::RunResult result = session.finish();
  CHECK(result.metrics.at("reward") == 6);
  CHECK(result.metrics.count("train_loss") == 1);
}

TEST_CASE("mistakes with sessions are named") {
  TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.max_steps = 2;
  const ToyData data(8);
  const levin::Batch batch(data.input, data.target);
  levin::Session session = levin::Trainer(options).start(new_module());
  session.register_state("replay", [] { return levin::State(1); }, [](const levin::State&) {});
  CHECK(error_text([&] {
          session.register_state("replay", [] { return levin::State(1); }, [](const levin::State&) {});
        }) == "Session::register_state: there is a state \"replay\" already");
  session.step(batch);
  CHECK(error_text([&] { session.loader(data.loader(4)); }) == "Session::loader: call it before the first step");
  session.step(batch);
  CHECK_FALSE(session.step(batch).trained);
  CHECK(session.is_over());
  session.finish();
  CHECK(error_text([&] { session.step(batch); }) == "Session::step: the session is finished");
  CHECK(error_text([&] { session.finish(); }) == "Session::finish: the session is finished");

  // An exception ends the session, and its run counts as failed.
  levin::Session failing = levin::Trainer(options).start(new_module());
  const std::filesystem::path run = failing.run().folder();
  CHECK_THROWS(failing.step([]() -> torch::Tensor { throw std::runtime_error("the solver diverged"); }));
  CHECK(error_text([&] { failing.step(batch); }) == "Session::step: the session has ended by an exception");
}

TEST_CASE("a session that is replaced by another one is finished, and the other one goes on") {
  TemporaryFolder folder;
  const ToyData data(8);
  const levin::Batch batch(data.input, data.target);
  levin::Session session = levin::Trainer(options_in(folder)).start(new_module());
  session.step(batch);
  const std::filesystem::path first = session.run().folder();
  session = levin::Trainer(options_in(folder)).start(new_module());
  CHECK(std::filesystem::exists(first / "weights.pt"));
  CHECK(session.run().folder() != first);
  CHECK(session.step(batch).trained);
  session.finish();
}

TEST_CASE("a session that its host leaves by an exception has failed; one that goes out of scope is finished") {
  TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.max_steps = 20;
  const ToyData data(8);
  std::filesystem::path left, finished;
  try {
    levin::Session session = levin::Trainer(options).start(new_module());
    left = session.run().folder();
    session.step(levin::Batch(data.input, data.target));
    throw std::runtime_error("the host fails");
  } catch (const std::runtime_error&) {
  }
  {
    levin::Session session = levin::Trainer(options).start(new_module());
    finished = session.run().folder();
    session.step(levin::Batch(data.input, data.target));
  }
  CHECK_FALSE(std::filesystem::exists(left / "weights.pt"));
  CHECK(std::filesystem::exists(finished / "weights.pt"));
}
