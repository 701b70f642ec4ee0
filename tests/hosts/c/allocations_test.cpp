// What the C interface allocates and copies, besides what the same work in C++ does.
#include <c10/core/CPUAllocator.h>
#include <levin/levin.h>

#include <cstdlib>
#include <new>

#include "tests/hosts/c/host_arrays.h"

namespace {

thread_local int64_t made = 0;  ///< by operator new, in this thread

/// Counts what LibTorch allocates for tensors.
class CountingAllocator : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator& inner) : inner_(inner) {}
  c10::DataPtr allocate(size_t bytes) override {
    largest = std::max(largest, bytes);
    return inner_.allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return inner_.raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { inner_.copy_data(to, from, bytes); }

  size_t largest = 0;

 private:
  c10::Allocator& inner_;
};

/// While it lives, tensors are counted.
class CountedTensors {
 public:
  CountedTensors() { c10::SetCPUAllocator(&counting_, 1); }
  ~CountedTensors() { c10::SetCPUAllocator(&inner_, 1); }
  CountedTensors(const CountedTensors&) = delete;
  CountedTensors& operator=(const CountedTensors&) = delete;
  size_t largest() const { return counting_.largest; }

 private:
  c10::Allocator& inner_ = *c10::GetCPUAllocator();
  CountingAllocator counting_ = CountingAllocator(inner_);
};

/// Allocations of 20 calls, after five that may make what is kept.
template <class Function>
int64_t allocations_of(const Function& function) {
  for (int i = 0; i < 5; ++i) function();
  const int64_t before = made;
  for (int i = 0; i < 20; ++i) function();
  return made - before;
}

const std::string kConfig =
    R"({"seed": 3, "trainer": {"accelerator": "cpu", "max_epochs": -1},
        "model": {"class": "MLPClassifier", "features": 3, "category_sizes": [4], "hidden": [8], "num_classes": 2}})";

std::shared_ptr<levin::nn::MLPClassifier> classifier() {
  levin::nn::MLPClassifierOptions options;
  options.net.features = 3;
  options.net.category_sizes = {4};
  options.net.hidden = {8};
  options.num_classes = 2;
  return levin::make_module<levin::nn::MLPClassifier>(options);
}

}  // namespace

void* operator new(size_t bytes) {
  ++made;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

TEST_CASE("An evaluation through C allocates what the one in C++ does, and nothing more") {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const torch::Tensor input = torch::randn({16, 3}), category = torch::randint(4, {16, 1}, torch::kLong);
  const levin_array arrays[] = {array_of(input, "input"), array_of(category, "category")};
  const auto network = classifier();
  network->eval();
  const levin::Batch batch({{"input", input}, {"category", category}});
  const auto forward = network->export_functions().at("forward");
  const levin_config config = config_of(kConfig.c_str());
  levin_model* model = nullptr;
  ok(levin_model_create(&config, nullptr, &model));
  levin_session* session = start(kConfig);
  ok(levin_session_publish(session));
  levin_reader* reader = nullptr;
  ok(levin_reader_create(session, &reader));
  levin_array result = LEVIN_INIT(levin_array);
  const at::NoGradGuard no_gradients;
  const int64_t of_predict = allocations_of([&] { const levin::Batch made_by = network->predict_step(batch, 0); });
  const int64_t of_forward = allocations_of([&] { const levin::Batch made_by = forward(batch); });
  CHECK(of_predict > 0);  // LibTorch's own: the count counts
  const int64_t of_run = allocations_of([&] {
    levin_model_run(model, nullptr, arrays, 2);
    levin_model_result(model, 0, &result);
  });
  CHECK(of_run - of_predict == 0);
  CHECK(allocations_of([&] { levin_model_run(model, "forward", arrays, 2); }) - of_forward == 0);
  CHECK(allocations_of([&] { levin_reader_run(reader, nullptr, arrays, 2); }) - of_predict == 0);
  CHECK(result.rank == 2);
  levin_reader_destroy(reader);
  levin_session_destroy(session);
  levin_model_destroy(model);
  at::set_num_threads(threads);
}

TEST_CASE("A step through C allocates what the one of a C++ session does, and nothing more") {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const torch::Tensor input = torch::randn({16, 3}), category = torch::randint(4, {16, 1}, torch::kLong),
                      target = torch::randint(2, {16}, torch::kLong);
  const levin_array arrays[] = {array_of(input, "input"), array_of(target, "target"), array_of(category, "category")};
  const levin::Batch batch({{"input", input}, {"target", target}, {"category", category}});
  levin::TrainerOptions options = levin::TrainerOptions::embedded();
  options.accelerator = levin::Accelerator::Cpu;
  options.max_epochs = -1;
  options.seed = 3;
  levin::Trainer trainer(options);
  levin::Session plain = trainer.start(classifier());
  const int64_t of_session = allocations_of([&] {
    plain.next();
    plain.step(batch);
  });
  levin_session* session = start(kConfig);
  int32_t wanted = 0;
  const int64_t of_c = allocations_of([&] {
    levin_session_next(session, &wanted);
    levin_session_step(session, arrays, 3, nullptr);
  });
  CHECK(of_session > 0);
  CHECK(of_c - of_session == 0);
  levin_session_destroy(session);
  at::set_num_threads(threads);
}

TEST_CASE("100 MB of the host's are read where they lie") {
  constexpr int64_t kRows = 6'250'000;  // of 4 numbers, 100 MB
  const std::string config =
      R"({"seed": 3, "trainer": {"accelerator": "cpu", "max_epochs": -1},
          "model": {"class": "MLPRegressor", "features": 4, "hidden": [], "outputs": 1}})";
  const levin_config of_model = config_of(config.c_str());
  levin_model* model = nullptr;
  ok(levin_model_create(&of_model, nullptr, &model));
  const torch::Tensor input = torch::ones({kRows, 4}), in_double = input.to(torch::kDouble);
  const levin_array array = array_of(input), other = array_of(in_double);
  {
    const CountedTensors counted;
    ok(levin_model_run(model, nullptr, &array, 1));
    CHECK(counted.largest() > 0);
    CHECK(counted.largest() < static_cast<size_t>(input.nbytes()) / 2);  // the result alone is a quarter
    ok(levin_model_run(model, nullptr, &other, 1));
    CHECK(counted.largest() == static_cast<size_t>(input.nbytes()));  // converted once to the model's dtype
  }
  levin_model_destroy(model);
}
