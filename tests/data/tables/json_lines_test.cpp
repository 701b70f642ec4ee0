#include <levin/data/datasets/json_lines.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace levin::data {
namespace {

TEST_CASE("JSON lines become numbers, classes, codes and a mask, and what was learnt encodes other data") {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  std::ofstream(path("train.jsonl")) << R"({"a": 1, "b": 2.5, "word": "x", "ids": [1, 2], "label": "dog"})"
                                        "\n"
                                     << R"({"a": 3, "b": null, "word": "y", "ids": [], "label": "cat"})"
                                        "\n";
  std::ofstream(path("val.jsonl")) << R"({"a": 2, "b": 0.5, "word": "new", "ids": [7], "label": "cat"})"
                                      "\n";
  JsonLinesOptions options;
  options.table.files = {path("train.jsonl")};
  options.table.val_files = {path("val.jsonl")};
  options.table.columns.fields = {{"input", "a,b"}, {"category", "word"}, {"ids", "ids"}, {"target", "label"}};
  options.table.columns.missing = "mean";
  options.table.columns.unknown = "code";
  options.table.columns.field_options.pad = {{"ids", 9}};
  options.table.columns.field_options.attention_mask = "ids";
  options.shuffle = false;
  for (const double memory_gb : {4.0, 1e-9}) {
    options.table.columns.memory_gb = memory_gb;
    JsonLines data(options);
    data.setup(Stage::Fit);
    const Batch batch = data.train_dataloader()[0].next()->batch;
    CHECK(at::equal(batch.input(), at::tensor({1.F, 2.5F, 3.F, 2.5F}).view({2, 2})));
    CHECK(at::equal(batch.target(), at::tensor({1, 0}, at::kLong)));
    CHECK(at::equal(batch["category"], at::tensor({0, 1}, at::kLong).view({2, 1})));
    CHECK(at::equal(batch["ids"], at::tensor({1, 2, 9, 9}, at::kLong).view({2, 2})));
    CHECK(at::equal(batch["attention_mask"], at::tensor({1, 1, 0, 0}, at::kLong).view({2, 2})));
    const Batch val = data.val_dataloader()[0].next()->batch;
    CHECK(at::equal(val["category"], at::tensor({2}, at::kLong).view({1, 1})));
    const TabularSizes sizes = data.tabular_sizes();
    CHECK(sizes.features == 2);
    CHECK(sizes.categories == std::vector<int64_t>{3});
    CHECK(sizes.classes == 2);
    // A module that only knows what was learnt reads the same.
    JsonLines other(options);
    other.load_learned_state(data.learned_state());
    other.setup(Stage::Validate);
    CHECK(at::equal(other.val_dataloader()[0].next()->batch["category"], val["category"]));
  }
}

}  // namespace
}  // namespace levin::data
