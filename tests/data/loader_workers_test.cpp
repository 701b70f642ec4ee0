#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <levin/core/system/error.h>
#include <levin/data/data_loader.h>

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/data/counting.h"
#include "tests/data/run_unprivileged.h"
#include "tests/error_text.h"

using levin::Batch;
using namespace levin::data;
using levin::testing::counting;
using levin::testing::range;
using levin::testing::rest_of;
using levin::testing::run_unprivileged;
using levin::testing::values;

namespace {

/// Samples with random numbers; loading takes longer for some than for others, so that workers overtake each other.
class Uneven : public Dataset {
 public:
  explicit Uneven(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  Batch get(int64_t index, Rng& rng) const override {
    if (index % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    return Batch(at::full({1}, rng.uniform()), at::full({}, index, at::TensorOptions(at::kLong)));
  }

 private:
  int64_t size_;
};

/// Fails at one sample.
class Broken : public Dataset {
 public:
  int64_t size() const override { return 12; }
  Batch get(int64_t index, Rng& /*rng*/) const override {
    if (index == 5) throw levin::UsageError("no file five.png");
    if (index == 9) throw std::runtime_error("nine");
    return Batch(at::full({1}, 0.0), at::full({}, index, at::TensorOptions(at::kLong)));
  }
};

/// Does not give sample 2 before `open` is called.
class Gate : public Dataset {
 public:
  int64_t size() const override { return 4; }
  Batch get(int64_t index, Rng& /*rng*/) const override {
    std::unique_lock lock(mutex_);
    if (index == 2) opened_.wait(lock, [&] { return open_; });
    return Batch(at::full({1}, 0.0), at::full({}, index, at::TensorOptions(at::kLong)));
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable opened_;
  bool open_ = false;
};

/// Counts the samples that are loaded.
class Counted : public Dataset {
 public:
  int64_t size() const override { return 12; }
  Batch get(int64_t index, Rng& /*rng*/) const override {
    ++loaded;
    return Batch(at::full({1}, 0.0), at::full({}, index, at::TensorOptions(at::kLong)));
  }
  mutable std::atomic<int64_t> loaded = 0;
};

struct Seen {
  std::vector<int64_t> targets = {};
  std::vector<double> inputs = {};
  bool operator==(const Seen&) const = default;
};

Seen epoch_of(Loader& loader, int64_t epoch) {
  loader.set_epoch(epoch);
  Seen seen;
  bool last = false;
  while (auto loaded = loader.next()) {
    CHECK_FALSE(last);
    last = loaded->last;
    for (const int64_t value : values(loaded->batch.target())) seen.targets.push_back(value);
    const at::Tensor inputs = loaded->batch.input().to(at::kDouble).contiguous();
    seen.inputs.insert(seen.inputs.end(), inputs.const_data_ptr<double>(),
                       inputs.const_data_ptr<double>() + inputs.numel());
  }
  CHECK(last);
  return seen;
}

size_t threads_of_process() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

/// Waits until the process has at most `threads` threads, because the kernel lists a thread for a moment after it was
/// joined; returns whether it has.
bool comes_to_have_at_most(size_t threads) {
  for (int i = 0; i < 1000 && threads_of_process() > threads; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return threads_of_process() <= threads;
}

}  // namespace

TEST_CASE("order and random numbers are the same for any number of workers") {
  const auto dataset = std::make_shared<Uneven>(101);
  const auto options = [](int64_t workers) {
    return DataLoaderOptions{.batch_size = 4, .shuffle = true, .num_workers = workers, .seed = 5};
  };
  DataLoader none(dataset, options(0));
  const Seen first = epoch_of(none, 0), second = epoch_of(none, 1);
  CHECK(first.targets.size() == 101);
  CHECK(first.targets != second.targets);
  for (const int64_t workers : {1, 2, 10}) {
    DataLoader loader(dataset, options(workers));
    CHECK(epoch_of(loader, 0) == first);
    CHECK(epoch_of(loader, 1) == second);
    CHECK(epoch_of(loader, 0) == first);
    CHECK_FALSE(loader.next());
    CHECK_FALSE(loader.next());
  }
}

TEST_CASE("an epoch may be left at any place and started again") {
  const auto dataset = std::make_shared<Uneven>(60);
  DataLoader loader(dataset, {.batch_size = 4, .shuffle = true, .num_workers = 3, .seed = 5});
  DataLoader none(dataset, {.batch_size = 4, .shuffle = true, .seed = 5});
  for (int64_t epoch = 0; epoch < 12; ++epoch) {
    loader.set_epoch(epoch);
    for (int64_t i = 0; i < epoch; ++i) loader.next();
  }
  CHECK(epoch_of(loader, 3) == epoch_of(none, 3));
}

TEST_CASE("a thousand loaders destroyed in the middle of an epoch leave no thread and no memory behind") {
  const auto dataset = counting(100);
  std::mt19937 random(1);
  const auto use = [&](int loaders) {
    for (int i = 0; i < loaders; ++i) {
      DataLoader loader(dataset, {.batch_size = 3, .shuffle = true, .num_workers = 2});
      const auto batches = random() % 8;
      for (unsigned batch = 0; batch < batches; ++batch) loader.next();
    }
  };
  use(10);
  const size_t threads = threads_of_process(), bytes = mallinfo2().uordblks;
  use(1000);
  CHECK(comes_to_have_at_most(threads));
  CHECK(mallinfo2().uordblks < bytes + 100'000);
}

TEST_CASE("eight workers stand any number of early exits") {
  const auto dataset = std::make_shared<Uneven>(200);
  const DataLoaderOptions options{.batch_size = 4, .shuffle = true, .num_workers = 8, .seed = 5};
  DataLoader loader(dataset, options), none(dataset, {.batch_size = 4, .shuffle = true, .seed = 5});
  std::mt19937 random(2);
  for (int i = 0; i < 60; ++i) {
    loader.set_epoch(i);
    const auto batches = random() % 12;
    for (unsigned batch = 0; batch < batches; ++batch) loader.next();
    if (random() % 4 == 0) loader.load_state_dict(loader.state_dict());
    if (random() % 8 == 0) loader = DataLoader(loader);
  }
  CHECK(epoch_of(loader, 3) == epoch_of(none, 3));
}

TEST_CASE("in the steady state the same few buffers go round") {
  for (const int64_t workers : {0, 1, 3}) {
    DataLoader loader(counting(1000), {.batch_size = 4, .num_workers = workers});
    std::set<const void*> buffers;
    for (int64_t epoch = 0; epoch < 2; ++epoch) {
      loader.set_epoch(epoch);
      while (auto loaded = loader.next()) buffers.insert(loaded->batch.input().const_data_ptr());
    }
    CHECK(buffers.size() <= static_cast<size_t>(2 * workers + 2));
  }
}

TEST_CASE("batches that the caller keeps are not written over") {
  for (const int64_t workers : {0, 2}) {
    DataLoader loader(counting(400), {.batch_size = 4, .num_workers = workers});
    std::vector<Batch> kept;
    while (auto loaded = loader.next()) kept.push_back(loaded->batch);
    std::vector<int64_t> all;
    for (const Batch& batch : kept) {
      for (const int64_t value : values(batch.target())) all.push_back(value);
    }
    CHECK(all == range(400));
  }
}

TEST_CASE("an error of a dataset is thrown by next, with its place, and the loader continues") {
  for (const int64_t workers : {0, 2}) {
    DataLoader loader(Broken(), {.batch_size = 3, .num_workers = workers});
    std::vector<int64_t> seen;
    const auto take = [&] {
      for (const int64_t value : values(loader.next().value().batch.target())) seen.push_back(value);
    };
    take();
    const std::string text = error_text([&] { loader.next(); });
    CHECK(text.starts_with("data: "));
    CHECK(text.ends_with("Broken, batch of samples 3, 4, 5: sample 5: no file five.png"));
    CHECK(loader.state_dict().at("position").to_int() == 6);
    take();
    CHECK(error_text([&] { loader.next(); }).ends_with("samples 9, 10, 11: sample 9: nine"));
    CHECK_FALSE(loader.next());
    CHECK(seen == std::vector<int64_t>{0, 1, 2, 6, 7, 8});
    loader.set_epoch(1);
    take();
    CHECK_THROWS_AS(loader.next(), levin::UsageError);
  }
}

TEST_CASE("a wait that is too long is an error, and the loader remains usable") {
  const auto gate = std::make_shared<Gate>();
  DataLoader loader(gate, {.num_workers = 1, .timeout_seconds = 0.05});
  CHECK(values(loader.next()->batch.target()) == std::vector<int64_t>{0});
  CHECK(values(loader.next()->batch.target()) == std::vector<int64_t>{1});
  const std::string text = error_text([&] { loader.next(); });
  CHECK(text.starts_with("data.timeout_seconds: no batch after 0.05 seconds; a worker is loading "));
  CHECK(text.find("Gate, batch of sample 2;") != std::string::npos);
  gate->open();
  std::optional<LoadedBatch> loaded;
  while (!loaded) {
    try {
      loaded = loader.next();
    } catch (const levin::Error&) {  // the machine was slow
    }
  }
  CHECK(values(loaded->batch.target()) == std::vector<int64_t>{2});
}

namespace {

/// A stream that does not give its third sample before `open` is called.
class GatedStream : public IterableDataset {
 public:
  explicit GatedStream(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
  std::unique_ptr<SampleStream> open(const StreamOptions& /*options*/) const override {
    class Stream : public SampleStream {
     public:
      explicit Stream(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
      std::optional<Batch> next() override {
        if (next_ == gate_->size()) return {};
        Rng rng(0, 0, 0);
        return gate_->get(next_++, rng);
      }

     private:
      std::shared_ptr<Gate> gate_;
      int64_t next_ = 0;
    };
    return std::make_unique<Stream>(gate_);
  }

 private:
  std::shared_ptr<Gate> gate_;
};

/// Opens a gate after 20 s, which pass only if somebody waits for it; had_to_come() returns whether they did.
class Rescue {
 public:
  explicit Rescue(std::shared_ptr<Gate> gate)
      : thread_([this, gate = std::move(gate)] {
          std::unique_lock lock(mutex_);
          came_ = !changed_.wait_for(lock, std::chrono::seconds(20), [this] { return done_; });
          gate->open();
        }) {}
  ~Rescue() {
    if (thread_.joinable()) had_to_come();
  }
  bool had_to_come() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
      changed_.notify_all();
    }
    thread_.join();
    return came_;
  }

 private:
  std::mutex mutex_ = {};
  std::condition_variable changed_ = {};
  bool done_ = false, came_ = false;
  std::thread thread_;
};

}  // namespace

TEST_CASE("a loader whose worker hangs can be destroyed, and the error is thrown") {
  const auto hangs = [](const auto& dataset, const std::shared_ptr<Gate>& gate, const char* waits) {
    Rescue rescue(gate);
    const std::string text = error_text([&] {
      DataLoader loader(dataset, {.num_workers = 2, .timeout_seconds = 0.05});
      while (loader.next()) {
      }
    });
    CHECK(text.starts_with("data.timeout_seconds: no batch after 0.05 seconds; "));
    CHECK(text.find(waits) != std::string::npos);
    CHECK_FALSE(rescue.had_to_come());
  };
  const auto gate = std::make_shared<Gate>();
  hangs(gate, gate, "a worker is loading ");
  const auto behind_stream = std::make_shared<Gate>();
  hangs(std::make_shared<GatedStream>(behind_stream), behind_stream, "ask for the next samples");
}

TEST_CASE("a loader that is left while its worker hangs waits for timeout_seconds") {
  const auto gate = std::make_shared<Gate>();
  Rescue rescue(gate);
  {
    DataLoader loader(gate, {.num_workers = 1, .prefetch_factor = 3, .timeout_seconds = 0.2});
    loader.next();
  }
  CHECK_FALSE(rescue.had_to_come());
}

TEST_CASE("a worker loads prefetch_factor batches ahead, and no more") {
  for (const int64_t ahead : {1, 4}) {
    INFO(ahead);
    const auto dataset = std::make_shared<Counted>();
    DataLoader loader(dataset, {.num_workers = 1, .prefetch_factor = ahead});
    for (int64_t taken = 1; taken <= 12 - ahead; ++taken) {
      CHECK(dataset->loaded <= taken - 1 + (taken > 1 ? ahead : 0));
      loader.next();
      while (dataset->loaded < taken + ahead) std::this_thread::yield();
    }
  }
}

TEST_CASE("a state taken while workers load ahead is that after the last batch handed out") {
  const auto dataset = std::make_shared<Uneven>(50);
  const DataLoaderOptions options{.batch_size = 4, .shuffle = true, .num_workers = 3, .seed = 2};
  DataLoader whole(dataset, options), first(dataset, options), second(dataset, options);
  const auto expected = epoch_of(whole, 4).targets;
  first.set_epoch(4);
  std::vector<int64_t> seen;
  for (int i = 0; i < 5; ++i) {
    for (const int64_t value : values(first.next()->batch.target())) seen.push_back(value);
  }
  CHECK(first.state_dict().at("position").to_int() == 20);
  second.next();
  second.load_state_dict(first.state_dict());
  for (const int64_t value : rest_of(second)) seen.push_back(value);
  CHECK(seen == expected);
}

TEST_CASE("the state of 20 million shuffled samples is one position") {
  class Huge : public Dataset {
   public:
    int64_t size() const override { return 20'000'000; }
    void get_batch(const Indices& indices, Batch& out) const override { out = Batch(indices.tensor()); }
  };
  const DataLoaderOptions options{.batch_size = 8, .shuffle = true, .seed = 1};
  DataLoader first{Huge(), options}, second{Huge(), options};
  levin::State state = first.state_dict();
  state["position"] = 10'000'000;
  first.load_state_dict(state);
  const Batch tenth = first.next()->batch;
  CHECK(first.state_dict().at("position").to_int() == 10'000'008);
  second.load_state_dict(state);
  CHECK(values(second.next()->batch.input()) == values(tenth.input()));
}

// The next case runs this one alone, in a process that has not warned yet.
TEST_CASE("two loaders may have 64 workers each", "[.][many_workers]") {
  for (int i = 0; i < 2; ++i) DataLoader(counting(4), {.num_workers = 64, .prefetch_factor = 1}).next();
}

TEST_CASE("workers that the system does not permit are an error if there are none, and the others load without them") {
  const auto with_threads = [](rlim_t permitted) {
    return run_unprivileged([permitted] {
      const rlimit limit = {permitted, permitted};
      if (::setrlimit(RLIMIT_NPROC, &limit) != 0) return std::string("no limit could be set");
      try {
        DataLoader loader(counting(10), {.batch_size = 4, .num_workers = 3});
        return "a batch of " + std::to_string(loader.next()->samples);
      } catch (const levin::Error& error) {
        return std::string(error.what());
      }
    });
  };
  const char* const none = "data.num_workers: no thread for loading data can be started: ";
  CHECK(contains(with_threads(0), none));
  // One thread may start, unless this user has others.
  const std::string with_one = with_threads(2);
  CHECK((with_one == "a batch of 4" || contains(with_one, none)));
}

TEST_CASE("a warning of more workers than cores comes once") {
  FILE* child = popen("/proc/$PPID/exe '[many_workers]' 2>&1", "r");
  std::string text;
  for (int c = 0; (c = std::fgetc(child)) != EOF;) text += static_cast<char>(c);
  CHECK(pclose(child) == 0);
  CHECK(occurrences(text, "data.num_workers: 64 workers for ") == 1);
}

TEST_CASE("workers compute with one thread and leave the process's number alone") {
  const int before = at::get_num_threads();
  std::atomic<int> in_worker = 0;
  const auto look = std::make_shared<Lambda>([&](Batch&, std::span<Rng>) { in_worker = at::get_num_threads(); });
  DataLoader loader(TransformedDataset(counting(4), look), {.batch_size = 4, .num_workers = 1});
  loader.next();
  CHECK(in_worker == 1);
  CHECK(at::get_num_threads() == before);
  int elsewhere = 0;
  std::thread([&] { elsewhere = at::get_num_threads(); }).join();
  CHECK(elsewhere == before);
}
