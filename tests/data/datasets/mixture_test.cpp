#include <levin/data/datasets/mixture.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <levin/core/state/json_state.h>
#include <levin/data/data_loader.h>
#include <levin/data/datasets/readers/mixture_stream.h>
#include <levin/data/datasets/tar.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/data/counting.h"
#include "tests/data/datasets/tar_fixture.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::State;
using namespace levin::data;
using levin::testing::rest_of;
using levin::testing::sorted;
using levin::testing::values;

namespace {

using List = std::vector<int64_t>;

constexpr int64_t kApart = 1000;  ///< the targets of dataset i are 1000 i, 1000 i + 1, ...

class Numbered : public Dataset {
 public:
  Numbered(int64_t number, int64_t size, bool noisy = false) : number_(number), size_(size), noisy_(noisy) {}
  int64_t size() const override { return size_; }
  Batch get(int64_t index, Rng& rng) const override {
    const int64_t value = number_ * kApart + index;
    return Batch(at::full({2}, noisy_ ? rng.uniform() : static_cast<double>(value)),
                 at::full({}, value, at::TensorOptions(at::kLong)));
  }

 private:
  int64_t number_, size_;
  bool noisy_;
};

/// The same samples as a stream, shuffled as the order of a map-style dataset is.
class NumberedStream : public IterableDataset {
 public:
  NumberedStream(int64_t number, int64_t size, bool has_state = true) : data_(number, size), has_state_(has_state) {}
  std::unique_ptr<SampleStream> open(const StreamOptions& options) const override {
    return std::make_unique<Stream>(*this, options);
  }

 private:
  class Stream : public SampleStream {
   public:
    Stream(const NumberedStream& owner, const StreamOptions& options)
        : owner_(owner),
          order_(options.shuffle ? RandomSampler(owner.data_.size()).order(options.seed, options.epoch)
                                 : SequentialSampler(owner.data_.size()).order(0, 0)) {}
    std::optional<Batch> next() override {
      if (at_ >= owner_.data_.size()) return {};
      Indices one;
      order_->at(at_++, 1, one);
      Rng rng(0, 0, 0);
      return owner_.data_.get(one[0], rng);
    }
    std::optional<State> state_dict() const override {
      return owner_.has_state_ ? std::optional(State::dict({{"at", at_}})) : std::nullopt;
    }
    void load_state_dict(const State& state) override { at_ = state.at("at").to_int(); }

   private:
    const NumberedStream& owner_;
    std::shared_ptr<const SampleOrder> order_;
    int64_t at_ = 0;
  };
  Numbered data_;
  bool has_state_;
};

struct Case {
  List sizes;
  std::vector<double> weights;
  StoppingStrategy strategy = StoppingStrategy::FirstExhausted;
};

std::shared_ptr<const MixtureDataset> mixture(const Case& of, bool streams = false) {
  std::vector<MixturePart> parts;
  for (size_t i = 0; i < of.sizes.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    if (streams && i % 2 == 0)
      parts.emplace_back(std::make_shared<const NumberedStream>(number, of.sizes[i]), of.weights[i]);
    else
      parts.emplace_back(Numbered(number, of.sizes[i]), of.weights[i]);
  }
  return std::make_shared<const MixtureDataset>(std::move(parts),
                                                MixtureDatasetOptions{.stopping_strategy = of.strategy});
}

/// The epoch as a list, from the definition: draws one dataset for each place, by its weight.
List by_hand(const Case& of, uint64_t seed, int64_t epoch, bool shuffle) {
  const size_t count = of.sizes.size();
  std::vector<List> rest(count);
  List passes(count, 0), taken(count, 0);
  std::set<size_t> ended;
  const auto refill = [&](size_t i) {
    const uint64_t own = seed + (static_cast<uint64_t>(i) << 32);
    Indices order;
    const auto all = shuffle ? RandomSampler(of.sizes[i]).order(own, epoch + (passes[i]++ << 20))
                             : SequentialSampler(of.sizes[i]).order(0, 0);
    all->at(0, of.sizes[i], order);
    rest[i].assign(order.begin(), order.end());
  };
  for (size_t i = 0; i < count; ++i) refill(i);
  List found;
  while (true) {
    std::vector<size_t> open;
    for (size_t i = 0; i < count; ++i)
      if (of.strategy == StoppingStrategy::AllExhausted || !ended.contains(i)) open.push_back(i);
    if (open.empty()) return found;
    size_t chosen = open.front();
    if (shuffle) {
      double whole = 0;
      for (const size_t i : open) whole += of.weights[i];
      const double at = Rng(seed ^ 0x4d49585455524501, epoch, static_cast<int64_t>(found.size())).uniform(0, whole);
      double end = 0;
      for (const size_t i : open)
        if (at >= std::exchange(end, end + of.weights[i])) chosen = i;
    } else {
      for (const size_t i : open)
        if (static_cast<double>(taken[i] + 1) / of.weights[i] <
            static_cast<double>(taken[chosen] + 1) / of.weights[chosen])
          chosen = i;
    }
    if (rest[chosen].empty()) {
      ended.insert(chosen);
      if (of.strategy == StoppingStrategy::FirstExhausted || ended.size() == count) return found;
      if (of.strategy == StoppingStrategy::AllExhausted) refill(chosen);
      continue;
    }
    found.push_back(static_cast<int64_t>(chosen) * kApart + rest[chosen].front());
    rest[chosen].erase(rest[chosen].begin());
    ++taken[chosen];
  }
}

const std::vector<Case> kCases = [] {
  std::vector<Case> cases;
  for (const auto strategy : {StoppingStrategy::FirstExhausted, StoppingStrategy::AllExhausted,
                              StoppingStrategy::AllExhaustedWithoutReplacement}) {
    cases.push_back({{7, 30, 12}, {1, 3, 0.5}, strategy});
    cases.push_back({{5, 5}, {2, 1}, strategy});
    cases.push_back({{9}, {4}, strategy});
  }
  return cases;
}();

List epoch_of(const std::shared_ptr<const MixtureDataset>& data, DataLoaderOptions options, int64_t epoch) {
  DataLoader loader(data, std::move(options));
  loader.set_epoch(epoch);
  return rest_of(loader);
}

nlohmann::ordered_json parsed(const std::string& text) { return nlohmann::ordered_json::parse(text); }

Mixture module_of(const std::string& options) {
  MixtureOptions given;
  levin::schema_of<MixtureOptions>().set(&given, "data", parsed(options));
  return Mixture(given);
}

}  // namespace

TEST_CASE("without shuffle, the dataset that is furthest behind its share comes next") {
  CHECK(epoch_of(mixture({{4, 3}, {2, 1}}), {}, 0) == List{0, 1, 1000, 2, 3, 1001});
  CHECK(epoch_of(mixture({{2, 2, 2}, {1, 1, 1}}), {}, 3) == List{0, 1000, 2000, 1, 1001, 2001});
}

TEST_CASE("the order of a mixture is that of its definition, for map-style datasets and streams") {
  for (const Case& one : kCases) {
    for (const bool shuffle : {false, true}) {
      for (const bool streams : {false, true}) {
        const auto data = mixture(one, streams);
        for (const int64_t epoch : {0, 1, 5}) {
          const List expected = by_hand(one, 11, epoch, shuffle);
          CHECK(expected.size() >= 5);
          for (const int64_t workers : {0, 3})
            CHECK(epoch_of(data, {.batch_size = 4, .shuffle = shuffle, .num_workers = workers, .seed = 11}, epoch) ==
                  expected);
        }
      }
    }
  }
}

TEST_CASE("datasets come as often as their weights say") {
  const std::vector<double> weights = {1, 3, 0.5};
  constexpr int64_t kDraws = 20'000;
  const auto data = mixture({{kDraws, kDraws, kDraws}, weights});
  for (const bool shuffle : {false, true}) {
    const auto stream = data->open({.seed = 4, .shuffle = shuffle});
    std::vector<double> counts(3);
    for (int64_t i = 0; i < kDraws; ++i) counts[static_cast<size_t>(stream->next()->as<MixtureSample>().part)] += 1;
    for (size_t i = 0; i < 3; ++i) {
      const double share = weights[i] / 4.5;
      CHECK(std::abs(counts[i] - share * kDraws) <= (shuffle ? 4 * std::sqrt(kDraws * share * (1 - share)) : 1));
    }
  }
}

TEST_CASE("each sample comes once without replacement, and with it datasets that end start again in another order") {
  const Case once{{7, 30, 12}, {1, 3, 0.5}, StoppingStrategy::AllExhaustedWithoutReplacement};
  const auto all = mixture(once);
  CHECK(all->size() == 49);
  const List order = epoch_of(all, {.shuffle = true, .seed = 2}, 0);
  CHECK(std::set<int64_t>(order.begin(), order.end()).size() == 49);
  CHECK(order.size() == 49);
  CHECK_FALSE(mixture({{7, 30}, {1, 1}})->size());

  const List again =
      epoch_of(mixture({{10, 60}, {1, 1}, StoppingStrategy::AllExhausted}), {.shuffle = true, .seed = 2}, 0);
  List small;
  std::set<int64_t> large;
  for (const int64_t value : again) {
    if (value < kApart) small.push_back(value);
    if (value >= kApart) large.insert(value);
  }
  CHECK(large.size() == 60);
  REQUIRE(small.size() >= 30);
  const List first(small.begin(), small.begin() + 10), second(small.begin() + 10, small.begin() + 20);
  CHECK(first != second);
  CHECK(sorted(first) == sorted(second));
}

TEST_CASE("a mixture resumes at each batch, with workers, and with another number of ranks") {
  for (const Case& one : kCases) {
    for (const int64_t workers : {0, 2}) {
      const auto data = mixture(one, true);
      const auto loader = [&](int64_t rank, int64_t world, int64_t batch_size) {
        DataLoader made(data, {.batch_size = batch_size, .shuffle = true, .num_workers = workers, .seed = 3});
        made.shard(rank, world);
        made.set_epoch(1);
        return made;
      };
      const List expected = by_hand(one, 3, 1, true);
      const auto size = static_cast<int64_t>(expected.size());
      for (int64_t batches = 1; batches * 2 <= size; batches += 2) {
        DataLoader first = loader(0, 1, 2), second = loader(0, 1, 2);
        for (int64_t i = 0; i < batches; ++i) first.next();
        second.load_state_dict(first.state_dict());
        CHECK(rest_of(second) == List(expected.begin() + batches * 2, expected.end()));
      }
      if (size < 6) continue;
      std::vector<DataLoader> three = {loader(0, 3, 2), loader(1, 3, 2), loader(2, 3, 2)};
      List seen;
      for (DataLoader& rank : three)
        for (const int64_t value : values(rank.next()->batch.target())) seen.push_back(value);
      CHECK(seen == List(expected.begin(), expected.begin() + 6));
      for (int64_t rank = 0; rank < 2; ++rank) {
        DataLoader resumed = loader(rank, 2, 3);
        CHECK(resumed.in_step());
        resumed.load_state_dict(three[0].state_dict());
        const List rest = rest_of(resumed);
        seen.insert(seen.end(), rest.begin(), rest.end());
      }
      CHECK(sorted(seen) == sorted(expected));
    }
  }
}

TEST_CASE("a mixture with a stream that has no state is read again up to its place") {
  std::vector<MixturePart> parts;
  parts.emplace_back(std::make_shared<const NumberedStream>(0, 20, /*has_state=*/false));
  parts.emplace_back(Numbered(1, 20));
  const auto data = std::make_shared<const MixtureDataset>(std::move(parts));
  DataLoader whole(data, {.batch_size = 2, .shuffle = true}), first = whole, second = whole;
  const List expected = rest_of(whole);
  for (int i = 0; i < 3; ++i) first.next();
  second.load_state_dict(first.state_dict());
  CHECK(rest_of(second) == List(expected.begin() + 6, expected.end()));
}

TEST_CASE("a mixture takes shards and tables, and resumes in the middle of a shard's buffer") {
  const tar_fixture::Shards shards(4, 6);
  const auto tar = std::make_shared<const TarDataset>(std::vector<std::string>{shards.pattern},
                                                      TarDatasetOptions{.shuffle_buffer = 5});
  std::vector<MixturePart> parts;
  parts.emplace_back(tar, 2);
  const at::Tensor target = at::arange(kApart, kApart + 30, at::TensorOptions(at::kLong));
  parts.emplace_back(TensorDataset(at::ones({30, 4}), target));
  const auto data = std::make_shared<const MixtureDataset>(
      std::move(parts), MixtureDatasetOptions{.stopping_strategy = "all_exhausted_without_replacement"});
  DataLoader whole(data, {.batch_size = 4, .shuffle = true, .num_workers = 2, .seed = 8});
  const List expected = rest_of(whole);
  CHECK(std::set<int64_t>(expected.begin(), expected.end()).size() == 54);
  for (int64_t batches = 1; batches < 13; batches += 3) {
    DataLoader first(whole), second(whole);
    first.set_epoch(0);
    for (int64_t i = 0; i < batches; ++i) first.next();
    second.load_state_dict(first.state_dict());
    CHECK(rest_of(second) == List(expected.begin() + batches * 4, expected.end()));
  }
}

TEST_CASE("random changes of samples depend on the dataset, the index and how often it has started") {
  std::vector<MixturePart> parts;
  parts.emplace_back(Numbered(0, 4, /*noisy=*/true));
  parts.emplace_back(Numbered(1, 40, /*noisy=*/true));
  const auto data = std::make_shared<const MixtureDataset>(
      std::move(parts), MixtureDatasetOptions{.stopping_strategy = StoppingStrategy::AllExhausted});
  const auto noise_of = [&](int64_t batch_size, int64_t workers) {
    DataLoader loader(data, {.batch_size = batch_size, .shuffle = true, .num_workers = workers, .seed = 3});
    std::vector<double> noise;
    while (const auto loaded = loader.next())
      for (int64_t i = 0; i < loaded->samples; ++i) noise.push_back(loaded->batch.input()[i][0].item<double>());
    return noise;
  };
  const std::vector<double> noise = noise_of(5, 0);
  CHECK(noise == noise_of(3, 2));
  CHECK(std::set<double>(noise.begin(), noise.end()).size() == noise.size());
}

TEST_CASE("rows of tokens are filled up where there is a mask, other samples must be alike") {
  const auto rows = [](int64_t length, at::ScalarType type, bool masked = true) {
    const at::Tensor ids = at::full({3, length}, 7, at::TensorOptions(type));
    std::vector<Batch::Item> items = {{"input", ids}, {"target", ids}};
    if (masked) items.emplace_back("attention_mask", at::ones({3, length}, at::TensorOptions(at::kLong)));
    return TensorDataset(Batch(std::move(items)));
  };
  const auto batch_of = [](TensorDataset a, TensorDataset b) {
    std::vector<MixturePart> parts;
    parts.emplace_back(std::move(a));
    parts.emplace_back(std::move(b));
    DataLoader loader(std::make_shared<const MixtureDataset>(std::move(parts)), {.batch_size = 2});
    return loader.next()->batch;
  };
  const Batch filled = batch_of(rows(2, at::kLong), rows(3, at::kLong));
  CHECK(values(filled.input()) == List{7, 7, 0, 7, 7, 7});
  CHECK(values(filled.target()) == List{7, 7, -100, 7, 7, 7});
  CHECK(values(filled["attention_mask"]) == List{1, 1, 0, 1, 1, 1});
  CHECK(contains(error_text<levin::UsageError>([&] { batch_of(rows(2, at::kLong, false), rows(3, at::kLong, false)); }),
                 "Mixture: 'input' of a sample is Long [2] in dataset 0 and Long [3] in dataset 1"));
  CHECK(contains(error_text<levin::UsageError>([&] { batch_of(rows(2, at::kLong), rows(2, at::kInt)); }),
                 "is Long [2] in dataset 0 and Int [2] in dataset 1"));
  CHECK(contains(error_text<levin::UsageError>([&] { batch_of(rows(2, at::kLong), rows(2, at::kLong, false)); }),
                 "samples of dataset 0 have input, target, attention_mask, those of dataset 1 have input, target"));
}

TEST_CASE("what a mixture cannot use is refused") {
  CHECK(MixtureDataset({{Numbered(0, 3), 2}, {std::make_shared<const NumberedStream>(1, 3), 1}}).class_names().empty());
  CHECK(error_text<levin::UsageError>([] { MixtureDataset({}); }) == "Mixture: there are no datasets");
  for (const double weight : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    CHECK(
        contains(error_text<levin::UsageError>([&] { mixture({{3, 3}, {1, weight}}); }), "the weight of dataset 1 is"));
  std::vector<MixturePart> parts;
  parts.emplace_back(std::make_shared<const NumberedStream>(0, 0));
  DataLoader empty(std::make_shared<const MixtureDataset>(parts), {});
  CHECK(contains(error_text<levin::UsageError>([&] { empty.next(); }), "Mixture: dataset 0 has no samples"));
  State state = *mixture({{3, 3}, {1, 1}})->open({})->state_dict();
  CHECK(contains(error_text([&] { mixture({{3}, {1}})->open({})->load_state_dict(state); }),
                 "saved with 2 datasets, now there are 1"));
}

TEST_CASE("a config mixes data modules by name, and evaluates one after another") {
  const tar_fixture::Shards shards(3, 4);
  const std::string digits =
      R"({"class": "SyntheticDigits", "train_size": 30, "val_size": 6, "test_size": 5, "shuffle": false})";
  Mixture data =
      module_of(R"({"weights": [3, 1], "batch_size": 7, "seed": 1, "datasets": [)" + digits + ", " + digits + "]}");
  data.setup(levin::Stage::Fit);
  const Loaders train = data.train_dataloader(), val = data.val_dataloader();
  CHECK(data.batch_size() == 7);
  const auto first = train[0].next();
  CHECK(first->samples == 7);
  CHECK(first->batch.input().sizes().slice(1) == at::IntArrayRef{1, 28, 28});
  CHECK(val[0].size() == 2);
  CHECK(rest_of(val[0]).size() == 12);
  {
    const CapturedStderr captured;
    module_of(R"({"datasets": [{"class": "SyntheticDigits", "batch_size": 5}]})");
    CHECK(contains(captured.text(), "data.datasets[0].batch_size: has no effect in a mixture; set data.batch_size"));
  }
  data.setup(levin::Stage::Test);
  CHECK(rest_of(data.test_dataloader()[0]).size() == 10);
  Mixture tar = module_of(R"({"datasets": [{"class": "Tar", "shards": [")" + shards.pattern + R"("]}]})");
  tar.setup(levin::Stage::Fit);
  CHECK(sorted(rest_of(tar.train_dataloader()[0])) == levin::testing::range(12));
  CHECK(tar.val_dataloader().empty());

  const auto refused = [](const std::string& options) {
    return error_text<levin::UsageError>([&] {
      Mixture refused_one = module_of(options);
      refused_one.setup(levin::Stage::Fit);
      refused_one.train_dataloader();
    });
  };
  CHECK(contains(refused("{}"), "data.datasets: not set"));
  CHECK(contains(refused(R"({"datasets": [)" + digits + R"(], "weights": [1, 2]})"),
                 "data.weights: 2 weights for 1 datasets"));
  CHECK(contains(refused(R"({"datasets": [{"class": "Tarr"}]})"), "did you mean Tar?"));
  CHECK(contains(refused(R"({"datasets": [{"class": "Tar", "shards": ["/missing.tar"]}]})"), "no file /missing.tar"));
}

TEST_CASE("what the datasets of a mixture learn goes with the model") {
  const TemporaryFolder folder;
  const auto text = [&](const std::string& name, const std::string& content) {
    write_bytes(folder / name, content);
    return R"({"class": "Text", "level": "characters", "block_size": 2, "file": ")" + (folder / name).string() +
           R"("})";
  };
  const auto mixed = [&](const std::string& a, const std::string& b) {
    return module_of(R"({"datasets": [)" + a + ", " + b + "]}");
  };
  Mixture data = mixed(text("a", "abcabcabcabcabcabcabc"), text("b", "xyzzyxxyzxyzzyxxyzxyz"));
  const State learned = data.learned_state();
  CHECK(contains(levin::json_of_state(learned), "abc"));
  CHECK(contains(levin::json_of_state(learned), "xyz"));
  CHECK(data.state_dict().is_none());
  // Another text of the same characters is read by what was learned.
  Mixture other = mixed(text("c", "cccccccccaaccccccccaa"), text("d", "zzzzzzzzzzzzzzzzzzzzz"));
  other.load_learned_state(learned);
  other.setup(levin::Stage::Fit);
  CHECK(levin::json_of_state(other.learned_state()) == levin::json_of_state(learned));
  CHECK(contains(error_text([&] { data.load_learned_state(State::dict({{"datasets", State::list()}})); }),
                 "the state is of 0 datasets, the config has 2"));
}
