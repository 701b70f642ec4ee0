// LEVIN_BATCH_FIELDS makes a struct of tensors a batch.
#include <levin/data/batch_fields.h>
#include <levin/data/batch.h>
#include <torch/types.h>

#include "tests/catch.h"

namespace {

struct Pair {
  torch::Tensor left = {}, right = {};
  int64_t number = 3;
  LEVIN_BATCH_FIELDS(Pair, left, right)
};

}  // namespace

TEST_CASE("a struct with LEVIN_BATCH_FIELDS is a batch and remains an aggregate") {
  const Pair pair{.left = torch::arange(6).view({3, 2}), .right = torch::rand({3})};
  CHECK((Pair::field_names() == std::vector<std::string>{"left", "right"}));
  CHECK(pair.size() == 3);
  const levin::Batch batch(pair);
  CHECK(batch.size() == 3);
  CHECK(torch::equal(batch.narrow(1, 2).as<Pair>().left, pair.left.narrow(0, 1, 2)));
  CHECK(batch.to(torch::kDouble).as<Pair>().right.scalar_type() == torch::kDouble);
  CHECK(batch.to(torch::kDouble).as<Pair>().left.scalar_type() == torch::kLong);
  CHECK(batch.to(torch::kCPU).as<Pair>().left.data_ptr() == pair.left.data_ptr());
  const levin::Batch both = levin::Batch::gather({batch, batch}, torch::kCPU);
  CHECK(both.as<Pair>().left.size(0) == 6);
  CHECK(both.as<Pair>().number == 3);
  CHECK((levin::Batch::stack({batch, batch, batch}).as<Pair>().right.sizes() == torch::IntArrayRef{3, 3}));
}

TEST_CASE("tensors that are not set stay so") {
  const Pair pair{.left = torch::zeros({2})};
  CHECK(pair.size() == 2);
  CHECK_FALSE(pair.narrow(0, 1).right.defined());
  CHECK_FALSE(Pair::gather({pair, pair}).right.defined());
  CHECK(Pair{}.size() == 0);
}
