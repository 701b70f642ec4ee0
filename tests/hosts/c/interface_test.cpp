// What the functions of the C interface do with arrays, handles, threads and mistakes.
#include <levin/levin.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "tests/hosts/c/delete_dlpack.h"
#include "tests/hosts/c/host_arrays.h"
#include "tests/temporary_folder.h"

namespace {

const std::string kConfig =
    R"({"seed": 3, "trainer": {"accelerator": "cpu", "max_epochs": -1, "log_every_n_steps": 2},
        "model": {"class": "MLPRegressor", "features": 3, "hidden": [8], "outputs": 2}})";

levin_model* new_model() {
  const levin_config config = config_of(kConfig.c_str());
  levin_model* model = nullptr;
  ok(levin_model_create(&config, nullptr, &model));
  return model;
}

torch::Tensor result_of(levin_model* model, const torch::Tensor& input) {
  const levin_array array = array_of(input);
  ok(levin_model_run(model, nullptr, &array, 1));
  levin_array result = LEVIN_INIT(levin_array);
  ok(levin_model_result(model, 0, &result));
  return tensor_of_result(result);
}

void step(levin_session* session, const torch::Tensor& input, const torch::Tensor& target) {
  const levin_array arrays[] = {array_of(input), array_of(target)};
  int32_t wanted = 0;
  ok(levin_session_next(session, &wanted));
  ok(levin_session_step(session, arrays, 2, nullptr));
}

}  // namespace

TEST_CASE("Columns, sections and reversed arrays are read where they lie") {
  levin_model* model = new_model();
  const torch::Tensor all = torch::randn({10, 6});
  const torch::Tensor plain = result_of(model, all.slice(0, 0, 10, 2).slice(1, 1, 6, 2).contiguous());
  CHECK(torch::equal(result_of(model, all.slice(0, 0, 10, 2).slice(1, 1, 6, 2)), plain));
  const torch::Tensor columns = all.slice(0, 0, 10, 2).slice(1, 1, 6, 2).t().contiguous().t();
  CHECK(torch::allclose(result_of(model, columns), plain));
  // The rows from the last to the first.
  const torch::Tensor rows = all.slice(1, 0, 3).contiguous();
  levin_array array = array_of(rows);
  const int64_t strides[] = {-3, 1};
  array.strides = strides;
  array.data = rows.data_ptr<float>() + 9 * 3;
  for (int i = 0; i < 2; ++i) {
    ok(levin_model_run(model, nullptr, &array, 1));
    levin_array result = LEVIN_INIT(levin_array);
    ok(levin_model_result(model, 0, &result));
    const torch::Tensor backward = tensor_of_result(result);
    CHECK(torch::equal(backward, result_of(model, rows.flip(0).contiguous())));
    rows.mul_(0.5);
  }
  const torch::Tensor in_double = rows.to(torch::kDouble);
  CHECK(torch::equal(result_of(model, in_double), result_of(model, rows)));
  levin_model_destroy(model);
}

TEST_CASE("Arrays are copied between dtypes, orders and lengths of stride") {
  const torch::Tensor from = torch::arange(12, torch::kDouble).view({3, 4});
  const torch::Tensor to = torch::zeros({4, 3}, torch::kInt).t();
  levin_array source = array_of(from), target = array_of(to);
  ok(levin_array_copy(&source, &target));
  CHECK(torch::equal(to.to(torch::kDouble), from));
  const torch::Tensor reversed = torch::zeros({12}, torch::kFloat), flat = from.view({12});
  source = array_of(flat);
  target = array_of(reversed);
  const int64_t backward[] = {-1};
  target.strides = backward;
  target.data = reversed.data_ptr<float>() + 11;
  ok(levin_array_copy(&source, &target));
  CHECK(torch::equal(reversed.flip(0).to(torch::kDouble), flat));
  const torch::Tensor other = torch::zeros({5});
  target = array_of(other);
  refused(levin_array_copy(&source, &target), "have the shapes [12] and [5]");
}

TEST_CASE("DLPack goes in and out without a copy") {
  levin_model* model = new_model();
  const torch::Tensor input = torch::randn({4, 3});
  const torch::Tensor plain = result_of(model, input);
  const levin_array described = array_of(input);
  DLManagedTensor* tensor = nullptr;
  ok(levin_array_to_dlpack(&described, &tensor));
  levin_array back = LEVIN_INIT(levin_array);
  ok(levin_array_of_dlpack(tensor, &back));
  CHECK(back.data == input.data_ptr());
  ok(levin_model_run(model, nullptr, &back, 1));
  levin_array result = LEVIN_INIT(levin_array);
  ok(levin_model_result(model, 0, &result));
  DLManagedTensor* kept = nullptr;
  ok(levin_array_to_dlpack(&result, &kept));
  levin_model_destroy(model);  // what was handed out stays
  levin_array of_kept = LEVIN_INIT(levin_array);
  ok(levin_array_of_dlpack(kept, &of_kept));
  CHECK(torch::equal(torch::from_blob(of_kept.data, {4, 2}), plain));
  for (DLManagedTensor* one : {tensor, kept}) delete_dlpack(one);
  refused(levin_array_of_dlpack(nullptr, &of_kept), "is null");
}

TEST_CASE("A model is a differentiable function") {
  levin_model* model = new_model();
  const torch::Tensor input = torch::randn({5, 3});
  const levin_array array = array_of(input);
  levin_call* call = nullptr;
  ok(levin_model_call(model, nullptr, &array, 1, LEVIN_INPUT_GRADIENTS | LEVIN_WEIGHT_GRADIENTS, &call));
  levin_array output = LEVIN_INIT(levin_array);
  ok(levin_call_output(call, 0, &output));
  const torch::Tensor direction = torch::randn({5, 2});
  const levin_array gradient = array_of(direction);
  refused(levin_call_input_gradient(call, 0, &output), "no backward yet");
  ok(levin_call_backward(call, &gradient, 1));
  levin_array of_input = LEVIN_INIT(levin_array);
  ok(levin_call_input_gradient(call, 0, &of_input));
  const torch::Tensor found = tensor_of_result(of_input);
  // The same by LibTorch's autograd, from the model's weights.
  const torch::Tensor weights = torch::zeros({50});
  const levin_array of_weights = array_of(weights);
  ok(levin_model_get_weights(model, &of_weights));
  const std::vector<torch::Tensor> parts = weights.split_with_sizes({24, 8, 16, 2});
  const torch::Tensor leaf = input.clone().requires_grad_();
  const torch::Tensor hidden = torch::relu(torch::linear(leaf, parts[0].view({8, 3}), parts[1]));
  torch::linear(hidden, parts[2].view({2, 8}), parts[3]).backward(direction);
  CHECK(torch::allclose(found, leaf.grad()));
  size_t count = 0;
  ok(levin_call_weight_gradient_count(call, &count));
  CHECK(count == 4);
  levin_array of_weight = LEVIN_INIT(levin_array);
  ok(levin_call_weight_gradient(call, 3, &of_weight));
  CHECK(std::string(of_weight.name) == "net.layers.2.bias");
  CHECK(torch::allclose(tensor_of_result(of_weight), direction.sum(0)));
  refused(levin_call_backward(call, &gradient, 1), "has had its backward");
  levin_call_destroy(call);
  refused(levin_call_output(call, 0, &output), "was destroyed");
  levin_model_destroy(model);
}

TEST_CASE("Weights travel as one array, and their mean is weighted") {
  levin_model* model = new_model();
  int64_t size = 0;
  ok(levin_model_weights_size(model, &size));
  CHECK(size == 3 * 8 + 8 + 8 * 2 + 2);
  const torch::Tensor first = torch::randn({size}), second = torch::randn({size}), mean = torch::zeros({size});
  const levin_array arrays[] = {array_of(first), array_of(second)}, result = array_of(mean);
  const double weights[] = {3, 1};
  ok(levin_mean(arrays, weights, 2, &result));
  CHECK(torch::allclose(mean, 0.75 * first + 0.25 * second));
  ok(levin_model_set_weights(model, &result));
  const torch::Tensor read = torch::zeros({size});
  const levin_array back = array_of(read);
  ok(levin_model_get_weights(model, &back));
  CHECK(torch::equal(read, mean));
  levin_array weight = LEVIN_INIT(levin_array);
  ok(levin_model_weight(model, 0, &weight));
  CHECK(std::string(weight.name) == "net.layers.0.weight");
  CHECK(torch::equal(tensor_of_result(weight).view({24}), mean.slice(0, 0, 24)));
  const torch::Tensor small = torch::zeros({3});
  const levin_array wrong = array_of(small);
  refused(levin_model_set_weights(model, &wrong), "expected [50]");
  const double none[] = {0, 0};
  refused(levin_mean(arrays, none, 2, &result), "add up to 0");
  levin_model_destroy(model);
}

TEST_CASE("A session tells metrics, keeps host states and buffers, and follows requests") {
  const TemporaryFolder folder;
  const std::string checkpoint = (folder / "a.ckpt").string();
  struct Host {
    std::string bytes = "", loaded = "";
    std::vector<std::string> logged = {};
  } host;
  host.bytes = std::string("solver\0state", 12);
  levin_log_sink sink = LEVIN_INIT(levin_log_sink);
  sink.context = &host;
  sink.log = [](void* context, const char* name, double value, int64_t, int64_t) {
    CHECK(std::isfinite(value));
    static_cast<Host*>(context)->logged.emplace_back(name);
  };
  levin_host_state state = LEVIN_INIT(levin_host_state);
  state.context = &host;
  state.save = [](void* context, levin_state_writer* writer) {
    const std::string& bytes = static_cast<Host*>(context)->bytes;
    return levin_state_write(writer, bytes.data(), bytes.size());
  };
  state.load = [](void* context, const void* bytes, size_t size) -> levin_status {
    static_cast<Host*>(context)->loaded.assign(static_cast<const char*>(bytes), size);
    return LEVIN_OK;
  };
  levin_replay_options replay_options = LEVIN_INIT(levin_replay_options);
  replay_options.capacity = 100;
  levin_replay *replay = nullptr, *other = nullptr;
  ok(levin_replay_create(&replay_options, &replay));
  ok(levin_replay_create(&replay_options, &other));
  const torch::Tensor states = torch::randn({20, 3}), rewards = torch::randn({20});
  const levin_array transitions[] = {array_of(states, "state"), array_of(rewards, "reward")};
  ok(levin_replay_add(replay, transitions, 2, 0));

  const levin_config config = config_of(kConfig.c_str());
  levin_session_options options = LEVIN_INIT(levin_session_options);
  options.config = &config;
  options.log_sink = &sink;
  levin_session* session = nullptr;
  ok(levin_session_start(&options, &session));
  ok(levin_session_register_state(session, "solver", &state));
  ok(levin_session_register_replay(session, "replay", replay));
  refused(levin_session_register_state(session, "solver", &state), "there is a state");
  const torch::Tensor input = torch::randn({4, 3}), target = torch::randn({4, 2});
  for (int i = 0; i < 6; ++i) step(session, input, target);
  ok(levin_session_log(session, "residual", 0.25));
  for (int i = 0; i < 2; ++i) step(session, input, target);
  CHECK(std::ranges::count(host.logged, "train_loss") >= 3);
  CHECK(std::ranges::count(host.logged, "residual") == 1);
  double value = 0;
  ok(levin_session_metric(session, "residual", &value));
  CHECK(value == 0.25);
  refused(levin_session_metric(session, "absent", &value), "no metric absent");
  const char* names = nullptr;
  ok(levin_session_metrics(session, &names));
  CHECK(std::string(names).find("train_loss\n") != std::string::npos);
  ok(levin_session_rate(session, 0, 0, &value));
  CHECK(value == Approx(1e-3));
  ok(levin_session_set_rate(session, 0, 0.5));
  ok(levin_session_rate(session, 0, 0, &value));
  CHECK(value == 0.5);
  refused(levin_session_rate(session, 1, 0, &value), "optimizer");
  ok(levin_session_save(session, checkpoint.c_str()));
  levin_session_state now = LEVIN_INIT(levin_session_state);
  ok(levin_session_get_state(session, &now));
  CHECK(now.batches == 8);
  CHECK(now.samples == 32);
  ok(levin_session_request_stop(session, "enough"));
  int32_t wanted = 1;
  ok(levin_session_next(session, &wanted));
  CHECK(wanted == 0);
  levin_result result = LEVIN_INIT(levin_result);
  ok(levin_session_finish(session, &result));
  CHECK(result.stopped == 1);
  CHECK(result.steps == 8);
  CHECK(result.non_finite_step == -1);
  refused(levin_session_step(session, nullptr, 0, nullptr), "is finished");
  levin_session_destroy(session);

  ok(levin_replay_sample(replay, 4));
  levin_session* resumed = start(kConfig, checkpoint);
  ok(levin_session_register_state(resumed, "solver", &state));
  CHECK(host.loaded == host.bytes);
  ok(levin_session_register_replay(resumed, "replay", other));
  ok(levin_replay_sample(other, 4));
  for (size_t place = 0; place < 5; ++place) {
    levin_array one = LEVIN_INIT(levin_array), two = LEVIN_INIT(levin_array);
    ok(levin_replay_drawn(replay, place, &one));
    ok(levin_replay_drawn(other, place, &two));
    CHECK(std::string(one.name) == two.name);
    CHECK(torch::equal(tensor_of_result(one), tensor_of_result(two)));
  }
  levin_session_destroy(resumed);
  levin_replay_destroy(replay);
  levin_replay_destroy(other);
}

TEST_CASE("Readers in other threads see published weights, whole ones, while a session trains") {
  levin_session* session = start(kConfig);
  const torch::Tensor input = torch::randn({4, 3}), target = torch::randn({4, 2});
  step(session, input, target);
  ok(levin_session_publish(session));
  std::atomic<bool> is_over = false;
  std::atomic<int64_t> newest = -1;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      levin_reader* reader = nullptr;
      if (levin_reader_create(session, &reader) != LEVIN_OK) return;
      const levin_array array = array_of(input);
      while (!is_over) {
        int64_t at = -1;
        levin_array result = LEVIN_INIT(levin_array);
        if (levin_reader_update(reader, &at) != LEVIN_OK ||
            levin_reader_run(reader, "forward", &array, 1) != LEVIN_OK ||
            levin_reader_result(reader, 0, &result) != LEVIN_OK || result.rank != 2)
          return;
        newest = std::max<int64_t>(newest, at);
      }
      levin_reader_destroy(reader);
    });
  }
  for (int i = 0; i < 200; ++i) {
    step(session, input, target);
    ok(levin_session_publish(session));
  }
  while (newest < 100) std::this_thread::yield();
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  levin_reader* reader = nullptr;
  ok(levin_reader_create(session, &reader));
  int64_t at = -1;
  ok(levin_reader_update(reader, &at));
  CHECK(at == 201);
  levin_session_destroy(session);
  ok(levin_reader_update(reader, &at));  // which may outlive it
  CHECK(at == 201);
  levin_reader_destroy(reader);
}

TEST_CASE("A rollout buffer gives minibatches with advantages") {
  levin_rollout_options options = LEVIN_INIT(levin_rollout_options);
  options.steps = 4;
  options.environments = 2;
  options.batch_size = 4;
  options.passes = 2;
  levin_rollout* rollout = nullptr;
  ok(levin_rollout_create(&options, &rollout));
  int32_t drawn = 1, full = 0;
  ok(levin_rollout_next(rollout, &drawn));
  CHECK(drawn == 0);
  while (!full) {
    const torch::Tensor state = torch::randn({2, 3}), reward = torch::ones({2}), value = torch::zeros({2}),
                        terminated = torch::zeros({2}, torch::kBool);
    const levin_array arrays[] = {array_of(state, "state"), array_of(reward, "reward"), array_of(value, "value"),
                                  array_of(terminated, "terminated")};
    ok(levin_rollout_add(rollout, arrays, 4, 0));
    ok(levin_rollout_is_full(rollout, &full));
  }
  const torch::Tensor last = torch::zeros({2});
  const levin_array values = array_of(last);
  ok(levin_rollout_finish(rollout, &values));
  int minibatches = 0;
  for (ok(levin_rollout_next(rollout, &drawn)); drawn; ok(levin_rollout_next(rollout, &drawn))) {
    size_t count = 0;
    ok(levin_rollout_drawn_count(rollout, &count));
    levin_array advantages = LEVIN_INIT(levin_array);
    ok(levin_rollout_drawn(rollout, count - 2, &advantages));
    CHECK(std::string(advantages.name) == "advantages");
    CHECK(advantages.shape[0] == 4);
    ++minibatches;
  }
  CHECK(minibatches == 4);
  levin_rollout_destroy(rollout);
}

TEST_CASE("Wrong calls are refused, each with what is wrong, and change nothing") {
  CHECK(levin_abi_version() == LEVIN_ABI_VERSION);
  CHECK(std::string(levin_build()).find(levin_version()) != std::string::npos);
  levin_device device = LEVIN_INIT(levin_device);
  ok(levin_device_info(0, &device));
  CHECK(std::string(device.name) == "CPU");
  refused(levin_device_info(levin_device_count(), &device), "there is no device");
  device.struct_size = 0;
  refused(levin_device_info(0, &device), "struct_size");

  levin_model* model = nullptr;
  refused(levin_model_create(nullptr, nullptr, &model), "the config is null");
  levin_config config = config_of(R"({"model": {"class": "MLPRegresor"}})");
  refused(levin_model_create(&config, nullptr, &model), "did you mean MLPRegressor");
  CHECK(model == nullptr);
  config = config_of("{");
  refused(levin_model_create(&config, nullptr, &model), "config:1");
  config = config_of(kConfig.c_str());
  const char* const option[] = {"model.hiden=[3]"};
  config.options = option;
  config.option_count = 1;
  refused(levin_model_create(&config, nullptr, &model), "did you mean hidden");
  const char* const no_value[] = {"model.hidden"};
  config.options = no_value;
  refused(levin_model_create(&config, nullptr, &model), "path=value");
  config.option_count = 0;
  config.file = "absent.json";
  refused(levin_model_create(&config, nullptr, &model), "absent.json");
  config.file = nullptr;
  refused(levin_model_create(&config, "absent.pt", &model), "absent.pt");

  model = new_model();
  refused(levin_model_run(model, "backwards", nullptr, 0), "it has predict_step, forward");
  const torch::Tensor input = torch::randn({4, 3});
  levin_array array = array_of(input);
  array.rank = 99;
  refused(levin_model_run(model, nullptr, &array, 1), "the rank 99");
  array = array_of(input);
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  array.shape = huge;
  array.strides = nullptr;
  refused(levin_model_run(model, nullptr, &array, 1), "beyond all memory");
  array = array_of(input);
  array.dtype = 77;
  refused(levin_model_run(model, nullptr, &array, 1), "the dtype 77");
  array = array_of(input);
  array.data = nullptr;
  refused(levin_model_run(model, nullptr, &array, 1), "data is null");
  refused(levin_model_run(model, nullptr, nullptr, 1), "the arrays is null");
  array = array_of(input);
  const levin_array twice[] = {array_of(input, "input"), array_of(input, "input")};
  refused(levin_model_run(model, nullptr, twice, 2), "two arrays have the name input");
  levin_array result = LEVIN_INIT(levin_array);
  refused(levin_model_result(model, 0, &result), "there are 0");
  ok(levin_model_run(model, nullptr, &array, 1));
  refused(levin_model_result(model, 1, &result), "there are 1");
  refused(levin_model_input(model, 1, &result), "there is no array 1");
  levin_session* session = nullptr;
  int32_t wanted = 0;
  refused(levin_session_next(session, &wanted), "it is null");
  refused(levin_session_next(reinterpret_cast<levin_session*>(model), &wanted), "not that of a session");
  levin_model_destroy(model);
  refused(levin_model_run(model, nullptr, &array, 1), "was destroyed");
  levin_model_destroy(model);
  levin_model_destroy(nullptr);

  session = start(kConfig);
  const torch::Tensor narrow = torch::randn({4, 2});
  const levin_array arrays[] = {array_of(narrow), array_of(narrow)};
  ok(levin_session_next(session, &wanted));
  refused(levin_session_step(session, arrays, 2, nullptr), "3");
  refused(levin_session_step(session, arrays, 2, nullptr), "ended by an exception");
  levin_session_destroy(session);
  config = config_of(R"({"trainer": {"max_step": 3}, "model": {"class": "MLPRegressor", "features": 3}})");
  levin_session_options options = LEVIN_INIT(levin_session_options);
  refused(levin_session_start(&options, &session), "options.config is null");
  options.config = &config;
  refused(levin_session_start(&options, &session), "did you mean max_steps");
  CHECK(session == nullptr);
}

TEST_CASE("A failing function of the host ends the call, and the session says so") {
  levin_session* session = start(kConfig);
  const auto failing = [](void*, levin_session*, double*) -> levin_status { return LEVIN_FAILED; };
  int32_t wanted = 0;
  ok(levin_session_next(session, &wanted));
  refused(levin_session_step_loss(session, failing, nullptr, nullptr), "returned the status 2", LEVIN_FAILED);
  refused(levin_session_step(session, nullptr, 0, nullptr), "ended by an exception");
  levin_session_destroy(session);
}

TEST_CASE("A session without what a config turns on writes no file") {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  levin_session* session = start(kConfig);
  const torch::Tensor input = torch::randn({4, 3}), target = torch::randn({4, 2});
  for (int i = 0; i < 5; ++i) step(session, input, target);
  ok(levin_session_finish(session, nullptr));
  levin_session_destroy(session);
  CHECK(std::filesystem::is_empty(folder.path()));
  std::filesystem::current_path(before);
}
