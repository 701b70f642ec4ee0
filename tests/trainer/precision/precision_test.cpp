// The arithmetic of each precision, the tensors that it converts, and the options that it refuses.
#include <ATen/autocast_mode.h>
#include <levin/core/state/state_file.h>

#include <map>
#include <set>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

std::string name_of(at::ScalarType dtype) { return c10::toString(dtype); }

/// Records the dtypes and autocast that its steps and hooks find.
struct Watching : ToyModule {
  void look(const char* where, const levin::Batch& batch) {
    found[where] = name_of(net->forward(batch.input()).scalar_type()) + ", new tensors " +
                   name_of(torch::zeros({1}).scalar_type()) + ", batch " + name_of(batch.target().scalar_type());
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    look("training", batch);
    return loss_of(batch);
  }
  void validation_step(const levin::Batch& batch, int64_t) override { look("validation", batch); }
  void test_step(const levin::Batch& batch, int64_t) override { look("test", batch); }
  levin::Batch predict_step(const levin::Batch& batch, int64_t) override {
    look("predict", batch);
    return batch;
  }
  void on_after_backward(levin::Run&) override {
    found["hook"] = std::string(at::autocast::is_autocast_enabled(at::kCPU) ? "autocast" : "no autocast") +
                    ", new tensors " + name_of(torch::zeros({1}).scalar_type()) + ", weights " +
                    name_of(parameters()[0].scalar_type());
  }
  std::map<std::string, std::string> found = {};
};

levin::TrainerOptions with(const TemporaryFolder& folder, const levin::Precision& precision) {
  levin::TrainerOptions options = quiet(folder);
  options.precision = precision;
  options.max_epochs = 1;
  options.enable_checkpointing = false;
  return options;
}

}  // namespace

TEST_CASE("steps of every stage run in the precision's arithmetic, and hooks outside of it") {
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {"32-true", "Float, new tensors Float, batch Float", "weights Float"},
      {"64-true", "Double, new tensors Double, batch Double", "weights Double"},
      {"16-mixed", "Half, new tensors Float, batch Float", "weights Float"},
      {"bf16-mixed", "BFloat16, new tensors Float, batch Float", "weights Float"},
      {"16-true", "Half, new tensors Half, batch Half", "weights Half"},
      {"bf16-true", "BFloat16, new tensors BFloat16, batch BFloat16", "weights BFloat16"}};
  const ToyData data(8);
  for (const auto& [precision, in_steps, weights] : cases) {
    INFO(precision);
    const TemporaryFolder folder;
    Watching module;
    levin::Trainer trainer(with(folder, precision));
    trainer.fit(module, data.loader(4), data.loader(4));
    trainer.test(module, data.loader(4));
    trainer.predict(module, data.loader(4));
    for (const char* step : {"training", "validation", "test", "predict"}) CHECK(module.found.at(step) == in_steps);
    CHECK(module.found.at("hook") == "no autocast, new tensors Float, " + weights);
    CHECK(torch::zeros({1}).scalar_type() == at::kFloat);
    CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
    // Checkpoints and weights keep the dtype.
    trainer.save_checkpoint(folder / "saved.ckpt");
    for (const auto& file : {folder / "saved.ckpt", folder / "levin_logs/version_0/weights.pt"}) {
      const levin::State saved = levin::load_state(file);
      const levin::State& state_dict = saved.contains("state_dict") ? saved.at("state_dict") : saved;
      CHECK("weights " + name_of(state_dict.at("net.0.weight").to_tensor().scalar_type()) == weights);
    }
  }
}

TEST_CASE("64-true is bit for bit the loop written by hand in float64") {
  const ToyData data(12);
  const TemporaryFolder folder;
  torch::manual_seed(1);
  ToyModule by_hand;
  torch::manual_seed(1);
  ToyModule by_fit;
  by_hand.to(torch::kDouble);
  torch::optim::SGD optimizer(by_hand.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  for (int64_t i = 0; i < 6; ++i) {
    optimizer.zero_grad();
    const auto rows = torch::arange(4 * (i % 3), 4 * (i % 3) + 4);
    torch::mse_loss(by_hand.net->forward(data.input.index_select(0, rows).to(torch::kDouble)),
                    data.target.index_select(0, rows).to(torch::kDouble))
        .backward();
    optimizer.step();
  }
  levin::TrainerOptions options = with(folder, 64);
  options.max_epochs = 2;
  levin::Trainer(options).fit(by_fit, data.loader(4));
  CHECK(bit_equal(by_fit.parameters(), by_hand.parameters()));
}

TEST_CASE("amp_level O0 to O3 are 32 bit, autocast, master weights, and all in float16") {
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {"O0", "Float, new tensors Float, batch Float", "weights Float"},
      {"O1", "Half, new tensors Float, batch Float", "weights Float"},
      {"O2", "Half, new tensors Float, batch Half", "weights Half"},
      {"O3", "Half, new tensors Half, batch Half", "weights Half"}};
  const ToyData data(8);
  for (const auto& [level, in_steps, weights] : cases) {
    INFO(level);
    const TemporaryFolder folder;
    Watching module;
    levin::TrainerOptions options = with(folder, {});
    options.use_amp = true;
    options.amp_level = level;
    levin::Trainer(options).fit(module, data.loader(4));
    CHECK(module.found.at("training") == in_steps);
    CHECK(module.found.at("hook") == "no autocast, new tensors Float, " + weights);
  }
}

TEST_CASE("under amp_level O2 BatchNorm stays in float32, and float32 masters take steps that float16 rounds away") {
  struct Normed : ToyModule {
    Normed()
        : ToyModule(
              torch::nn::Sequential(torch::nn::Linear(4, 8), torch::nn::BatchNorm1d(8), torch::nn::Linear(8, 1))) {}
    levin::OptimizerConfig configure_optimizers() override { return levin::optim::SGD(parameters(), {.lr = 1e-4}); }
    void on_before_optimizer_step(levin::Run&, torch::optim::Optimizer& optimizer) override {
      for (const at::Tensor& stepped : optimizer.param_groups()[0].params()) {
        all_float &= stepped.scalar_type() == at::kFloat;
        masters.push_back(stepped);
      }
    }
    std::vector<at::Tensor> masters = {};
    bool all_float = true;
  };
  const ToyData data(64);
  const TemporaryFolder folder;
  Normed module;
  levin::TrainerOptions options = with(folder, 16);
  options.amp_level = "O2";
  options.max_epochs = 4;
  levin::Trainer(options).fit(module, data.loader(8));
  const auto parameters = module.named_parameters();
  CHECK(parameters["net.0.weight"].scalar_type() == at::kHalf);
  CHECK(parameters["net.1.weight"].scalar_type() == at::kFloat);
  CHECK(module.all_float);
  // The module's weights are the masters, rounded; the masters lie between two numbers of float16.
  CHECK(torch::equal(parameters["net.0.weight"], module.masters[0].to(at::kHalf)));
  CHECK_FALSE(torch::equal(module.masters[0], module.masters[0].to(at::kHalf).to(at::kFloat)));
  CHECK(parameters["net.1.weight"].is_same(module.masters[2]));
}

TEST_CASE("integers of a module stay as they are in every precision: the count of batches is exact") {
  struct Normed : ToyModule {
    Normed()
        : ToyModule(
              torch::nn::Sequential(torch::nn::Linear(4, 8), torch::nn::BatchNorm1d(8), torch::nn::Linear(8, 1))) {
      register_buffer("flags", torch::tensor({true, false}));
      register_buffer("turns", torch::complex(torch::ones({2}), torch::ones({2})));
    }
  };
  const ToyData data(600);
  for (const auto& [precision, level] : std::vector<std::pair<std::string, std::string>>{
           {"64-true", ""}, {"bf16-true", ""}, {"16-true", ""}, {"32-true", "O2"}}) {
    INFO(precision << " " << level);
    const TemporaryFolder folder;
    Normed module;
    levin::TrainerOptions options = with(folder, precision);
    if (!level.empty()) {
      options.use_amp = true;
      options.amp_level = level;
    }
    levin::Trainer(options).fit(module, data.loader(2));
    const auto buffers = module.named_buffers();
    CHECK(buffers["net.1.num_batches_tracked"].scalar_type() == at::kLong);
    CHECK(buffers["net.1.num_batches_tracked"].item<int64_t>() == 300);
    CHECK(torch::equal(buffers["flags"], torch::tensor({true, false})));
    CHECK(torch::equal(buffers["turns"], torch::complex(torch::ones({2}), torch::ones({2}))));
    CHECK(module.named_parameters()["net.0.weight"].scalar_type() != at::kFloat);
  }
}

TEST_CASE("the batches of several loaders are converted as a single one is") {
  struct Both : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      const auto& both = batch.as<levin::data::CombinedBatch>();
      dtype = both[1].target().scalar_type();
      return loss_of(both[0]) + loss_of(both[1]);
    }
    at::ScalarType dtype = at::kFloat;
  };
  const ToyData data(8);
  for (const auto& [precision, dtype] : std::vector<std::pair<std::string, at::ScalarType>>{
           {"64-true", at::kDouble}, {"bf16-true", at::kBFloat16}, {"16-true", at::kHalf}}) {
    INFO(precision);
    const TemporaryFolder folder;
    Both module;
    levin::Trainer(with(folder, precision)).fit(module, {data.loader(4), data.loader(2)});
    CHECK(module.dtype == dtype);
  }
}

TEST_CASE("a user's struct in a batch is converted by its to(at::ScalarType)") {
  struct Pair {
    at::Tensor values;
    int64_t size() const { return values.size(0); }
    Pair to(c10::Device device) const { return {values.to(device)}; }
    Pair to(at::ScalarType dtype) const { return {values.to(dtype)}; }
  };
  struct Fixed {
    at::Tensor values;
    int64_t size() const { return values.size(0); }
    Fixed to(c10::Device device) const { return {values.to(device)}; }
  };
  CHECK(levin::Batch(Pair{torch::ones({2})}).to(at::kHalf).as<Pair>().values.scalar_type() == at::kHalf);
  CHECK(levin::Batch(Fixed{torch::ones({2})}).to(at::kHalf).as<Fixed>().values.scalar_type() == at::kFloat);
  const levin::Batch batch({{"ids", torch::ones({2}, torch::kLong)}, {"values", torch::ones({2})}});
  CHECK(batch.to(at::kDouble)["ids"].scalar_type() == at::kLong);
  CHECK(batch.to(at::kDouble)["values"].scalar_type() == at::kDouble);
}

TEST_CASE("float32_matmul_precision is set for the run and put back") {
  struct Asking : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      found = at::globalContext().float32MatmulPrecision();
      return loss_of(batch);
    }
    at::Float32MatmulPrecision found = at::Float32MatmulPrecision::HIGHEST;
  };
  const auto before = at::globalContext().float32MatmulPrecision();
  const TemporaryFolder folder;
  Asking module;
  levin::TrainerOptions options = with(folder, {});
  options.float32_matmul_precision = "medium";
  levin::Trainer(options).fit(module, ToyData(4).loader(4));
  CHECK(module.found == at::Float32MatmulPrecision::MEDIUM);
  CHECK(at::globalContext().float32MatmulPrecision() == before);
}

TEST_CASE(
    "manual optimization computes gradients and steps outside of autocast, as automatic does, and closures inside") {
  // Takes part of its forward in 32 bit, where backward under autocast would multiply in 16 bit.
  struct Either : ToyModule {
    torch::Tensor loss_of(const levin::Batch& batch) {
      const torch::Tensor outputs = net->forward(batch.input());
      dtypes.insert(outputs.scalar_type());
      const levin::Autocast off(at::kCPU, at::kBFloat16, /*enabled=*/false);
      const torch::Tensor turned = outputs.to(torch::kFloat).matmul(net->parameters()[2]);
      return (turned - batch.target()).square().mean();
    }
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      if (automatic_optimization) return loss_of(batch);
      levin::LightningOptimizer only = optimizer();
      const auto gradients = [&] {
        only.zero_grad();
        const torch::Tensor loss = loss_of(batch);
        manual_backward(loss);
        return loss.detach();
      };
      if (by_closure) {
        only.step(gradients);
      } else {
        gradients();
        only.step();
      }
      return {};
    }
    bool by_closure = false;
    std::set<torch::ScalarType> dtypes = {};
  };
  const ToyData data(24);
  for (const char* const precision : {"bf16-mixed", "16-mixed"}) {
    std::vector<std::vector<torch::Tensor>> ended;
    for (const auto& [is_automatic, by_closure] : {std::pair{true, false}, {false, false}, {false, true}}) {
      const TemporaryFolder folder;
      torch::manual_seed(3);
      Either module;
      module.automatic_optimization = is_automatic;
      module.by_closure = by_closure;
      module.optimizers_of = [](ToyModule& one) {
        return levin::OptimizerConfig(levin::optim::Adafactor(one.parameters()));
      };
      levin::Trainer(with(folder, precision)).fit(module, data.loader(4));
      CHECK(module.dtypes == std::set{precision[0] == 'b' ? torch::kBFloat16 : torch::kHalf});
      ended.push_back(copies(module.parameters()));
    }
    INFO(precision);
    CHECK(bit_equal(ended[0], ended[1]));
    CHECK(bit_equal(ended[0], ended[2]));
  }
}
