// What the C interface adds to a step and to an evaluation: the same batches through C and through C++.
//
//   benchmark_c_interface session STEPS    Session::step of a small network
//   benchmark_c_interface c STEPS          levin_session_step of the same
//   benchmark_c_interface predict STEPS    predict_step in C++
//   benchmark_c_interface run STEPS        levin_model_run of the same
//
// Count instructions with `valgrind --tool=callgrind`, and allocations with `valgrind --tool=memcheck`, for two numbers
// of steps: the difference per step is free of what the start costs.
#include <levin/c_api.h>
#include <levin/core/device/own_generator.h>
#include <levin/levin.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr const char* kConfig =
    R"({"seed": 1, "trainer": {"accelerator": "cpu", "max_epochs": -1},
        "model": {"class": "MLPRegressor", "features": 8, "hidden": [16], "optimizer": {"class": "SGD", "lr": 0.01}}})";

void check(levin_status status) {
  if (status == LEVIN_OK) return;
  std::fprintf(stderr, "%s\n", levin_error());
  std::exit(1);
}

std::shared_ptr<levin::LightningModule> make_network() {
  levin::nn::MLPRegressorOptions options;
  options.net.features = 8;
  options.net.hidden = {16};
  options.optimizer = {"SGD", levin::optim::SGDOptions{.lr = 0.01}};
  return levin::make_module<levin::nn::MLPRegressor>(options);
}

levin_array array_of(const at::Tensor& tensor) {
  levin_array array = LEVIN_INIT(levin_array);
  array.data = tensor.data_ptr();
  array.rank = static_cast<int32_t>(tensor.dim());
  array.shape = tensor.sizes().data();
  return array;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string who = argv[1];
  const long steps = std::atol(argv[2]);
  at::set_num_threads(1);
  const at::Tensor input = torch::randn({16, 8}), target = torch::randn({16, 1});
  const levin_array arrays[] = {array_of(input), array_of(target)};
  levin_config config = LEVIN_INIT(levin_config);
  config.text = kConfig;
  if (who == "session") {
    const auto network = make_network();
    levin::TrainerOptions options = levin::TrainerOptions::embedded();
    options.accelerator = levin::Accelerator::Cpu;
    options.max_epochs = -1;
    options.seed = 1;
    levin::Trainer trainer(options);
    levin::Session session = trainer.start(network);
    for (long i = 0; i < steps; ++i) {
      session.next();
      session.step(levin::Batch(input, target));
    }
  } else if (who == "c") {
    levin_session_options options = LEVIN_INIT(levin_session_options);
    options.config = &config;
    levin_session* session = nullptr;
    check(levin_session_start(&options, &session));
    for (long i = 0; i < steps; ++i) {
      int32_t wanted = 0;
      check(levin_session_next(session, &wanted));
      check(levin_session_step(session, arrays, 2, nullptr));
    }
    levin_session_destroy(session);
  } else if (who == "predict") {
    const auto network = make_network();
    network->eval();
    const at::NoGradGuard no_gradients;
    for (long i = 0; i < steps; ++i) network->predict_step(levin::Batch(input), 0);
  } else if (who == "run") {
    levin_model* model = nullptr;
    check(levin_model_create(&config, nullptr, &model));
    for (long i = 0; i < steps; ++i) {
      levin_array result = LEVIN_INIT(levin_array);
      check(levin_model_run(model, nullptr, arrays, 1));
      check(levin_model_result(model, 0, &result));
    }
    levin_model_destroy(model);
  } else {
    return 2;
  }
  return 0;
}
