// Other threads read the weights of a session while it trains: published copies, and the weights in place.
#include <levin/core/state/crc32.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/trainer/session/sessions.h"

namespace {

uint32_t checksum_of(const torch::Tensor& tensor, uint32_t before) {
  return levin::crc32_of({static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()}, before);
}

/// Keeps a checksum of its weights in a buffer, which each step renews.
struct Checked : ToyModule {
  Checked() : ToyModule(0.2) { renew(); }
  void on_train_batch_end(levin::Run&) override { renew(); }
  void renew() { checksum.fill_(sum()); }
  int64_t sum() const {
    uint32_t value = 0;
    for (const torch::Tensor& one : parameters()) value = checksum_of(one, value);
    return value;
  }
  bool is_whole() const { return sum() == checksum.const_data_ptr<int64_t>()[0]; }
  torch::Tensor checksum = register_buffer("checksum", torch::zeros({1}, torch::kLong));
};

bool is_whole(const levin::PublishedWeights& weights) {
  uint32_t sum = 0;
  for (const auto& [name, tensor] : weights.tensors())
    if (name != "checksum") sum = checksum_of(tensor, sum);
  return sum == weights["checksum"].const_data_ptr<int64_t>()[0];
}

/// Trains until `done`, and publishes after each step.
template <class Done>
int64_t train_and_publish(levin::Session& session, const ToyData& data, const Done& done) {
  while (!done()) {
    session.step(levin::Batch(data.input, data.target));
    session.publish();
  }
  return session.state().global_step;
}

}  // namespace

TEST_CASE("a reader checks 10,000 published copies while the session trains, and none is torn") {
  const TemporaryFolder folder;
  const ToyData data(8);
  const auto module = std::make_shared<Checked>();
  levin::Session session = levin::Trainer(options_in(folder)).start(module);
  std::atomic<int64_t> torn = 0, checked = 0, older = 0, copies = 0;
  const auto ends = [&] { return checked >= 10000 && copies >= 500; };
  const auto read = [&] {
    int64_t newest = 0;
    while (!ends()) {
      const levin::PublishedWeights weights = session.published();
      if (weights.empty()) continue;
      torn += !is_whole(weights);
      older += weights.global_step() < newest;
      copies += weights.global_step() > newest;
      newest = weights.global_step();
      ++checked;
    }
  };
  std::thread one(read), other(read);
  const int64_t steps = train_and_publish(session, data, ends);
  one.join();
  other.join();
  CHECK(torn == 0);
  CHECK(older == 0);
  CHECK(module->is_whole());
  CHECK(steps >= 250);  // two readers
}

TEST_CASE("under the update lock a reader never sees half a step") {
  const TemporaryFolder folder;
  const ToyData data(8);
  const auto module = std::make_shared<Checked>();
  levin::Session session = levin::Trainer(options_in(folder)).start(module);
  std::atomic<int64_t> torn = 0, read = 0;
  std::thread reader([&] {
    for (int64_t step = -1; read < 300;) {
      {
        const std::unique_lock<std::mutex> lock = session.update_lock();
        const int64_t now = session.run().state().global_step;
        torn += !module->is_whole();
        read += now != step;
        step = now;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(20));  // a mutex is not fair
    }
  });
  train_and_publish(session, data, [&] { return read >= 300; });
  reader.join();
  CHECK(torn == 0);
}

TEST_CASE("the update lock also holds back what follows a batch: the last window's step, and the end of its epoch") {
  // Tries in some hooks whether a reader gets the lock meanwhile.
  struct Probing : ToyModule {
    void probe() {
      const auto got = std::make_shared<std::atomic<bool>>(false);
      readers.emplace_back([this, got] {
        const std::unique_lock<std::mutex> lock = session->update_lock();
        *got = true;
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      ++probes;
      let_in += *got;
    }
    void on_before_optimizer_step(levin::Run&, torch::optim::Optimizer&) override { probe(); }
    void on_train_epoch_end(levin::Run&) override { probe(); }
    void on_validation_epoch_end(levin::Run&) override { probe(); }
    void validation_step(const levin::Batch&, int64_t) override {}
    const levin::Session* session = nullptr;
    std::vector<std::thread> readers = {};
    int64_t probes = 0, let_in = 0;
  };
  /// Three batches whose number nobody knows.
  struct Stream final : levin::data::SampleStream {
    std::optional<levin::Batch> next() override {
      if (given++ == 3) return {};
      return levin::Batch(torch::ones({4}), torch::ones({1}));
    }
    int64_t given = 0;
  };
  struct Streams final : levin::data::IterableDataset {
    std::unique_ptr<levin::data::SampleStream> open(const levin::data::StreamOptions&) const override {
      return std::make_unique<Stream>();
    }
  };
  const TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.accumulate_grad_batches = 2;
  options.max_epochs = 2;
  const auto module = std::make_shared<Probing>();
  levin::Session session = levin::Trainer(options).start(module);
  module->session = &session;
  levin::SessionLoader batches = session.loader(levin::data::DataLoader(
      std::shared_ptr<const levin::data::IterableDataset>(std::make_shared<Streams>()), {.batch_size = 1}));
  const auto with_readers = [&](const auto& part) {
    part();
    for (std::thread& one : module->readers) one.join();
    module->readers.clear();
  };
  for (int i = 0; i < 4; ++i) with_readers([&] { session.step(batches.next()); });
  with_readers([&] { session.end_epoch(); });
  with_readers([&] { CHECK_FALSE(session.next()); });
  with_readers([&] { session.validate(ToyData(4).loader(4)); });
  with_readers([&] { session.finish(); });
  CHECK(module->probes >= 5);
  CHECK(module->let_in == 0);
}

TEST_CASE("readers that come and go in any order, and many that are kept, leave the session's weights alone") {
  const TemporaryFolder folder;
  const ToyData data(8);
  const auto module = std::make_shared<Checked>(), alone = std::make_shared<Checked>();
  {
    const torch::NoGradGuard no_grad;
    for (size_t i = 0; i < alone->parameters().size(); ++i) alone->parameters()[i].copy_(module->parameters()[i]);
  }
  levin::TrainerOptions options = options_in(folder);
  options.max_steps = 200;
  levin::Session session = levin::Trainer(options).start(module);
  std::atomic<bool> ends = false;
  std::atomic<int64_t> torn = 0;
  std::vector<std::thread> readers;
  for (uint32_t seed = 0; seed < 3; ++seed)
    readers.emplace_back([&, seed] {
      std::mt19937 random(seed);
      std::vector<levin::PublishedWeights> kept;
      while (!ends) {
        if (kept.size() < 15 && random() % 2 == 0)
          kept.push_back(session.published());
        else if (!kept.empty())
          kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(random() % kept.size()));
        if (kept.empty()) continue;
        const levin::PublishedWeights& one = kept[random() % kept.size()];
        if (!one.empty()) torn += !is_whole(one);
      }
    });
  train_and_publish(session, data, [&] { return !session.next(); });
  ends = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(torn == 0);

  levin::Session undisturbed = levin::Trainer(options).start(alone);
  while (undisturbed.next()) undisturbed.step(levin::Batch(data.input, data.target));
  CHECK(bit_equal(module->parameters(), alone->parameters()));
}

TEST_CASE("copies that readers keep are named when there are too many; a copy outlives its session") {
  const TemporaryFolder folder;
  const auto module = std::make_shared<Checked>();
  levin::PublishedWeights last;
  {
    levin::Session session = levin::Trainer(options_in(folder)).start(module);
    std::vector<levin::PublishedWeights> kept;
    const std::string text = error_text([&] {
      for (int i = 0; i < 100; ++i) {
        session.publish();
        kept.push_back(session.published());
      }
    });
    CHECK(text == "Session::publish: readers keep 63 copies of the weights; let go of old ones");
    kept.erase(kept.begin());
    session.publish();
    last = session.published();
  }
  CHECK(is_whole(last));
}

TEST_CASE("threads that ask for anything at any time leave a session's training as it is") {
  const ToyData data(8);
  std::vector<torch::Tensor> expected;
  for (const bool disturbed : {false, true}) {
    const TemporaryFolder folder;
    levin::TrainerOptions options = options_in(folder);
    options.max_steps = 100;
    torch::manual_seed(1);
    const auto module = std::make_shared<Checked>();
    levin::Session session = levin::Trainer(options).start(module);
    std::atomic<bool> ends = false;
    std::atomic<int64_t> torn = 0, backwards = 0;
    std::vector<std::thread> others;
    const auto disturb = [&](uint32_t seed) {
      std::mt19937 random(seed);
      int64_t newest = 0;
      while (!ends) {
        switch (random() % 6) {
          case 0:
            session.pause();
            session.resume();
            break;
          case 1:
            if (random() % 50 == 0) session.request_save("asked.ckpt");
            break;
          case 2: {
            const levin::SessionState state = session.state();
            // Without accumulation each batch is a step of 8 samples.
            torn += state.batches != state.global_step || state.samples != 8 * state.batches;
            backwards += state.global_step < newest;
            newest = state.global_step;
            break;
          }
          case 3: {
            const std::unique_lock<std::mutex> lock = session.update_lock();
            torn += !module->is_whole();
            break;
          }
          case 4: {
            const levin::PublishedWeights weights = session.published();
            if (!weights.empty()) torn += !is_whole(weights);
            break;
          }
          default:
            torn += !session.warnings().empty();
        }
      }
    };
    if (disturbed)
      for (uint32_t seed = 1; seed <= 2; ++seed) others.emplace_back(disturb, seed);
    while (session.next()) {
      session.step(levin::Batch(data.input, data.target));
      session.publish();
    }
    ends = true;
    for (std::thread& other : others) other.join();
    CHECK(torn == 0);
    CHECK(backwards == 0);
    CHECK(session.finish().global_step == 100);
    if (disturbed)
      CHECK(bit_equal(expected, module->parameters()));
    else
      expected = copies(module->parameters());
  }
}
