#include <levin/data/dataset.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <levin/core/system/error.h>

#include <algorithm>

#include "tests/catch.h"
#include "tests/data/counting.h"

using levin::Batch;
using namespace levin::data;
using levin::testing::counting;
using levin::testing::range;
using levin::testing::values;

namespace {

/// Sample i is i plus a random number.
class Drawn : public Dataset {
 public:
  explicit Drawn(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  Batch get(int64_t index, Rng& rng) const override {
    if (index == 5) throw std::runtime_error("five is broken");
    return Batch(at::full({}, static_cast<double>(index) + rng.uniform()));
  }

 private:
  int64_t size_;
};

Indices listed(std::vector<int64_t> indices, uint64_t seed = 0, int64_t epoch = 0) {
  Indices made(std::move(indices));
  made.seed = seed;
  made.epoch = epoch;
  return made;
}

Batch batch_of(const Dataset& dataset, const Indices& indices) {
  Batch batch;
  dataset.get_batch(indices, batch);
  return batch;
}

}  // namespace

TEST_CASE("indices are a range, of consecutive samples and of a list") {
  for (const Indices& indices : {Indices(3, 4), listed({9, 0, 2}), Indices()}) {
    std::vector<int64_t> all;
    for (const int64_t index : indices) all.push_back(index);
    REQUIRE(all.size() == static_cast<size_t>(indices.size()));
    for (size_t i = 0; i < all.size(); ++i) CHECK(all[i] == indices[static_cast<int64_t>(i)]);
  }
}

TEST_CASE("the tensors of a dataset must have a row for each sample") {
  const at::Tensor x = at::arange(4, at::TensorOptions(at::kFloat));
  CHECK_THROWS_WITH(TensorDataset(x, x.narrow(0, 0, 3)),
                    "TensorDataset: 4 samples, but 'target' has the shape [3]; dimension 0 must count the samples");
  const TensorDataset named(Batch({{"a", x}, {"b", x * 2}}));
  Rng rng(0, 0, 0);
  CHECK(named.get(2, rng)["b"].item<float>() == 4);
  Batch batch;
  named.get_batch(Indices(1, 2), batch);
  CHECK(at::equal(batch["b"], x.narrow(0, 1, 2) * 2));
  named.get_batch(listed({3, 2}), batch);
  CHECK(at::equal(batch["a"], x.narrow(0, 2, 2).flip(0)));
}

TEST_CASE("rows are copied whatever their dtype and layout") {
  const at::Tensor x = at::arange(24, at::TensorOptions(at::kLong)).view({6, 4});
  const std::vector<at::Tensor> layouts = {x,
                                           x.to(at::kHalf),
                                           x.to(at::kBool),
                                           x.t().contiguous().t(),
                                           x.narrow(1, 1, 2),
                                           x.to(at::kFloat).unsqueeze(2).expand({6, 4, 3}),
                                           x.select(1, 0)};
  for (const at::Tensor& tensor : layouts) {
    const TensorDataset dataset(tensor);
    CHECK(at::equal(batch_of(dataset, Indices(2, 3)).input(), tensor.narrow(0, 2, 3)));
    const Indices some = listed({5, 0, 5});
    CHECK(at::equal(batch_of(dataset, some).input(), tensor.index_select(0, some.tensor())));
  }
}

TEST_CASE("a sample that is not there is an error, not a read past the end") {
  const auto dataset = counting(4);
  CHECK_THROWS_WITH(batch_of(*dataset, listed({1, 4})),
                    "sample 4 was asked for, but the dataset has 4; the sampler is of other data");
  CHECK_THROWS_AS(batch_of(*dataset, Indices(2, 3)), levin::Error);
  CHECK_THROWS_AS(batch_of(*dataset, Indices(-1, 2)), levin::Error);
}

TEST_CASE("a batch's memory is used again when nobody else holds it") {
  const auto dataset = counting(8);
  Batch batch;
  dataset->get_batch(Indices(0, 4), batch);
  const void* memory = batch.input().const_data_ptr();
  dataset->get_batch(listed({7, 6, 5}), batch);
  CHECK(batch.input().const_data_ptr() == memory);
  CHECK(values(batch.target()) == std::vector<int64_t>{7, 6, 5});
  SECTION("held as a tensor") {
    const at::Tensor held = batch.input();
    dataset->get_batch(Indices(0, 3), batch);
    CHECK(batch.input().const_data_ptr() != memory);
    CHECK(values(held) == std::vector<int64_t>{7, 6, 5});
  }
  SECTION("held as a view") {
    const at::Tensor view = batch.input().view({-1});
    dataset->get_batch(Indices(0, 3), batch);
    CHECK(batch.input().const_data_ptr() != memory);
    CHECK(values(view) == std::vector<int64_t>{7, 6, 5});
  }
  SECTION("held as a batch") {
    const Batch held = batch;
    dataset->get_batch(Indices(0, 3), batch);
    CHECK(values(held.target()) == std::vector<int64_t>{7, 6, 5});
  }
  SECTION("a tensor that learns is not used again") {
    batch.input().requires_grad_();
    dataset->get_batch(Indices(0, 3), batch);
    CHECK_FALSE(batch.input().requires_grad());
  }
  SECTION("more samples than there is room for") {
    dataset->get_batch(Indices(0, 8), batch);
    CHECK(values(batch.target()) == range(8));
  }
}

TEST_CASE("named tensors are used again too, unless another batch shares them") {
  const TensorDataset dataset(Batch({{"a", at::arange(6, at::TensorOptions(at::kLong))}}));
  Batch batch;
  dataset.get_batch(Indices(0, 3), batch);
  const void* memory = batch["a"].const_data_ptr();
  dataset.get_batch(Indices(3, 3), batch);
  CHECK(batch["a"].const_data_ptr() == memory);
  const Batch shared = batch;
  dataset.get_batch(Indices(0, 3), batch);
  CHECK(values(shared["a"]) == std::vector<int64_t>{3, 4, 5});
  CHECK(values(batch["a"]) == range(3));
}

TEST_CASE("an error of get names the sample and stays what it was") {
  CHECK_THROWS_WITH(batch_of(Drawn(9), Indices(3, 4)), "sample 5: five is broken");
  CHECK_THROWS_AS(batch_of(Drawn(9), Indices(3, 4)), levin::Error);
}

TEST_CASE("a subset gives the other dataset's samples, with their random numbers") {
  const Drawn noisy(20);
  const Subset subset(noisy, {9, 2, 7});
  CHECK(subset.size() == 3);
  const at::Tensor direct = batch_of(noisy, listed({7, 9}, 3, 1)).input();
  CHECK(at::equal(batch_of(subset, listed({2, 0}, 3, 1)).input(), direct));
  CHECK_THROWS_WITH(Subset(noisy, {20}), "Subset: index 20 is outside the dataset of 20 samples");
}

TEST_CASE("datasets one after the other are one dataset") {
  const auto first = counting(3);
  const TensorDataset second(at::full({2, 1}, 5.0), at::arange(10, 12, at::TensorOptions(at::kLong)));
  const ConcatDataset both({first, second});
  CHECK(both.size() == 5);
  CHECK(values(batch_of(both, listed({4, 0, 3, 2})).target()) == std::vector<int64_t>{11, 0, 10, 2});
  CHECK(values(batch_of(both, listed({4, 3})).target()) == std::vector<int64_t>{11, 10});
  Rng rng(0, 0, 0);
  CHECK(both.get(3, rng).target().item<int64_t>() == 10);
  CHECK_THROWS_AS(batch_of(both, listed({5})), levin::Error);
  CHECK_THROWS_AS(ConcatDataset({}), levin::UsageError);
  // Samples of the same index in two datasets have different random numbers.
  const ConcatDataset twice({Drawn(3), Drawn(3)});
  const at::Tensor numbers = batch_of(twice, listed({1, 4})).input();
  CHECK(numbers[0].item<double>() != numbers[1].item<double>());
}

TEST_CASE("a random split gives each sample to one part, the same way each time") {
  const auto parts = random_split(counting(10), {0.75, 0.25}, 1);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].size() == 8);
  CHECK(parts[1].size() == 2);
  std::vector<int64_t> all = parts[0].indices();
  all.insert(all.end(), parts[1].indices().begin(), parts[1].indices().end());
  CHECK(all != range(10));
  std::ranges::sort(all);
  CHECK(all == range(10));
  CHECK(random_split(counting(10), {0.75, 0.25}, 1)[0].indices() == parts[0].indices());
  CHECK(random_split(counting(10), {0.75, 0.25}, 2)[0].indices() != parts[0].indices());
  CHECK(random_split(counting(10), {3, 7})[1].size() == 7);
  CHECK_THROWS_WITH(random_split(counting(10), {3, 6}),
                    "random_split: the lengths add up to 9, the dataset has 10 samples; give counts with this sum, or "
                    "fractions with the sum 1");
  CHECK_THROWS_AS(random_split(counting(10), {-1, 11}), levin::UsageError);
}

TEST_CASE("a transform sees each sample's own random numbers, whatever the batch") {
  const auto noise = std::make_shared<Lambda>([](Batch& batch, std::span<Rng> rngs) {
    for (size_t i = 0; i < rngs.size(); ++i) batch.input()[static_cast<int64_t>(i)].add_(rngs[i].uniform());
  });
  const TransformedDataset dataset(counting(10), noise);
  CHECK(dataset.size() == 10);
  const at::Tensor together = batch_of(dataset, listed({4, 8, 2}, 7, 1)).input();
  CHECK(at::equal(together[1], batch_of(dataset, listed({8}, 7, 1)).input()[0]));
  CHECK_FALSE(at::equal(together[1], batch_of(dataset, listed({8}, 7, 2)).input()[0]));
  CHECK_THROWS_AS(TransformedDataset(counting(10), nullptr), levin::UsageError);
}
