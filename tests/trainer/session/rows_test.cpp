// Parameters whose rows change between the steps of a session, against a fit with the same changes, and resumed.
#include <levin/modules/optim/optimizer_state.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <optional>
#include <random>

#include "tests/catch.h"
#include "tests/trainer/session/sessions.h"

namespace {

using levin::optim::StateAfter;

/// A table of points that are drawn to a few places, and whose number changes at random.
struct Points : levin::LightningModule {
  Points(std::string optimizer, bool changes_itself)
      : optimizer_(std::move(optimizer)), changes_itself_(changes_itself) {}

  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    const auto distances = torch::cdist(batch.input().to(torch::kFloat), table.to(torch::kFloat));
    const auto loss = distances.square().amin(1).mean() + 0.01 * (table * scale).to(torch::kFloat).square().mean();
    log("train_loss", loss);
    return loss;
  }
  levin::OptimizerConfig configure_optimizers() override {
    namespace t = torch::optim;
    if (optimizer_ == "Adam") return levin::optim::Adam(parameters(), {.lr = 0.01});
    if (optimizer_ == "AdamW") return levin::optim::AdamW(parameters(), {.lr = 0.01});
    if (optimizer_ == "SGD") return levin::optim::SGD(parameters(), {.lr = 0.05, .momentum = 0.9});
    if (optimizer_ == "RMSprop") return levin::optim::RMSprop(parameters(), {.lr = 0.005, .momentum = 0.5});
    if (optimizer_ == "torch Adam") return t::Adam(parameters(), t::AdamOptions(0.01).amsgrad(true));
    if (optimizer_ == "torch AdamW") return t::AdamW(parameters(), t::AdamWOptions(0.01));
    if (optimizer_ == "torch RMSprop") return t::RMSprop(parameters(), t::RMSpropOptions(0.005).centered(true));
    return t::SGD(parameters(), t::SGDOptions(0.05).momentum(0.9));
  }
  void on_train_batch_end(levin::Run& run) override {
    ema.update();
    if (changes_itself_) change(run.state().batches_seen);
  }
  void on_save_checkpoint(levin::Run&, levin::State& checkpoint) override { checkpoint["average"] = ema.state_dict(); }
  void on_load_checkpoint(levin::Run&, const levin::State& checkpoint) override {
    levin::optim::take_row_counts(*this, checkpoint.at("state_dict"));
    ema.load_state_dict(checkpoint.at("average"));
  }

  /// Changes the table at random; the same number makes the same change.
  void change(int64_t number) {
    std::mt19937 random(static_cast<uint32_t>(number));
    const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); };
    const auto values = [&](int64_t rows) {
      const auto generator = torch::make_generator<torch::CPUGeneratorImpl>(static_cast<uint64_t>(number));
      return torch::randn({rows, 4}, generator);
    };
    const int64_t rows = table.size(0);
    switch (below(rows > 12 ? 2 : 6)) {
      case 0:
        levin::optim::keep_rows(table, torch::arange(rows) % (2 + below(3)) != 1);
        break;
      case 1:
        levin::optim::keep_rows(table, torch::arange(rows - 1, -1, -1 - below(2)));
        break;
      case 2:
        levin::optim::append_rows(table, values(1 + below(4)));
        break;
      case 3:
        levin::optim::replace(table, values(rows), StateAfter::Keep);
        break;
      case 4:
        levin::optim::replace(table, values(1 + below(6)), StateAfter::Zero);
        break;
      default:
        break;  // a step without a change
    }
  }

  torch::Tensor table = register_parameter("table", torch::linspace(-1, 1, 20).reshape({5, 4}));
  torch::Tensor scale = register_parameter("scale", torch::ones({4}));
  levin::optim::EMA ema = levin::optim::EMA(*this, {.decay = 0.75});

 private:
  std::string optimizer_;
  bool changes_itself_;
};

std::vector<torch::Tensor> all_of(const Points& module) {
  return copies({module.table, module.scale, module.ema.average("table"), module.ema.average("scale")});
}

struct PointRun {
  std::string optimizer;
  int64_t accumulate = 1;
  const char* kind = "32";

  levin::TrainerOptions options(const TemporaryFolder& folder) const {
    levin::TrainerOptions options = options_in(folder);
    options.max_steps = kSteps / accumulate;
    options.accumulate_grad_batches = accumulate;
    options.gradient_clip_val = 1.0;
    options.enable_checkpointing = false;
    if (kind == std::string("16-mixed")) options.precision = levin::Precision(16);
    if (kind == std::string("O2")) {
      options.precision = levin::Precision(16);
      options.amp_level = "O2";
    }
    return options;
  }
  std::vector<torch::Tensor> fitted() const {
    const TemporaryFolder folder;
    Points module(optimizer, /*changes_itself=*/true);
    levin::Trainer(options(folder)).fit(module, ToyData(4 * kSteps).loader(4));
    return all_of(module);
  }
  /// Trains by a session. After each batch whose number is listed, the session is saved, and a new one resumes from it.
  std::vector<torch::Tensor> driven(const std::vector<int64_t>& breaks) const {
    const TemporaryFolder folder;
    const ToyData data(4 * kSteps);
    const auto file = std::filesystem::absolute(folder / "middle.ckpt");
    std::shared_ptr<Points> module;
    std::optional<levin::Session> session;
    const auto begin = [&](const std::string& ckpt_path) {
      session.reset();
      module = std::make_shared<Points>(optimizer, /*changes_itself=*/false);
      session.emplace(levin::Trainer(options(folder)).start(module, {.ckpt_path = ckpt_path}));
    };
    begin("");
    for (int64_t batch = 0; session->next(); ++batch) {
      session->step(levin::Batch(data.input.narrow(0, 4 * batch, 4), data.target.narrow(0, 4 * batch, 4)));
      module->change(batch + 1);
      if (std::find(breaks.begin(), breaks.end(), batch) == breaks.end()) continue;
      session->save(file);
      begin(file.string());
    }
    session->finish();
    return all_of(*module);
  }
  static constexpr int64_t kSteps = 198;
};

}  // namespace

TEST_CASE("rows that change 200 times between a session's steps: as in fit, and resumed in between") {
  std::mt19937 random(1);
  for (const char* optimizer :
       {"Adam", "AdamW", "SGD", "RMSprop", "torch Adam", "torch AdamW", "torch SGD", "torch RMSprop"})
    for (const char* kind : {random() % 2 == 0 ? "32" : "16-mixed", "O2"}) {
      const PointRun run{.optimizer = optimizer, .accumulate = random() % 2 == 0 ? 1 : 3, .kind = kind};
      INFO(optimizer << " " << kind << ", accumulate " << run.accumulate);
      const std::vector<torch::Tensor> expected = run.fitted();
      CHECK(bit_equal(expected, run.driven({})));
      const auto first = static_cast<int64_t>(random() % 100), second = first + 1 + static_cast<int64_t>(random() % 90);
      INFO("resumed after " << first << " and " << second);
      CHECK(bit_equal(expected, run.driven({first, second})));
      CHECK(torch::isfinite(expected[0]).all().item<bool>());
    }
}
