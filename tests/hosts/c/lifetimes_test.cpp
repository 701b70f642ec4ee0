// Sessions, readers and arrays of the C interface that end, wait or share memory while something else uses them.
#include <ATen/CPUGeneratorImpl.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "tests/hosts/c/host_arrays.h"
#include "tests/temporary_folder.h"

namespace {

std::string config(const std::string& trainer = "", const std::string& optimizer = "Adam") {
  return R"({"seed": 3, "trainer": {"accelerator": "cpu", "max_epochs": -1)" + trainer +
         R"(}, "model": {"class": "MLPRegressor", "features": 3, "hidden": [8], "outputs": 2,
          "optimizer": {"class": ")" +
         optimizer + R"(", "lr": 1.0}}})";
}

/// Trains one batch and returns the status.
levin_status step(levin_session* session) {
  const torch::Tensor input = torch::ones({4, 3}), target = torch::ones({4, 2});
  const levin_array arrays[] = {array_of(input), array_of(target)};
  return levin_session_step(session, arrays, 2, nullptr);
}

/// Sets all weights of a session's model to a number.
void set_weights(levin_session* session, double value) {
  levin_model* model = nullptr;
  ok(levin_session_model(session, &model));
  int64_t size = 0;
  ok(levin_model_weights_size(model, &size));
  const torch::Tensor flat = torch::full({size}, value, torch::kDouble);
  const levin_array array = array_of(flat);
  ok(levin_model_set_weights(model, &array));
  levin_model_destroy(model);
}

/// Returns the result for an input of ones.
torch::Tensor result_of(levin_reader* reader) {
  const torch::Tensor input = torch::ones({1, 3});
  const levin_array array = array_of(input);
  ok(levin_reader_run(reader, nullptr, &array, 1));
  levin_array result = LEVIN_INIT(levin_array);
  ok(levin_reader_result(reader, 0, &result));
  return tensor_of_result(result);
}

/// Trains on a loss whose gradient is `gradient` with respect to each output; returns the loss that the session tells.
double step_on(levin_session* session, double loss, float gradient) {
  const torch::Tensor input = torch::ones({4, 3}), gradients = torch::full({4, 2}, gradient);
  const levin_array of_input = array_of(input), of_outputs = array_of(gradients);
  levin_call* call = nullptr;
  ok(levin_session_call(session, nullptr, &of_input, 1, 0, &call));
  ok(levin_call_backward(call, &of_outputs, 1));
  ok(levin_session_step_calls(session, loss, &call, 1, nullptr));
  levin_call_destroy(call);
  double told = 0;
  ok(levin_session_loss(session, &told));
  return told;
}

}  // namespace

TEST_CASE("Arrays that share memory are copied as if they did not") {
  const torch::Tensor line = torch::arange(40, torch::kFloat), first = line.slice(0, 0, 30),
                      last = line.slice(0, 5, 35);
  const torch::Tensor expected = first.clone();
  const levin_array from = array_of(first), to = array_of(last);
  ok(levin_array_copy(&from, &to));
  CHECK(torch::equal(last, expected));
  const torch::Tensor square = torch::arange(36, torch::kFloat).view({6, 6}), turned = square.t();
  const torch::Tensor transposed = turned.clone();
  const levin_array of_turned = array_of(turned), of_square = array_of(square);
  ok(levin_array_copy(&of_turned, &of_square));
  CHECK(torch::equal(square, transposed));
}

TEST_CASE("A mean leaves out what has the weight 0, and refuses what would be no mean") {
  const torch::Tensor lost = torch::full({3}, std::nan("")), kept = torch::tensor({1.5, 2.5, 3.5}, torch::kDouble);
  const torch::Tensor mean = torch::zeros({3}, torch::kDouble), whole = torch::zeros({3}, torch::kInt);
  const levin_array arrays[] = {array_of(lost), array_of(kept)}, result = array_of(mean), of_whole = array_of(whole);
  const double one[] = {0, 2}, large[] = {1e308, 1e308}, infinite[] = {1, INFINITY};
  ok(levin_mean(arrays, one, 2, &result));
  CHECK(torch::equal(mean, kept));
  refused(levin_mean(arrays, one, 2, &of_whole), "not of real numbers");
  refused(levin_mean(arrays, large, 2, &result), "add up to inf");
  refused(levin_mean(arrays, infinite, 2, &result), "expected a finite number");
  CHECK(torch::equal(mean, kept));
}

TEST_CASE("A loss of the host's is told as it was given, however large the outputs are") {
  levin_session* session = start(config());
  set_weights(session, 100);
  CHECK(step_on(session, 1e-4, 1.0F) == static_cast<double>(1e-4F));
  CHECK(step_on(session, 0.5, 1e5F) == 0.5);
  levin_session_destroy(session);
}

TEST_CASE("Calls that cannot make a step are refused, and the session continues") {
  levin_session* session = start(config());
  const torch::Tensor input = torch::ones({4, 3}), gradients = torch::ones({4, 2});
  const levin_array of_input = array_of(input), of_outputs = array_of(gradients);
  levin_array none = LEVIN_INIT(levin_array);
  levin_call *call = nullptr, *idle = nullptr;
  refused(levin_session_step_calls(session, 1, nullptr, 0, nullptr), "the calls have no gradient");
  ok(levin_session_call(session, nullptr, &of_input, 1, 0, &call));
  refused(levin_session_step_calls(session, 1, &call, 1, nullptr), "has had no backward");
  ok(levin_session_call(session, nullptr, &of_input, 1, 0, &idle));
  ok(levin_call_backward(idle, &none, 1));
  refused(levin_session_step_calls(session, 1, &idle, 1, nullptr), "the calls have no gradient");
  ok(levin_call_backward(call, &of_outputs, 1));
  levin_call* const twice[] = {call, call};
  refused(levin_session_step_calls(session, 1, twice, 2, nullptr), "is twice among");
  ok(levin_session_step_calls(session, 1, &call, 1, nullptr));
  refused(levin_session_step_calls(session, 1, &call, 1, nullptr), "was used for a step already");
  ok(step(session));
  levin_call_destroy(idle);
  levin_call_destroy(call);
  levin_session_destroy(session);
}

TEST_CASE("Gradients that 16 bits cannot hold reach the weights under 16-mixed, as the loss is scaled first") {
  constexpr float kGradient = 3.3e-8F;  // float16 has 6e-8 and nothing below
  torch::Tensor changes[2];
  for (const bool is_mixed : {false, true}) {
    levin_session* session = start(config(is_mixed ? R"(, "precision": "16-mixed")" : "", "SGD"));
    set_weights(session, 0);
    step_on(session, 1, kGradient);
    changes[is_mixed ? 1 : 0] = weights_of(session);
    levin_session_destroy(session);
  }
  CHECK(changes[0][-1].item<double>() == Approx(-4 * kGradient));
  CHECK(torch::allclose(changes[1], changes[0], 1e-3, 0));
}

TEST_CASE("Readers take weights that are published again at the same step, and the last ones after the session's end") {
  levin_session* session = start(config());
  ok(step(session));
  ok(levin_session_publish(session));
  const torch::Tensor numbers = at::detail::getDefaultCPUGenerator().get_state();
  levin_reader* reader = nullptr;
  ok(levin_reader_create(session, &reader));
  CHECK(torch::equal(at::detail::getDefaultCPUGenerator().get_state(), numbers));
  int64_t at = 0;
  ok(levin_reader_update(reader, &at));
  CHECK(at == 1);
  set_weights(session, 0);
  ok(levin_session_publish(session));
  ok(levin_reader_update(reader, &at));
  CHECK(at == 1);
  CHECK(torch::equal(result_of(reader), torch::zeros({1, 2})));
  ok(step(session));
  set_weights(session, 1);
  ok(levin_session_publish(session));
  levin_session_destroy(session);
  for (int i = 0; i < 2; ++i) {
    ok(levin_reader_update(reader, &at));
    CHECK(at == 2);
    CHECK(torch::equal(result_of(reader), torch::full({1, 2}, 8 * 4 + 1.0F)));
  }
  levin_reader_destroy(reader);
}

TEST_CASE("Weights that are set between steps stay set where an optimizer steps copies of them") {
  levin_session* session = start(config(R"(, "precision": "16-mixed", "amp_level": "O2")", "SGD"));
  ok(step(session));
  set_weights(session, 0);
  ok(levin_session_set_rate(session, 0, 0));
  ok(step(session));
  CHECK(torch::equal(weights_of(session), torch::zeros_like(weights_of(session))));
  levin_session_destroy(session);
}

TEST_CASE("A fit over sources validates when the config says so") {
  struct Counts {
    int64_t batches, validations = 0;
  };
  const auto next = [](void* context, int64_t /*epoch*/, int64_t batch, levin_array* arrays, size_t /*capacity*/,
                       size_t* count) -> levin_status {
    static const torch::Tensor input = torch::ones({4, 3}), target = torch::ones({4, 2});
    auto* const counts = static_cast<Counts*>(context);
    if (batch == counts->batches) {
      ++counts->validations;
      return LEVIN_OK;
    }
    arrays[0] = array_of(input);
    arrays[1] = array_of(target);
    *count = 2;
    return LEVIN_OK;
  };
  const auto validations = [&](const std::string& options) {
    Counts of_train{.batches = 4}, of_validation{.batches = 1};
    levin_source train = LEVIN_INIT(levin_source), validation = LEVIN_INIT(levin_source);
    train.context = &of_train;
    validation.context = &of_validation;
    train.next = validation.next = next;
    levin_session* session = start(R"({"seed": 3, "trainer": {"accelerator": "cpu", "max_epochs": 4)" + options +
                                   R"(}, "model": {"class": "MLPRegressor", "features": 3, "outputs": 2}})");
    ok(levin_session_fit(session, &train, &validation));
    levin_session_destroy(session);
    return of_validation.validations;
  };
  CHECK(validations("") == 4);
  CHECK(validations(R"(, "check_val_every_n_epoch": 2)") == 2);
  CHECK(validations(R"(, "val_check_interval": 2)") == 8);
  CHECK(validations(R"(, "val_check_interval": 3, "check_val_every_n_epoch": null)") == 5);
  CHECK(validations(R"(, "limit_val_batches": 0)") == 0);
}

TEST_CASE("A reader computes in the dtype of the session's model") {
  levin_session* session = start(config(R"(, "precision": "64-true")"));
  ok(step(session));
  ok(levin_session_publish(session));
  levin_reader* reader = nullptr;
  ok(levin_reader_create(session, &reader));
  ok(levin_reader_update(reader, nullptr));
  levin_model* model = nullptr;
  ok(levin_session_model(session, &model));
  const torch::Tensor input = torch::ones({1, 3});
  const levin_array array = array_of(input);
  ok(levin_model_run(model, nullptr, &array, 1));
  levin_array result = LEVIN_INIT(levin_array);
  ok(levin_model_result(model, 0, &result));
  CHECK(result.dtype == LEVIN_FLOAT64);
  CHECK(torch::equal(result_of(reader), tensor_of_result(result)));
  levin_model_destroy(model);
  levin_reader_destroy(reader);
  levin_session_destroy(session);
}

TEST_CASE("A state of the host's that a resumed session does not register is warned of") {
  const TemporaryFolder folder;
  const std::string checkpoint = (folder / "a.ckpt").string();
  levin_host_state state = LEVIN_INIT(levin_host_state);
  state.save = [](void* /*context*/, levin_state_writer* writer) { return levin_state_write(writer, "x", 1); };
  state.load = [](void* /*context*/, const void* /*bytes*/, size_t /*size*/) -> levin_status { return LEVIN_OK; };
  levin_session* session = start(config());
  for (const char* const name : {"kept", "lost"}) ok(levin_session_register_state(session, name, &state));
  ok(step(session));
  ok(levin_session_save(session, checkpoint.c_str()));
  levin_session_destroy(session);
  session = start(config(), checkpoint);
  ok(levin_session_register_state(session, "kept", &state));
  for (int i = 0; i < 2; ++i) ok(step(session));
  const char* lines = nullptr;
  ok(levin_session_warnings(session, &lines));
  CHECK(std::string(lines) ==
        "the checkpoint has the host's state \"lost\", which this session did not register: the next checkpoints lack "
        "it\n");
  levin_session_destroy(session);
}

TEST_CASE("A step that waits for a resume is refused when another thread finishes or destroys the session") {
  for (const bool is_destroyed : {false, true}) {
    levin_session* session = start(config());
    ok(step(session));
    ok(levin_session_pause(session));
    std::atomic<bool> is_in_step = false;
    levin_status status = LEVIN_OK;
    std::string text;
    std::thread trains([&] {
      is_in_step = true;
      status = step(session);
      text = levin_error();
    });
    while (!is_in_step) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it waits by now, or will be refused at once
    if (is_destroyed) {
      levin_session_destroy(session);
    } else {
      const torch::Tensor before = weights_of(session);
      ok(levin_session_finish(session, nullptr));
      trains.join();
      CHECK(torch::equal(weights_of(session), before));
      levin_session_destroy(session);
    }
    if (trains.joinable()) trains.join();
    CHECK(status == LEVIN_INVALID);
    CHECK(text.find(is_destroyed ? "" : "is finished") != std::string::npos);
  }
}
