// Calls of the C interface at random, right and wrong: handles that live, were destroyed or never were, shapes,
// strides, nulls and several threads. Each call must return a status; the end of the program without a crash is the
// test.
//
//   call_fuzz CALLS [SEED [THREADS]]
#include <levin/c_api.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/hosts/c/delete_dlpack.h"

namespace {

constexpr const char* kConfigs[] = {
    R"({"seed": 1, "trainer": {"accelerator": "cpu", "max_epochs": -1},
        "model": {"class": "MLPRegressor", "features": 2, "hidden": [4]}})",
    R"({"trainer": {"accelerator": "cpu", "max_steps": 5, "accumulate_grad_batches": 2},
        "model": {"class": "MLPClassifier", "features": 2, "num_classes": 3, "hidden": [4]}})",
    R"({"model": {"class": "MLPRegressor"}})",
    R"({"model": {}})",
    "[",
    "",
    R"({"trainer": {"max_steps": "many"}})"};

/// One thread's handles and memory.
class Caller {
 public:
  explicit Caller(uint64_t seed) : draw_(seed) {
    for (auto& number : memory_) number = static_cast<double>(below(7)) - 3;
  }

  /// Makes one call; returns its status.
  levin_status call() {
    switch (below(54)) {
      case 0: {
        const levin_config config = this->config();
        levin_model* made = nullptr;
        const levin_status status =
            levin_model_create(below(9) ? &config : nullptr, nullptr, below(9) ? &made : nullptr);
        return keep(models_, made, status);
      }
      case 1:
        levin_model_destroy(model());
        return LEVIN_OK;
      case 2:
      case 3:
      case 4:
        return levin_model_run(model(), function(), arrays(), count());
      case 5: {
        levin_array array = out();
        if (below(4) == 0) {
          size_t known = 0;
          return below(2) ? levin_model_input_count(model(), below(9) ? &known : nullptr)
                          : levin_model_output_count(model(), &known);
        }
        if (below(3) == 0)
          return below(2) ? levin_model_input(model(), below(3), &array)
                          : levin_model_output(model(), below(2), &array);
        return levin_model_result(model(), below(3), &array);
      }
      case 6: {
        levin_array array = out();
        return levin_model_weight(model(), below(6), &array);
      }
      case 7: {
        const levin_array flat = array();
        return levin_model_get_weights(model(), &flat);
      }
      case 8: {
        const levin_array flat = array();
        return levin_model_set_weights(model(), &flat);
      }
      case 9: {
        const levin_array mean = array();
        return levin_mean(arrays(), nullptr, count(), &mean);
      }
      case 10:
      case 11: {
        levin_call* made = nullptr;
        const levin_status status = levin_model_call(model(), function(), arrays(), count(), wanted(), &made);
        return keep(calls_, made, status);
      }
      case 12:
      case 13:
        return levin_call_backward(a_call(), arrays(), below(3));
      case 14: {
        levin_array array = out();
        return levin_call_output(a_call(), below(2), &array);
      }
      case 15: {
        levin_array array = out();
        return levin_call_input_gradient(a_call(), below(2), &array);
      }
      case 16:
        levin_call_destroy(a_call());
        return LEVIN_OK;
      case 17: {
        const levin_config config = this->config();
        levin_session_options options = LEVIN_INIT(levin_session_options);
        options.config = &config;
        if (below(3) == 0) options.model = model();
        if (below(20) == 0) options.ckpt_path = "absent.ckpt";
        options.batches_per_epoch = static_cast<int64_t>(below(4)) - 1;
        levin_session* made = nullptr;
        const levin_status status = levin_session_start(&options, &made);
        return keep(sessions_, made, status);
      }
      case 18:
        levin_session_destroy(session());
        return LEVIN_OK;
      case 19:
      case 20: {
        int32_t wanted = 0;
        return levin_session_next(session(), below(20) ? &wanted : nullptr);
      }
      case 21:
      case 22:
      case 23:
      case 24: {
        levin_step_result result = LEVIN_INIT(levin_step_result);
        if (below(20) == 0) result.struct_size = below(9);
        return levin_session_step(session(), arrays(), count(), below(3) ? &result : nullptr);
      }
      case 25: {
        levin_call* made = nullptr;
        const levin_status status = levin_session_call(session(), function(), arrays(), count(), wanted(), &made);
        return keep(calls_, made, status);
      }
      case 26: {
        levin_call* const calls[] = {a_call(), a_call()};
        return levin_session_step_calls(session(), 1, calls, below(3), nullptr);
      }
      case 27: {
        const auto loss = [](void* context, levin_session* session, double* value) -> levin_status {
          Caller& caller = *static_cast<Caller*>(context);
          levin_call* made = nullptr;
          const levin_array* const inputs = caller.arrays();
          levin_status status = levin_session_call(session, nullptr, inputs, caller.count(), caller.wanted(), &made);
          if (status == LEVIN_OK) status = levin_call_backward(made, caller.arrays(), 1);
          levin_call_destroy(made);
          *value = 1;
          return caller.below(9) ? status : 77;
        };
        return levin_session_step_loss(session(), below(9) ? +loss : nullptr, this, nullptr);
      }
      case 28: {
        double loss = 0;
        return levin_session_loss(session(), &loss);
      }
      case 29:
        return levin_session_end_epoch(session());
      case 30:
        return levin_session_log(session(), below(9) ? "own" : nullptr, 1.5);
      case 31: {
        levin_session_state state = LEVIN_INIT(levin_session_state);
        return levin_session_get_state(session(), &state);
      }
      case 32: {
        double value = 0;
        return below(2) ? levin_session_metric(session(), below(2) ? "train_loss" : nullptr, &value)
                        : levin_session_rate(session(), static_cast<int32_t>(below(3)) - 1, 0, &value);
      }
      case 33: {
        const char* text = nullptr;
        return below(2) ? levin_session_metrics(session(), &text) : levin_session_warnings(session(), &text);
      }
      case 34:
        return below(30) ? levin_session_request_save(nullptr, nullptr)
                         : levin_session_request_stop(session(), nullptr);
      case 35:
        return levin_session_publish(session());
      case 36: {
        levin_reader* made = nullptr;
        const levin_status status = levin_reader_create(session(), &made);
        return keep(readers_, made, status);
      }
      case 37: {
        int64_t step = 0;
        return levin_reader_update(reader(), below(2) ? &step : nullptr);
      }
      case 38:
        return levin_reader_run(reader(), function(), arrays(), count());
      case 39:
        levin_reader_destroy(reader());
        return LEVIN_OK;
      case 40: {
        const levin_array from = array(), to = array();
        return levin_array_copy(&from, &to);
      }
      case 41: {
        levin_model* made = nullptr;
        const levin_status status = levin_session_model(session(), &made);
        return keep(models_, made, status);
      }
      case 42: {
        levin_source source = LEVIN_INIT(levin_source);
        source.context = this;
        source.next = [](void* context, int64_t, int64_t batch, levin_array* arrays, size_t capacity, size_t* count) {
          Caller& caller = *static_cast<Caller*>(context);
          if (batch > 2) return levin_status{LEVIN_OK};
          const size_t given = caller.count();
          if (caller.below(15) == 0) return levin_status{9};
          for (size_t i = 0; i < given && i < capacity; ++i) arrays[i] = caller.array();
          *count = given;
          return levin_status{LEVIN_OK};
        };
        return levin_session_validate(session(), &source);
      }
      case 43: {
        levin_replay_options options = LEVIN_INIT(levin_replay_options);
        options.capacity = static_cast<int64_t>(below(50)) - 2;
        options.n_step = static_cast<int64_t>(below(3));
        options.prioritized = static_cast<int32_t>(below(2));
        levin_replay* made = nullptr;
        const levin_status status = levin_replay_create(&options, &made);
        return keep(replays_, made, status);
      }
      case 44:
      case 45:
        return levin_replay_add(replay(), arrays(), count(), static_cast<int64_t>(below(4)) - 1);
      case 46: {
        levin_array array = out();
        const levin_status status = levin_replay_sample(replay(), static_cast<int64_t>(below(8)) - 1);
        return status == LEVIN_OK ? levin_replay_drawn(replay(), below(7), &array) : status;
      }
      case 47: {
        const levin_array indices = array(1), priorities = array();
        return levin_replay_set_priorities(replay(), &indices, &priorities);
      }
      case 48:
        return levin_session_register_replay(session(), below(3) ? "replay" : nullptr, replay());
      case 49: {
        levin_rollout_options options = LEVIN_INIT(levin_rollout_options);
        options.steps = static_cast<int64_t>(below(5)) - 1;
        options.environments = static_cast<int64_t>(below(4)) - 1;
        levin_rollout* made = nullptr;
        const levin_status status = levin_rollout_create(&options, &made);
        return keep(rollouts_, made, status);
      }
      case 50:
        return levin_rollout_add(rollout(), arrays(), count(), static_cast<int64_t>(below(3)));
      case 51: {
        const levin_array values = array();
        int32_t drawn = 0;
        return below(2) ? levin_rollout_finish(rollout(), &values) : levin_rollout_next(rollout(), &drawn);
      }
      case 52: {
        const levin_array given = array();
        DLManagedTensor* tensor = nullptr;
        levin_array back = out();
        const levin_status status = levin_array_to_dlpack(&given, &tensor);
        if (tensor == nullptr) return status;
        const levin_status described = levin_array_of_dlpack(tensor, &back);
        delete_dlpack(tensor);
        return described;
      }
      default: {
        levin_result result = LEVIN_INIT(levin_result);
        return below(20) ? levin_session_set_rate(session(), 0, static_cast<double>(below(3)) - 1)
                         : levin_session_finish(session(), &result);
      }
    }
  }

  void end() {
    for (levin_call* one : calls_) levin_call_destroy(one);
    for (levin_reader* one : readers_) levin_reader_destroy(one);
    for (levin_session* one : sessions_) levin_session_destroy(one);
    for (levin_model* one : models_) levin_model_destroy(one);
    for (levin_replay* one : replays_) levin_replay_destroy(one);
    for (levin_rollout* one : rollouts_) levin_rollout_destroy(one);
  }

 private:
  size_t below(size_t limit) { return draw_() % limit; }

  template <class Handle>
  levin_status keep(std::vector<Handle*>& handles, Handle* made, levin_status status) {
    if ((status == LEVIN_OK) != (made != nullptr) && made != nullptr) std::abort();
    if (made == nullptr) return status;
    if (handles.size() < 6) {
      handles.push_back(made);
    } else {  // the old handle's number stays with the caller, and is destroyed below
      Handle*& place = handles[below(handles.size())];
      stale_.push_back(place);
      destroy(place);
      place = made;
    }
    return status;
  }
  static void destroy(levin_model* one) { levin_model_destroy(one); }
  static void destroy(levin_call* one) { levin_call_destroy(one); }
  static void destroy(levin_session* one) { levin_session_destroy(one); }
  static void destroy(levin_reader* one) { levin_reader_destroy(one); }
  static void destroy(levin_replay* one) { levin_replay_destroy(one); }
  static void destroy(levin_rollout* one) { levin_rollout_destroy(one); }

  template <class Handle>
  Handle* one_of(const std::vector<Handle*>& handles) {
    const size_t kind = below(24);
    if (kind == 0) return nullptr;
    if (kind == 1) return reinterpret_cast<Handle*>(draw_());
    if (kind == 2 && !stale_.empty()) return static_cast<Handle*>(stale_[below(stale_.size())]);
    return handles.empty() ? nullptr : handles[below(handles.size())];
  }
  levin_model* model() { return one_of(models_); }
  levin_call* a_call() { return one_of(calls_); }
  levin_session* session() { return one_of(sessions_); }
  levin_reader* reader() { return one_of(readers_); }
  levin_replay* replay() { return one_of(replays_); }
  levin_rollout* rollout() { return one_of(rollouts_); }

  levin_config config() {
    levin_config config = LEVIN_INIT(levin_config);
    config.text = kConfigs[below(3) ? below(2) : below(std::size(kConfigs))];
    return config;
  }
  const char* function() {
    constexpr const char* kNames[] = {nullptr, nullptr, "predict_step", "forward", "", "absent"};
    return kNames[below(std::size(kNames))];
  }
  size_t count() { return below(9) ? 2 : below(4); }
  int32_t wanted() { return static_cast<int32_t>(below(5)); }

  /// An array inside of the caller's memory, or a description that must be refused.
  levin_array array(size_t place = 0) {
    levin_array array = LEVIN_INIT(levin_array);
    std::array<int64_t, 4>&shape = shapes_[place], &strides = strides_[place];
    array.data = memory_.data() + (below(4) ? 0 : below(memory_.size() / 2));
    array.dtype = place == 1 && below(2) ? LEVIN_INT64 : below(2) ? LEVIN_FLOAT32 : LEVIN_FLOAT64;
    array.rank = 2;
    shape = {static_cast<int64_t>(1 + below(4)), 2, 1, 1};
    if (place == 1) array.rank = below(2) ? 1 : 2;
    if (place == 1 && array.dtype == LEVIN_INT64) {
      for (auto& number : indices_) number = static_cast<int64_t>(below(3));
      array.data = indices_.data();
    }
    if (below(12) == 0) array.rank = static_cast<int32_t>(below(5));
    if (below(12) == 0) shape[below(4)] = static_cast<int64_t>(below(3));
    array.shape = shape.data();
    if (below(3) == 0) {
      strides = {2, 1, 0, 0};
      if (below(4) == 0) strides = {1, 4, 0, 0};
      array.strides = strides.data();
    }
    switch (below(60)) {
      case 0:
        array.data = nullptr;
        break;
      case 1:
        array.rank = static_cast<int32_t>(draw_());
        break;
      case 2:
        array.dtype = static_cast<int32_t>(draw_());
        break;
      case 3:
        array.struct_size = below(20);
        break;
      case 4:
        array.shape = nullptr;
        break;
      case 5:
        shape[0] = -static_cast<int64_t>(below(5));
        break;
      case 6:
        shape[0] = shape[1] = int64_t{1} << 62;  // beyond all memory, whatever the rank
        break;
      case 7:
        array.device_type = static_cast<int32_t>(below(5));
        break;
      case 8:
        array.name = below(2) ? "input" : "own";
        break;
      default:
        break;
    }
    if (array.rank > 4 && array.rank <= 16) array.rank = 4;  // the sizes that there are
    return array;
  }
  levin_array out() {
    levin_array array = LEVIN_INIT(levin_array);
    if (below(30) == 0) array.struct_size = 0;
    return array;
  }
  const levin_array* arrays() {
    for (size_t i = 0; i < arrays_.size(); ++i) arrays_[i] = array(i);
    return below(40) ? arrays_.data() : nullptr;
  }

  std::mt19937_64 draw_;
  std::vector<levin_model*> models_ = {};
  std::vector<levin_call*> calls_ = {};
  std::vector<levin_session*> sessions_ = {};
  std::vector<levin_reader*> readers_ = {};
  std::vector<levin_replay*> replays_ = {};
  std::vector<levin_rollout*> rollouts_ = {};
  std::vector<void*> stale_ = {};
  std::array<double, 64> memory_ = {};
  std::array<int64_t, 64> indices_ = {};
  std::array<std::array<int64_t, 4>, 4> shapes_ = {}, strides_ = {};
  std::array<levin_array, 4> arrays_ = {};
};

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int place, uint64_t by_default) {
    return argc > place ? std::strtoull(argv[place], nullptr, 10) : by_default;
  };
  const uint64_t calls = number(1, 20000), seed = number(2, std::random_device()()), threads = number(3, 2);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  std::vector<std::array<uint64_t, 4>> counts(threads);
  std::vector<std::thread> running;
  for (uint64_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      Caller caller(seed + i);
      for (uint64_t done = 0; done < calls / threads; ++done) {
        const levin_status status = caller.call();
        if (status < LEVIN_OK || status > LEVIN_NO_MEMORY) std::abort();
        if (status != LEVIN_OK && std::string(levin_error()).empty()) std::abort();
        ++counts[i][static_cast<size_t>(status)];
      }
      caller.end();
    });
  }
  for (std::thread& one : running) one.join();
  std::array<uint64_t, 4> all = {};
  for (const auto& of_thread : counts)
    for (size_t i = 0; i < all.size(); ++i) all[i] += of_thread[i];
  std::printf("%llu calls done, %llu refused, %llu failed\n", static_cast<unsigned long long>(all[0]),
              static_cast<unsigned long long>(all[1]), static_cast<unsigned long long>(all[2] + all[3]));
  return all[0] > calls / 10 && all[1] > 0 ? 0 : 1;
}
