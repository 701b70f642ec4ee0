#pragma once
#include <levin/c_api.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

/// One thread's handles of a kind, at most six, which other threads may read.
template <class Handle>
class DrawnHandles {
 public:
  using Destroy = void (*)(Handle*);
  explicit DrawnHandles(Destroy destroy) : destroy_(destroy) {}

  /// Returns the handle that it replaces, which was destroyed; null if there was room.
  Handle* keep(Handle* made, size_t place) {
    Handle* const before = at_[place % at_.size()].exchange(made);
    destroy_(before);
    return before;
  }
  void forget(Handle* handle) {
    for (auto& one : at_)
      if (one == handle) one = nullptr;
  }
  /// The handle at a place, or the first after it; null: there is none.
  Handle* from(size_t place) const {
    for (size_t i = 0; i < at_.size(); ++i)
      if (Handle* const one = at_[(place + i) % at_.size()]) return one;
    return nullptr;
  }
  const std::array<std::atomic<Handle*>, 6>& all() const { return at_; }
  void end() {
    for (auto& one : at_) destroy_(one);
  }

 private:
  Destroy destroy_;
  std::array<std::atomic<Handle*>, 6> at_ = {};
};

/// The handles that one thread has made.
struct HandlesOfThread {
  DrawnHandles<levin_model> models{levin_model_destroy};
  DrawnHandles<levin_call> calls{levin_call_destroy};
  DrawnHandles<levin_session> sessions{levin_session_destroy};
  DrawnHandles<levin_reader> readers{levin_reader_destroy};
  DrawnHandles<levin_replay> replays{levin_replay_destroy};
  DrawnHandles<levin_rollout> rollouts{levin_rollout_destroy};

  void end() {
    calls.end();
    readers.end();
    sessions.end();
    models.end();
    replays.end();
    rollouts.end();
  }
};

/// Draws arguments for calls of the C interface, right and wrong ones, for one thread.
class Drawing {
 public:
  /// `all`: of each thread. `folder`: for files.
  Drawing(uint64_t seed, std::vector<HandlesOfThread>& all, size_t thread, const std::string& folder)
      : draw_(seed), all_(all), own_(all[thread]), first_path_(folder + "/" + std::to_string(thread)) {
    for (auto& number : memory_) number = static_cast<double>(below(7)) - 3;
  }

  size_t below(size_t limit) { return draw_() % limit; }
  bool once_in(size_t times) { return below(times) == 0; }
  /// Draws whether the next call may be wrong: two of three are right by themselves, so that they reach far.
  void begin_call() { may_be_wrong_ = once_in(3); }
  /// Whether an argument is to be wrong.
  bool wrong(size_t times) { return may_be_wrong_ && once_in(times); }

  /// Keeps a handle that a call has made.
  template <class Handle>
  levin_status keep(DrawnHandles<Handle> HandlesOfThread::* kind, Handle* made, levin_status status) {
    if (status != LEVIN_OK && made != nullptr) std::abort();
    if (made == nullptr) return status;
    if (Handle* const stale = (own_.*kind).keep(made, below(6))) stale_ = stale;
    return status;
  }
  /// A handle of this thread's; null, one that was destroyed, or none at all.
  template <class Handle>
  Handle* own(DrawnHandles<Handle> HandlesOfThread::* kind) {
    return one_of(own_.*kind);
  }
  /// The same of any thread's.
  template <class Handle>
  Handle* any(DrawnHandles<Handle> HandlesOfThread::* kind) {
    return one_of(all_[below(all_.size())].*kind);
  }
  /// Remembers a handle that is to be destroyed as one that was.
  template <class Handle>
  void forget(DrawnHandles<Handle> HandlesOfThread::* kind, Handle* handle) {
    (own_.*kind).forget(handle);
    stale_ = handle;
  }
  template <class Handle>
  Handle* to_destroy(DrawnHandles<Handle> HandlesOfThread::* kind) {
    if (!once_in(3)) return nullptr;
    Handle* const handle = own(kind);
    forget(kind, handle);
    return handle;
  }
  levin_model* model() { return own(&HandlesOfThread::models); }
  levin_call* a_call() { return own(&HandlesOfThread::calls); }
  levin_session* session() { return own(&HandlesOfThread::sessions); }
  levin_session* any_session() { return any(&HandlesOfThread::sessions); }
  levin_reader* reader() { return own(&HandlesOfThread::readers); }
  levin_replay* replay() { return any(&HandlesOfThread::replays); }
  levin_rollout* rollout() { return any(&HandlesOfThread::rollouts); }

  levin_config config() {
    static constexpr const char* kConfigs[] = {
        R"({"seed": 1, "trainer": {"accelerator": "cpu", "max_epochs": -1},
            "model": {"class": "MLPRegressor", "features": 2, "hidden": [4]}})",
        R"({"trainer": {"accelerator": "cpu", "max_steps": 5, "accumulate_grad_batches": 2},
            "model": {"class": "MLPClassifier", "features": 2, "num_classes": 3, "hidden": [4]}})",
        R"({"model": {"class": "MLPRegressor"}})",
        R"({"model": {}})",
        "[",
        "",
        R"({"trainer": {"max_steps": "many"}})"};
    static constexpr const char* kOptions[] = {"trainer.gradient_clip_val=0.5", "model.optimizer.lr=many", "=",
                                               nullptr};
    levin_config config = LEVIN_INIT(levin_config);
    config.text = kConfigs[wrong(3) ? below(std::size(kConfigs)) : once_in(4)];
    if (once_in(6)) {
      config.options = kOptions + (wrong(2) ? below(std::size(kOptions)) : 0);
      config.option_count = 1;
    }
    if (wrong(20)) config.file = "absent.json";
    if (wrong(20)) config.plugin_count = below(2);
    if (wrong(20)) config.struct_size = below(9);
    return config;
  }
  const char* function() {
    static constexpr const char* kNames[] = {nullptr, nullptr, "predict_step", "forward", "", "absent"};
    return kNames[below(may_be_wrong_ ? std::size(kNames) : 4)];
  }
  /// A file of this thread's, or a path that cannot be written to. It lives until the next one is drawn.
  const char* path(const char* ending) {
    static constexpr const char* kWrong[] = {nullptr, "", "/proc/absent/x.ckpt", "/dev/null/x.pt"};
    if (wrong(3)) return kWrong[below(std::size(kWrong))];
    path_ = first_path_ + (once_in(2) ? "a" : "b") + ending;
    return path_.c_str();
  }
  size_t count() { return wrong(4) ? below(4) : 2; }
  int32_t wanted() { return static_cast<int32_t>(below(may_be_wrong_ ? 5 : 4)); }

  /// An array inside of the thread's memory, of an input [3, 2] or, at the place 1, a target [3] or [3, 1]; or a
  /// description that must be refused.
  levin_array array(size_t place = 0) {
    levin_array array = LEVIN_INIT(levin_array);
    std::array<int64_t, 4>&shape = shapes_[place], &strides = strides_[place];
    array.data = memory_.data() + (below(4) ? 0 : below(memory_.size() / 2));
    array.dtype = below(2) ? LEVIN_FLOAT32 : LEVIN_FLOAT64;
    array.rank = 2;
    shape = {3, 2, 1, 1};
    if (place == 1) {
      shape[1] = 1;
      array.rank = below(4) ? 1 : 2;
      if (below(4) == 0) {
        for (auto& number : indices_) number = static_cast<int64_t>(below(3));
        array.dtype = LEVIN_INT64;
        array.data = indices_.data();
      }
    }
    if (wrong(4)) shape[0] = static_cast<int64_t>(1 + below(4));
    if (wrong(8)) array.rank = static_cast<int32_t>(below(5));
    if (wrong(8)) shape[below(4)] = static_cast<int64_t>(below(3));
    array.shape = shape.data();
    if (once_in(3)) {
      strides = {2, 1, 0, 0};
      if (once_in(4)) strides = {1, 4, 0, 0};
      array.strides = strides.data();
    }
    if (may_be_wrong_) spoil(array, shape);
    return array;
  }
  const levin_array* arrays() {
    for (size_t i = 0; i < arrays_.size(); ++i) arrays_[i] = array(i);
    return wrong(20) ? nullptr : arrays_.data();
  }
  /// An array of the outputs' shape, at most times: [3] or [3, 1].
  const levin_array* gradient() {
    arrays_[0] = array(1);
    if (!may_be_wrong_) arrays_[0].rank = 2;
    return wrong(20) ? nullptr : arrays_.data();
  }
  /// A place for a result; null once in a while. It lives until the next call.
  levin_array* out() {
    out_ = LEVIN_INIT(levin_array);
    if (wrong(20)) out_.struct_size = below(9);
    return wrong(20) ? nullptr : &out_;
  }
  size_t* number() { return wrong(5) ? nullptr : &number_; }
  double* real() { return wrong(5) ? nullptr : &real_; }

 private:
  /// Makes a description that must be refused, once in seven times.
  void spoil(levin_array& array, std::array<int64_t, 4>& shape) {
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
  }

  template <class Handle>
  Handle* one_of(const DrawnHandles<Handle>& handles) {
    const size_t kind = may_be_wrong_ ? below(12) : 3;
    if (kind == 0) return nullptr;
    if (kind == 1) return reinterpret_cast<Handle*>(draw_());
    if (kind == 2) return static_cast<Handle*>(stale_);
    return handles.from(below(6));
  }

  std::mt19937_64 draw_;
  std::vector<HandlesOfThread>& all_;
  HandlesOfThread& own_;
  bool may_be_wrong_ = false;
  void* stale_ = nullptr;  ///< a handle that was destroyed, of any kind
  std::string first_path_, path_ = {};
  std::array<double, 64> memory_ = {};
  std::array<int64_t, 64> indices_ = {};
  std::array<std::array<int64_t, 4>, 4> shapes_ = {}, strides_ = {};
  std::array<levin_array, 4> arrays_ = {};
  levin_array out_ = {};
  size_t number_ = 0;
  double real_ = 0;
};
