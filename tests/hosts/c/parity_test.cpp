// Training through the C interface has the bits of a Session in C++.
#include <levin/core/device/own_generator.h>
#include <levin/levin.h>
#include <levin/program/config/run_options.h>

#include <nlohmann/json.hpp>

#include "tests/hosts/c/host_arrays.h"
#include "tests/temporary_folder.h"

namespace {

struct TwoOptimizersOptions {
  double lr = LEVIN_OPTION(lr, 0.05, "Rate of both");
};

/// Two halves with an optimizer each, stepped in turns.
class TwoOptimizers : public levin::LightningModule {
 public:
  using Options = TwoOptimizersOptions;
  explicit TwoOptimizers(Options given = {}) : options(given) {
    automatic_optimization = false;
    first = register_module("first", torch::nn::Linear(3, 8));
    second = register_module("second", torch::nn::Linear(8, 2));
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    levin::LightningOptimizer mine = optimizer(static_cast<size_t>(batch_idx % 2));
    mine.zero_grad();
    const auto loss = torch::mse_loss(second(torch::relu(first(batch.input()))), batch.target());
    manual_backward(loss);
    mine.step();
    return loss;
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::OptimizerConfig({std::make_shared<torch::optim::SGD>(first->parameters(), options.lr),
                                   std::make_shared<torch::optim::Adam>(second->parameters(), options.lr)});
  }
  Options options;
  torch::nn::Linear first = nullptr, second = nullptr;
};
LEVIN_REGISTER_MODULE(TwoOptimizers);

constexpr int kSteps = 200, kBatch = 8;

struct Case {
  std::string name;
  std::string trainer;  ///< of the config
  void (*set)(levin::TrainerOptions& options);
  std::string model = R"({"class": "MLPRegressor", "features": 3, "hidden": [16], "dropout": 0.1, "outputs": 2})";
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"plain", "", [](levin::TrainerOptions&) {}},
      {"accumulation and clipping", R"(, "accumulate_grad_batches": 3, "gradient_clip_val": 0.5)",
       [](levin::TrainerOptions& options) {
         options.accumulate_grad_batches = 3;
         options.gradient_clip_val = 0.5;
       }},
      {"schedule", "", [](levin::TrainerOptions&) {},
       R"({"class": "MLPRegressor", "features": 3, "hidden": [16], "outputs": 2, "optimizer": {"class": "AdamW", "lr": 0.01},
           "lr_scheduler": {"class": "StepLR", "step_size": 20, "gamma": 0.5, "interval": "step"}})"},
      {"EMA", R"(, "callbacks": [{"class": "EMAWeightAveraging", "decay": 0.9}])",
       [](levin::TrainerOptions& options) {
         options.callbacks = {levin::CallbackEntry(
             std::make_shared<levin::EMAWeightAveraging>(levin::EMAWeightAveragingOptions{.decay = 0.9}))};
       }},
      {"bf16-mixed", R"(, "precision": "bf16-mixed")",
       [](levin::TrainerOptions& options) { options.precision = "bf16-mixed"; }},
      {"16-mixed", R"(, "precision": "16-mixed", "gradient_clip_val": 0.5)",
       [](levin::TrainerOptions& options) {
         options.precision = "16-mixed";
         options.gradient_clip_val = 0.5;
       }},
      {"two optimizers", "", [](levin::TrainerOptions&) {}, R"({"class": "TwoOptimizers"})"},
  };
  return all;
}

struct Data {
  Data() {
    torch::manual_seed(11);
    input = torch::randn({kSteps * kBatch, 3});
    target = torch::stack({input.sum(1).tanh(), input.prod(1)}, 1);
  }
  torch::Tensor input, target;
};

std::string config_text(const Case& one) {
  return R"({"seed": 3, "trainer": {"accelerator": "cpu", "max_steps": -1, "max_epochs": -1)" + one.trainer +
         R"(}, "model": )" + one.model + "}";
}

torch::Tensor weights_of_module(const levin::LightningModule& module) {
  std::vector<torch::Tensor> flat;
  for (const auto& parameter : module.parameters()) flat.push_back(parameter.detach().reshape(-1).to(torch::kDouble));
  return torch::cat(flat);
}

std::shared_ptr<levin::LightningModule> module_of(const Case& one) {
  const levin::GeneratorScope own(levin::make_generator(3));
  levin::cli::RunOptions options;
  const auto config = nlohmann::ordered_json::parse(R"({"model": )" + one.model + "}");
  levin::schema_of<levin::cli::RunOptions>().set(&options, "", config);
  return options.model.make("model");
}

/// Returns the weights after all batches through a Session.
torch::Tensor in_cpp(const Case& one, const Data& data) {
  levin::TrainerOptions options = levin::TrainerOptions::embedded();
  options.accelerator = levin::Accelerator::Cpu;
  options.max_epochs = -1;
  options.seed = 3;
  one.set(options);
  const auto module = module_of(one);
  levin::Trainer trainer(options);
  levin::Session session = trainer.start(module);
  for (int i = 0; i < kSteps; ++i) {
    REQUIRE(session.next());
    session.step(levin::Batch(data.input.narrow(0, i * kBatch, kBatch), data.target.narrow(0, i * kBatch, kBatch)));
  }
  session.next();
  return weights_of_module(*module);
}

void train(levin_session* session, const Data& data, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    int32_t wanted = 0;
    ok(levin_session_next(session, &wanted));
    REQUIRE(wanted == 1);
    const torch::Tensor input = data.input.narrow(0, i * kBatch, kBatch),
                        target = data.target.narrow(0, i * kBatch, kBatch);
    const levin_array arrays[] = {array_of(input), array_of(target)};
    levin_step_result result = LEVIN_INIT(levin_step_result);
    ok(levin_session_step(session, arrays, 2, &result));
    REQUIRE(result.trained == 1);
  }
  int32_t wanted = 0;
  ok(levin_session_next(session, &wanted));
}

}  // namespace

TEST_CASE("A session of C has the bits of a session of C++, also if it was resumed in between") {
  const Data data;
  for (const Case& one : cases()) {
    DYNAMIC_SECTION(one.name) {
      const torch::Tensor expected = in_cpp(one, data);
      levin_session* whole = start(config_text(one));
      train(whole, data, 0, kSteps);
      CHECK(torch::equal(weights_of(whole), expected));
      levin_session_destroy(whole);

      const TemporaryFolder folder;
      const std::string checkpoint = (folder / "half.ckpt").string();
      levin_session* first = start(config_text(one));
      train(first, data, 0, kSteps / 2 + 1);  // inside of an accumulation window
      ok(levin_session_save(first, checkpoint.c_str()));
      levin_session_destroy(first);
      levin_session* second = start(config_text(one), checkpoint);
      train(second, data, kSteps / 2 + 1, kSteps);
      CHECK(torch::equal(weights_of(second), expected));
      levin_session_destroy(second);
    }
  }
}

TEST_CASE("A loss of the host's, with gradients in and out, has the bits of the module's own") {
  const Data data;
  for (const Case& one : cases()) {
    if (one.name == "two optimizers" || one.name == "plain" || one.name.ends_with("16-mixed")) continue;
    DYNAMIC_SECTION(one.name) {
      Case without_dropout = one;
      if (const size_t at = without_dropout.model.find(R"("dropout": 0.1, )"); at != std::string::npos)
        without_dropout.model.erase(at, std::string(R"("dropout": 0.1, )").size());
      levin_session* own = start(config_text(without_dropout));
      train(own, data, 0, kSteps);
      for (const bool in_function : {false, true}) {
        levin_session* host = start(config_text(without_dropout));
        struct Step {
          levin_array input, target_values;
          torch::Tensor target;
          std::vector<levin_call*> calls = {};
        };
        // The adjoint of the mean squared error, as a solver would give it.
        const auto adjoint = [](void* context, levin_session* session, double* loss) -> levin_status {
          auto& step = *static_cast<Step*>(context);
          levin_call* call = nullptr;
          ok(levin_session_call(session, "forward", &step.input, 1, LEVIN_INPUT_GRADIENTS, &call));
          step.calls.push_back(call);
          levin_array output = LEVIN_INIT(levin_array);
          ok(levin_call_output(call, 0, &output));
          const torch::Tensor value = tensor_of_result(output).requires_grad_();
          const torch::AutoGradMode gradients(true);
          const torch::Tensor error = torch::mse_loss(value, step.target);
          const torch::Tensor gradient = torch::autograd::grad({error}, {value})[0];
          *loss = error.item<double>();
          const levin_array given = array_of(gradient);
          ok(levin_call_backward(call, &given, 1));
          levin_array of_input = LEVIN_INIT(levin_array);
          ok(levin_call_input_gradient(call, 0, &of_input));
          CHECK(tensor_of_result(of_input).abs().sum().item<double>() > 0);
          return LEVIN_OK;
        };
        for (int i = 0; i < kSteps; ++i) {
          int32_t wanted = 0;
          ok(levin_session_next(host, &wanted));
          const torch::Tensor input = data.input.narrow(0, i * kBatch, kBatch);
          Step step{array_of(input), {}, data.target.narrow(0, i * kBatch, kBatch)};
          if (in_function) {
            ok(levin_session_step_loss(host, adjoint, &step, nullptr));
          } else {
            double loss = 0;
            ok(adjoint(&step, host, &loss));
            ok(levin_session_step_calls(host, loss, step.calls.data(), step.calls.size(), nullptr));
            double read = 0;
            ok(levin_session_loss(host, &read));
            CHECK(read == Approx(loss).epsilon(1e-6));
          }
          for (levin_call* call : step.calls) levin_call_destroy(call);
        }
        int32_t wanted = 0;
        ok(levin_session_next(host, &wanted));
        CHECK(torch::equal(weights_of(host), weights_of(own)));
        levin_session_destroy(host);
      }
      levin_session_destroy(own);
    }
  }
}

TEST_CASE("A fit over a host's source has the bits of Trainer::fit, and validates after each epoch") {
  const Data data;
  const Case& one = cases().front();
  constexpr int kBatches = 10, kEpochs = 3;
  struct Source {
    const Data& data;
    int calls = 0;
    torch::Tensor input = {}, target = {};
    static levin_status next(void* context, int64_t /*epoch*/, int64_t batch, levin_array* arrays, size_t capacity,
                             size_t* count) {
      auto& self = *static_cast<Source*>(context);
      ++self.calls;
      if (batch >= kBatches) return LEVIN_OK;
      REQUIRE(capacity >= 2);
      self.input = self.data.input.narrow(0, batch * kBatch, kBatch);
      self.target = self.data.target.narrow(0, batch * kBatch, kBatch);
      arrays[0] = array_of(self.input);
      arrays[1] = array_of(self.target);
      *count = 2;
      return LEVIN_OK;
    }
  };
  Source train_data{data}, validation_data{data};
  levin_source train_source = LEVIN_INIT(levin_source), validation = LEVIN_INIT(levin_source);
  train_source.context = &train_data;
  validation.context = &validation_data;
  train_source.next = validation.next = &Source::next;
  std::string text = config_text(one);
  text.replace(text.find(R"("max_epochs": -1)"), 16, R"("max_epochs": 3)");
  levin_session* session = start(text);
  ok(levin_session_fit(session, &train_source, &validation));
  double loss = 0;
  ok(levin_session_metric(session, "val_loss", &loss));
  CHECK(loss > 0);
  levin_result result = LEVIN_INIT(levin_result);
  ok(levin_session_finish(session, &result));
  CHECK(result.epochs == kEpochs);
  CHECK(result.batches == kBatches * kEpochs);
  CHECK(validation_data.calls >= kEpochs * kBatches);

  levin::TrainerOptions options = levin::TrainerOptions::embedded();
  options.accelerator = levin::Accelerator::Cpu;
  options.max_epochs = kEpochs;
  options.seed = 3;
  const auto module = module_of(one);
  std::vector<levin::Batch> batches;
  for (int i = 0; i < kBatches; ++i)
    batches.emplace_back(data.input.narrow(0, i * kBatch, kBatch), data.target.narrow(0, i * kBatch, kBatch));
  levin::Trainer(options).fit(module, batches, batches);
  CHECK(torch::equal(weights_of(session), weights_of_module(*module)));
  levin_session_destroy(session);
}
