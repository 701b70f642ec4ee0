#include <levin/data/learned_state.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <levin/core/state/json_state.h>
#include <levin/core/system/warnings.h>
#include <levin/data/datasets/csv.h>
#include <levin/data/datasets/npy.h>
#include <levin/data/datasets/synthetic_digits.h>
#include <levin/data/datasets/text.h>
#include <levin/data/files/npy_file.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::Stage;
using levin::State;
using levin::console::WarningList;
using levin::console::WarningScope;
using namespace levin::data;

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

/// The warnings of use_learned_section.
template <class Data>
std::vector<std::string> warnings_of_use(Data& data, const State& section) {
  const auto list = std::make_shared<WarningList>(/*prints=*/false);
  const WarningScope scope(list);
  use_learned_section(data, section, "old.ckpt");
  return list->messages();
}

CsvOptions table(const std::filesystem::path& file, const std::filesystem::path& test) {
  CsvOptions options{.file = file.string(), .test_file = test.string()};
  options.columns = {.categories = {"city"}, .target = "sold", .missing = "mean", .standardize = true};
  return options;
}

const char* const kRows = "area,city,sold\n80,Rome,yes\n50,Oslo,no\n120,Rome,no\n70,Bern,yes\n";
const char* const kOtherRows = "area,city,sold\n800,Rome,agreed\n500,Oslo,no\n1200,Athens,no\n700,Bern,agreed\n";
const char* const kAsked = "area,city,sold\n90,Bern,no\n,Rome,yes\n";

template <class Data>
Batch batch_of(Data& data, Stage stage) {
  data.setup(stage);
  return (stage == Stage::Test ? data.test_dataloader() : data.predict_dataloader())[0].next()->batch;
}

}  // namespace

TEST_CASE("a table is read by what other rows have taught, with the training file as it is, changed, or gone") {
  const TemporaryFolder folder;
  write(folder / "train.csv", kRows);
  write(folder / "test.csv", kAsked);
  Csv trained(table(folder / "train.csv", folder / "test.csv"));
  const State section = learned_section(trained);
  CHECK(section.at("class").to_string() == "Csv");
  const Batch expected = batch_of(trained, Stage::Test);
  CHECK(expected.target()[1].item<int64_t>() == 1);

  Csv same(table(folder / "train.csv", folder / "test.csv"));
  CHECK(warnings_of_use(same, section).empty());
  CHECK(at::equal(batch_of(same, Stage::Test).input(), expected.input()));

  write(folder / "train.csv", kOtherRows);
  Csv changed(table(folder / "train.csv", folder / "test.csv"));
  CHECK(warnings_of_use(changed, section) ==
        std::vector<std::string>{"the training data of the config say otherwise than old.ckpt, whose values are used: "
                                 "mean, std, vocabularies, class_names"});
  const auto check = [&](Csv& data) {
    const Batch batch = batch_of(data, Stage::Test);
    CHECK(at::equal(batch.input(), expected.input()));
    CHECK(at::equal(batch["category"], expected["category"]));
    CHECK(at::equal(batch.target(), expected.target()));
    CHECK(data.category_sizes() == std::vector<int64_t>{3});
    CHECK(levin::json_of_state(learned_section(data)) == levin::json_of_state(section));
  };
  check(changed);

  std::filesystem::remove(folder / "train.csv");
  Csv alone(table(folder / "train.csv", folder / "test.csv"));
  CHECK(warnings_of_use(alone, section).empty());
  check(alone);
}

TEST_CASE("raw rows become the dataset's own by tensor operations, bit for bit") {
  const TemporaryFolder folder;
  write(folder / "train.csv", kRows);
  write(folder / "test.csv", kAsked);
  Csv data(table(folder / "train.csv", folder / "test.csv"));
  const Batch expected = batch_of(data, Stage::Predict);
  const auto raw = data.raw_input();
  REQUIRE(raw);
  CHECK(raw->meaning == "input: the numbers area; category: the codes of city");
  CHECK(raw->example.input().sizes() == at::IntArrayRef({2, 1}));
  Batch rows;
  rows.set("input", at::cat({at::full({1, 1}, 90.0f), at::full({1, 1}, NAN)}));
  rows.set("category", expected["category"]);
  const Batch prepared = raw->prepare(rows);
  CHECK(at::equal(prepared.input(), expected.input()));
  CHECK(at::equal(prepared["category"], expected["category"]));
}

TEST_CASE("a text is numbered by the vocabulary that was learned") {
  const TemporaryFolder folder;
  write(folder / "a.txt", "abcdefgh abcdefgh");
  Text trained({.file = (folder / "a.txt").string(), .val_fraction = 0, .text = {.block_size = 4}});
  const State section = learned_section(trained);
  write(folder / "b.txt", "defghdefgh");
  Text other({.file = (folder / "b.txt").string(), .val_fraction = 0, .text = {.block_size = 4}});
  CHECK(warnings_of_use(other, section).size() == 1);
  // The space is 0 and a is 1, although neither occurs.
  CHECK(at::equal(batch_of(other, Stage::Predict).input()[0], at::arange(4, at::TensorOptions(at::kLong)) + 4));
  write(folder / "c.txt", "defghxdefgh");
  Text unknown({.file = (folder / "c.txt").string(), .val_fraction = 0, .text = {.block_size = 4}});
  warnings_of_use(unknown, section);
  CHECK(
      contains(error_text<levin::UsageError>([&] { unknown.setup(Stage::Predict); }), "'x' is not in the vocabulary"));
}

TEST_CASE("arrays are divided by what the training inputs were divided by") {
  const TemporaryFolder folder;
  const at::Tensor bytes = at::arange(0, 240, 10, at::TensorOptions(at::kByte)).reshape({4, 6});
  write_npy(folder / "train.npy", bytes);
  write_npy(folder / "test.npy", bytes.to(at::kDouble));
  const NpyOptions options{
      .input = (folder / "train.npy").string(), .test_input = (folder / "test.npy").string(), .dtype = "float32"};
  Npy trained(options);
  const State section = learned_section(trained);
  Npy again(options);
  CHECK(warnings_of_use(again, section).empty());
  const auto list = std::make_shared<WarningList>(/*prints=*/false);
  const WarningScope scope(list);
  Npy alone({.test_input = options.test_input, .dtype = "float32"});
  use_learned_section(alone, section, "old.ckpt");
  CHECK(at::equal(batch_of(alone, Stage::Predict).input(), bytes.to(at::kFloat) / 255));
  REQUIRE(list->messages().size() == 1);
  CHECK(contains(list->messages()[0], "holds float64, the training inputs are uint8; both are divided by 255"));
  CHECK(at::equal(alone.raw_input()->prepare(Batch(bytes)).input(), bytes.to(at::kFloat) / 255));
  Npy by_sixteen({.input = options.input, .dtype = "float32", .divide_by = 16});
  by_sixteen.setup(Stage::Fit);
  CHECK(at::equal(by_sixteen.train_dataloader()[0].next()->batch.input().sum(), (bytes.to(at::kFloat) / 16).sum()));
}

TEST_CASE("what another class of data has learned is left alone, and what cannot be read names its file") {
  const TemporaryFolder folder;
  write(folder / "train.csv", kRows);
  Csv trained(table(folder / "train.csv", ""));
  SyntheticDigits digits;
  const std::vector<std::string> warnings = warnings_of_use(digits, learned_section(trained));
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], "old.ckpt: its model was trained on the data module Csv"));
  const State broken = State::dict({{"class", "Csv"}, {"learned", State::dict({{"features", 3}})}});
  CHECK(contains(error_text<levin::UsageError>([&] { use_learned_section(trained, broken, "old.ckpt"); }),
                 "old.ckpt: what it says of the training data cannot be used: "));
  DataModule learns_nothing;
  CHECK(learned_section(learns_nothing).is_none());
}
