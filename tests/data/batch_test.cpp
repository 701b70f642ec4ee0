#include <levin/data/batch.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>

#include "tests/catch.h"
#include "tests/error_text.h"

using levin::Batch;

namespace {

at::Tensor rows_of(int64_t rows, int64_t columns) {
  return at::arange(rows * columns, at::TensorOptions(at::kFloat)).reshape({rows, columns});
}

/// The least a user's batch needs.
struct Tokens {
  at::Tensor ids;
  Tokens to(c10::Device device) const { return {ids.to(device)}; }
  int64_t size() const { return ids.size(0); }
};

struct Nodes {
  std::vector<at::Tensor> nodes;
  Nodes to(c10::Device, bool) const { return *this; }
  int64_t size() const { return static_cast<int64_t>(nodes.size()); }
  Nodes narrow(int64_t start, int64_t length) const {
    return {{nodes.begin() + start, nodes.begin() + start + length}};
  }
  static Nodes gather(const std::vector<Nodes>& parts) {
    Nodes all;
    for (const Nodes& part : parts) all.nodes.insert(all.nodes.end(), part.nodes.begin(), part.nodes.end());
    return all;
  }
};

}  // namespace

TEST_CASE("a batch of input and target gives its tensors by place and by name") {
  const at::Tensor x = rows_of(4, 3), y = rows_of(4, 1);
  const Batch batch(x, y);
  CHECK(batch.input().is_same(x));
  CHECK(batch.target().is_same(y));
  CHECK(batch["input"].is_same(x));
  CHECK(batch.size() == 4);
  CHECK(batch.names() == std::vector<std::string>{"input", "target"});
  CHECK(Batch(x).size() == 4);
  CHECK(Batch(at::zeros({})).size() == 1);
  CHECK(Batch().empty());
  CHECK(Batch().size() == 0);
}

TEST_CASE("a batch of named tensors gives each by its name") {
  const at::Tensor ids = rows_of(5, 2), mask = at::ones({5});
  const Batch batch({{"ids", ids}, {"mask", mask}, {"target", rows_of(5, 1)}});
  CHECK(batch["ids"].is_same(ids));
  CHECK(batch["mask"].is_same(mask));
  CHECK(batch.target().size(0) == 5);
  CHECK(batch.size() == 5);
  CHECK(batch.contains("ids"));
  CHECK_FALSE(batch.contains("input"));
  CHECK(Batch({{"ids", ids}}).size() == 5);
}

TEST_CASE("the error for a missing tensor of a batch lists those that it holds") {
  const Batch batch({{"ids", rows_of(2, 2)}, {"mask", rows_of(2, 2)}});
  CHECK_THROWS_WITH(batch.input(), "the batch has no 'input'; it holds ids, mask");
  CHECK_THROWS_WITH(batch["masks"], "the batch has no 'masks'; it holds ids, mask (did you mean mask?)");
  CHECK_THROWS_WITH(Batch().target(), "the batch has no 'target'; it holds nothing");
  CHECK_THROWS_WITH(Batch({{"a", rows_of(1, 1)}, {"a", rows_of(1, 1)}}), "Batch: the name 'a' is given twice");
  CHECK_THROWS_WITH(Batch({{"input", rows_of(1, 1)}, {"input", rows_of(1, 1)}}),
                    "Batch: the name 'input' is given twice");
  CHECK_THROWS_WITH(batch.list("ids"), "the batch's 'ids' is a tensor; use batch[\"ids\"]");
}

TEST_CASE("a user's own struct goes through a batch") {
  const Batch batch = Tokens{rows_of(3, 9)};
  CHECK(batch.as<Tokens>().ids.size(1) == 9);
  CHECK(batch.size() == 3);
  CHECK(batch.to(c10::kCPU).as<Tokens>().ids.is_same(batch.as<Tokens>().ids));
  CHECK(batch.pin_memory().as<Tokens>().ids.is_same(batch.as<Tokens>().ids));
  CHECK(error_text([&] { batch.as<Nodes>(); }).find("as<") != std::string::npos);
  CHECK(error_text([&] { batch.as<Nodes>(); }).find("Tokens") != std::string::npos);
  CHECK(error_text([&] { batch.input(); }).find("use batch.as<") != std::string::npos);
  CHECK(error_text([&] { batch.chunk(2); }).find("give it narrow(int64_t start, int64_t length) const") !=
        std::string::npos);
  CHECK(error_text([] { Batch(rows_of(1, 1)).as<Tokens>(); }).find("holds input") != std::string::npos);
}

TEST_CASE("moving a batch to its own device copies nothing") {
  const at::Tensor x = rows_of(4, 3);
  const Batch batch(Batch({{"input", x}, {"extra", x}}));
  const Batch moved = batch.to(c10::kCPU);
  CHECK(moved.input().is_same(x));
  CHECK(moved["extra"].is_same(x));
  CHECK(batch.to(c10::kMeta)["extra"].is_meta());
  CHECK(Batch(x).to(c10::kMeta).input().is_meta());
}

TEST_CASE("chunk and gather divide a batch and put it together again") {
  Batch batch(rows_of(7, 2), rows_of(7, 1));
  batch.set("weight", at::arange(7, at::TensorOptions(at::kFloat)));
  const std::vector<Batch> parts = batch.chunk(3);
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].size() == 3);
  CHECK(parts[2].size() == 1);
  const Batch all = Batch::gather(parts, c10::kCPU);
  for (const std::string& name : batch.names()) CHECK(at::equal(all[name], batch[name]));
  CHECK(batch.chunk(100).size() == 7);

  const Batch graphs = Nodes{{rows_of(1, 1), rows_of(2, 1), rows_of(3, 1)}};
  CHECK(graphs.chunk(2)[1].as<Nodes>().nodes[0].size(0) == 3);
  CHECK(Batch::gather(graphs.chunk(2), c10::kCPU).size() == 3);
}

TEST_CASE("a tensor without a row for each sample cannot be divided") {
  const Batch batch({{"input", rows_of(4, 2)}, {"classes", rows_of(3, 1)}});
  CHECK_THROWS_WITH(batch.chunk(2), "the batch cannot be split: 'classes' has the shape [3, 1], the batch 4 samples");
  CHECK_THROWS_AS(batch.narrow(3, 2), levin::Error);
  CHECK_THROWS_AS(batch.chunk(0), levin::Error);
  CHECK_THROWS_AS(Batch::gather({}, c10::kCPU), levin::Error);
  CHECK_THROWS_WITH(Batch::gather({Batch(rows_of(1, 1)), batch}, c10::kCPU),
                    "batches cannot be put together: one holds input, another input, classes");
}

TEST_CASE("a list has one batch for each sample") {
  const Batch batch({{"input", rows_of(3, 2)},
                     {"boxes", Batch::List{Batch(rows_of(1, 4)), Batch(rows_of(2, 4)), Batch(rows_of(5, 4))}}});
  CHECK(batch.list("boxes")[2].size() == 5);
  const Batch tail = batch.narrow(1, 2);
  CHECK(tail.list("boxes")[0].size() == 2);
  CHECK(Batch::gather({tail, batch}, c10::kCPU).list("boxes").size() == 5);
  CHECK(batch.to(c10::kMeta).list("boxes")[0].input().is_meta());
  CHECK_THROWS_WITH(batch["boxes"], "the batch's 'boxes' is a list; use batch.list(\"boxes\")");
}

TEST_CASE("setting a tensor leaves other copies of the batch alone") {
  Batch batch({{"a", rows_of(2, 1)}});
  const Batch before = batch;
  batch.set("a", rows_of(2, 5));
  batch.set("input", rows_of(2, 3));
  CHECK(batch["a"].size(1) == 5);
  CHECK(before["a"].size(1) == 1);
  CHECK_FALSE(before.contains("input"));
}

TEST_CASE("single samples are stacked to a batch") {
  const Batch batch =
      Batch::stack({Batch(at::full({2}, 1.0), at::full({}, 3)), Batch(at::full({2}, 2.0), at::full({}, 4))});
  CHECK(batch.input().sizes() == at::IntArrayRef({2, 2}));
  CHECK(batch.target().sizes() == at::IntArrayRef({2}));
  CHECK(batch.target()[1].item<int64_t>() == 4);
  CHECK(error_text([] {
          Batch::stack({Batch(Tokens{rows_of(1, 1)})});
        }).find("give it static stack(const std::vector&)") != std::string::npos);
}
