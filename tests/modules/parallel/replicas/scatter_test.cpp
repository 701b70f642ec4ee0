#include <levin/modules/parallel/replicas/scatter.h>
#include <levin/modules/parallel/replicas/gather.h>

#include <map>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/parallel/parallel_nets.h"

using levin::Batch;
using levin::parallel::gather;
using levin::parallel::scatter;
using torch::Tensor;

namespace {

/// A user's batch struct.
struct Words {
  Tensor ids;
  int64_t size() const { return ids.size(0); }
  Words to(c10::Device device) const { return {ids.to(device)}; }
  Words narrow(int64_t start, int64_t length) const { return {ids.narrow(0, start, length)}; }
  static Words gather(const std::vector<Words>& parts) {
    std::vector<Tensor> ids;
    for (const Words& part : parts) ids.push_back(part.ids);
    return {torch::cat(ids)};
  }
};

std::vector<int64_t> rows_of(const std::vector<Tensor>& parts, int64_t dim = 0) {
  std::vector<int64_t> rows;
  for (const Tensor& part : parts) rows.push_back(part.size(dim));
  return rows;
}

}  // namespace

TEST_CASE("Tensors are split as torch::chunk does", "[parallel]") {
  const Tensor rows = torch::arange(35).view({7, 5});
  for (const size_t devices : {1, 2, 3, 4, 5, 9}) {
    for (const int64_t dim : {0, 1}) {
      const auto parts = scatter(rows, cpus(devices), dim);
      const auto chunks = rows.chunk(static_cast<int64_t>(devices), dim);
      REQUIRE(parts.size() == chunks.size());
      for (size_t i = 0; i < parts.size(); ++i) CHECK(torch::equal(parts[i], chunks[i]));
      CHECK(rows_of(parts, dim) == levin::parallel::chunk_sizes(rows.size(dim), devices));
      CHECK(torch::equal(gather(parts, torch::kCPU, dim), rows));
    }
  }
}

TEST_CASE("Lists, maps, tuples and batches are split and put together", "[parallel]") {
  using Value = std::tuple<std::vector<Tensor>, std::map<std::string, Tensor>, std::optional<Tensor>, Batch, Words>;
  const Tensor x = torch::arange(5);
  const Batch boxes({{"input", x}, {"boxes", Batch::List{x[0], x[1], x[2], x[3], x[4]}}});
  const Value value{{x, x * 2}, {{"mask", x * 3}}, x * 4, boxes, Words{x * 5}};
  const auto parts = levin::parallel::split_and_load(value, cpus(2));
  REQUIRE(parts.size() == 2);
  const auto& [list, map, optional, batch, words] = parts[1];
  const Tensor tail = x.slice(0, 3);
  CHECK(torch::equal(list[1], tail * 2));
  CHECK(torch::equal(map.at("mask"), tail * 3));
  CHECK(torch::equal(*optional, tail * 4));
  CHECK(torch::equal(batch.input(), tail));
  CHECK(batch.list("boxes").size() == 2);
  CHECK(torch::equal(words.ids, tail * 5));

  const Value whole = gather(parts, torch::kCPU);
  CHECK(torch::equal(std::get<0>(whole)[1], x * 2));
  CHECK(torch::equal(std::get<1>(whole).at("mask"), x * 3));
  CHECK(torch::equal(*std::get<2>(whole), x * 4));
  CHECK(std::get<3>(whole).list("boxes").size() == 5);
  CHECK(torch::equal(std::get<4>(whole).ids, x * 5));
}

TEST_CASE("Values without rows go to every device", "[parallel]") {
  const auto parts =
      scatter(std::tuple(torch::ones({4}), torch::tensor(3.0), 7, std::string("mean"), Tensor()), cpus(2));
  REQUIRE(parts.size() == 2);
  for (const auto& [rows, scalar, number, text, none] : parts) {
    CHECK(rows.size(0) == 2);
    CHECK(scalar.item<double>() == 3.0);
    CHECK(number == 7);
    CHECK(text == "mean");
    CHECK_FALSE(none.defined());
  }
}

TEST_CASE("Gradients flow back through scatter and gather", "[parallel]") {
  const Tensor x = torch::randn({5, 2}, torch::requires_grad());
  const auto parts = scatter(x, cpus(2));
  const Tensor whole = gather(std::vector<Tensor>{parts[0] * 2, parts[1].mul_(3)}, torch::kCPU);
  whole.sum().backward();
  CHECK(torch::equal(x.grad(), torch::tensor({2.0, 2.0, 2.0, 3.0, 3.0}).to(torch::kFloat).view({5, 1}).expand({5, 2})));
}

TEST_CASE("0-dimensional values are gathered to a vector, and weighed by their samples", "[parallel]") {
  const Tensor losses = gather(std::vector<Tensor>{torch::tensor(1.0), torch::tensor(4.0)}, torch::kCPU);
  CHECK(torch::equal(losses, torch::tensor({1.0, 4.0})));
  CHECK(levin::parallel::weighted_mean(losses, {3, 1}).item<double>() == 1.75);
  CHECK(levin::parallel::weighted_mean(torch::tensor(2.0), {}).item<double>() == 2.0);
  CHECK(contains(error_text([&] { levin::parallel::weighted_mean(losses, {3}); }), "for 1 counts"));
  CHECK(contains(error_text([&] { levin::parallel::weighted_mean(losses, {0, 0}); }), "sum to 0"));
  const Batch batch = gather(
      std::vector<Batch>{Batch({{"loss", torch::tensor(1.0)}}), Batch({{"loss", torch::tensor(2.0)}})}, torch::kCPU);
  CHECK(batch["loss"].sizes() == torch::IntArrayRef({2}));
}

TEST_CASE("A value that cannot be split or put together is an error that says why", "[parallel]") {
  const auto devices = cpus(2);
  CHECK(contains(error_text([&] { scatter(torch::ones({0, 3}), devices); }), "a batch of 0 samples cannot be split"));
  CHECK(contains(error_text([&] { scatter(torch::ones({3}), devices, 1); }), "[3] cannot be split along dim 1"));
  CHECK(contains(error_text([&] { scatter(torch::tensor(1), devices); }), "nothing to split"));
  CHECK(contains(error_text([&] { scatter(std::vector<Tensor>{torch::ones({3}), torch::ones({4})}, devices); }),
                 "one value has 3 rows along dim 0, another 4"));
  CHECK(contains(error_text([&] { scatter(Batch(torch::ones({3}), torch::ones({4})), devices); }), "cannot be split"));
  CHECK(contains(error_text([&] { scatter(Batch(torch::ones({3, 2})), devices, 1); }), "along dim 0"));
  CHECK(contains(error_text([&] { scatter(torch::ones({3}), {torch::Device("cuda:0")}); }), "no cuda"));
  const auto put = [](Tensor a, Tensor b) { gather(std::vector<Tensor>{a, b}, torch::kCPU); };
  CHECK(contains(error_text([&] { put(torch::ones({2, 3}), torch::ones({2, 4})); }), "cannot be put together"));
  CHECK(contains(error_text([&] { put(torch::ones({2}), torch::tensor(1)); }), "cannot be put together"));
  CHECK(contains(error_text([&] { put(torch::ones({2}), Tensor()); }), "some none"));
  CHECK(contains(error_text([&] { gather(std::vector<std::vector<Tensor>>{{torch::ones({2})}, {}}, torch::kCPU); }),
                 "different numbers of values"));
}
