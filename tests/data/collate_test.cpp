#include <levin/data/collate.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/data/data_loader.h>

#include "tests/catch.h"
#include "tests/data/counting.h"
#include "tests/error_text.h"

using levin::Batch;
using namespace levin::data;
using levin::testing::values;

namespace {

at::Tensor counted(int64_t length) { return at::arange(1, length + 1, at::TensorOptions(at::kLong)); }

/// Sequences of the lengths 1, 2, ..., each with a target and a list of boxes.
class Sequences : public Dataset {
 public:
  int64_t size() const override { return 4; }
  Batch get(int64_t index, Rng& /*rng*/) const override {
    Batch::List boxes = {Batch(at::full({index, 4}, 0.0))};
    return Batch({{"input", counted(index + 1)},
                  {"target", at::full({}, index, at::TensorOptions(at::kLong))},
                  {"boxes", Batch::Value(std::move(boxes))}});
  }
};

/// A user's sample and batch structs.
struct Graph {
  at::Tensor nodes = {};
  std::vector<int64_t> sizes = {};
  int64_t size() const { return static_cast<int64_t>(sizes.size()); }
  Graph to(c10::Device device) const { return {nodes.to(device), sizes}; }
  static Graph stack(const std::vector<Graph>& graphs) {
    Graph all;
    std::vector<at::Tensor> nodes;
    for (const Graph& graph : graphs) {
      nodes.push_back(graph.nodes.sum());
      all.sizes.push_back(graph.nodes.size(0));
    }
    all.nodes = at::stack(nodes);
    return all;
  }
};

class Graphs : public Dataset {
 public:
  int64_t size() const override { return 3; }
  Batch get(int64_t index, Rng& /*rng*/) const override { return Batch(Graph{counted(index + 1), {}}); }
};

}  // namespace

TEST_CASE("sequences are padded to the longest of the batch, with their lengths") {
  for (const int64_t workers : {0, 2}) {
    DataLoader loader(Sequences(), {.batch_size = 3, .num_workers = workers, .collate = pad_to_longest({.value = -1})});
    const Batch batch = loader.next()->batch;
    CHECK(batch.input().sizes() == at::IntArrayRef({3, 3}));
    CHECK(values(batch.input()) == std::vector<int64_t>{1, -1, -1, 1, 2, -1, 1, 2, 3});
    CHECK(values(batch["input_lengths"]) == std::vector<int64_t>{1, 2, 3});
    CHECK(values(batch.target()) == std::vector<int64_t>{0, 1, 2});
    CHECK(batch.list("boxes").size() == 3);
    CHECK(batch.list("boxes")[2].input().size(0) == 2);
    CHECK(values(loader.next()->batch["input_lengths"]) == std::vector<int64_t>{4});
  }
}

TEST_CASE("a field that cannot be padded is named") {
  const Collate pad = pad_to_longest();
  CHECK(error_text([&] { pad({Batch(at::zeros({2, 3})), Batch(at::zeros({2, 4}))}); }) ==
        "pad_to_longest: 'input' has the shapes [2, 3] and [2, 4]; only dimension 0 may differ, and the dtype must be "
        "one");
  CHECK_THROWS_AS(pad({Batch(at::zeros({}))}), levin::Error);
  CHECK_THROWS_AS(pad({Batch({{"x", at::zeros({2})}})}), levin::Error);
}

TEST_CASE("a user's own structs are put together by their stack, or by a collate of the user's") {
  DataLoader loader(Graphs(), {.batch_size = 3});
  const Graph& graph = loader.next()->batch.as<Graph>();
  CHECK(values(graph.nodes) == std::vector<int64_t>{1, 3, 6});
  CHECK(graph.sizes == std::vector<int64_t>{1, 2, 3});
  DataLoader counts(Graphs(), {.batch_size = 3, .collate = [](const std::vector<Batch>& samples) {
                                 return Batch(counted(static_cast<int64_t>(samples.size())));
                               }});
  CHECK(values(counts.next()->batch.input()) == std::vector<int64_t>{1, 2, 3});
}
