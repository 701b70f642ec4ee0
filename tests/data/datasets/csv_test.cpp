#include <levin/data/datasets/csv.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <levin/core/system/error.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::Stage;
using namespace levin::data;
using Words = std::vector<std::string>;

namespace {

const char* const kHouses =
    "id,city,area,rooms,price,sold\n"
    "1,Rome,80,3,250.5,yes\n"
    "2,Oslo,50,2,200,no\n"
    "3,\"Rome\",120,5,400,no\n"
    "4,Bern,70,2,310,yes\n";

std::filesystem::path write(const TemporaryFolder& folder, const std::string& text,
                            const std::string& name = "house.csv") {
  std::ofstream(folder / name, std::ios::binary) << text;
  return folder / name;
}

CsvDatasetOptions houses() { return {.features = {"area", "rooms"}, .categories = {"city"}, .target = "sold"}; }

/// Returns the error message of reading `text`, without the folder in front.
std::string error_of(const TemporaryFolder& folder, const std::string& text, const CsvDatasetOptions& options) {
  const auto path = write(folder, text);
  const std::string message = error_text<levin::UsageError>([&] { CsvDataset(path, options); });
  const std::string before = folder.path().string() + "/";
  return message.rfind(before, 0) == 0 ? message.substr(before.size()) : message;
}

}  // namespace

TEST_CASE("columns by name become input, category and target") {
  const TemporaryFolder folder;
  const CsvDataset data(write(folder, kHouses), houses());
  CHECK(data.size() == 4);
  Batch batch;
  data.get_batch(Indices(std::vector<int64_t>{2, 0, 3}), batch);
  CHECK(at::equal(batch.input(), at::tensor({120., 5., 80., 3., 70., 2.}, at::kFloat).reshape({3, 2})));
  CHECK(at::equal(batch["category"], at::tensor({2, 2, 0}, at::kLong).reshape({3, 1})));
  CHECK(at::equal(batch.target(), at::tensor({0, 1, 1}, at::kLong)));
  CHECK(data.class_names() == Words{"no", "yes"});
  CHECK(data.encoding().vocabularies == std::vector<Words>{{"Bern", "Oslo", "Rome"}});
  CHECK(data.encoding().features == Words{"area", "rooms"});
  CHECK(data.category_sizes() == std::vector<int64_t>{3});
  Rng rng(0, 0, 0);
  const Batch sample = data.get(1, rng);
  CHECK(at::equal(sample.input(), at::tensor({50., 2.}, at::kFloat)));
  CHECK(sample.target().item<int64_t>() == 0);
  // Memory of an earlier batch is used again.
  const void* memory = batch.input().const_data_ptr();
  data.get_batch(Indices(0, 3), batch);
  CHECK(batch.input().const_data_ptr() == memory);
}

TEST_CASE("without a list, all columns but categories and target are features; a target can be a number or absent") {
  const TemporaryFolder folder;
  const auto path = write(folder, "a,b,y\n1,x,+0.5\n-2e1,x, 3 \n");
  const CsvDataset data(path, {.categories = {"b"}, .target = "y", .target_type = "number"});
  CHECK(data.encoding().features == Words{"a"});
  CHECK(at::equal(data.tensors().input(), at::tensor({1., -20.}, at::kFloat).reshape({2, 1})));
  CHECK(at::equal(data.tensors().target(), at::tensor({0.5, 3.}, at::kFloat)));
  CHECK(data.class_names().empty());
  const CsvDataset without(path, {.features = {"y"}});
  CHECK(without.tensors().names() == Words{"input"});
  const CsvDataset plain(write(folder, "1;2\n3;4\n", "plain.csv"), {.delimiter = ";", .header = false});
  CHECK(at::equal(plain.tensors().input(), at::tensor({1., 2., 3., 4.}, at::kFloat).reshape({2, 2})));
  const CsvDataset numbered(path, {.features = {"a"}, .target = "b"});
  CHECK(numbered.class_names() == Words{"x"});
}

TEST_CASE("columns to ignore are no features where these are not listed") {
  const TemporaryFolder folder;
  const CsvDatasetOptions options{.categories = {"city"}, .ignore = {"id", "price"}, .target = "sold"};
  CHECK(CsvDataset(write(folder, kHouses), options).encoding().features == Words{"area", "rooms"});
  CHECK(contains(error_of(folder, kHouses, {.categories = {"city"}, .ignore = {"idd"}, .target = "sold"}),
                 "no column 'idd' (did you mean id?)"));
}

TEST_CASE("classes that are whole numbers stand in the order of their values") {
  const TemporaryFolder folder;
  const CsvDataset data(write(folder, "a,y\n0,10\n0,9\n0,-1\n0,9\n"), {.target = "y"});
  CHECK(data.class_names() == Words{"-1", "9", "10"});
  CHECK(at::equal(data.tensors().target(), at::tensor({2, 1, 0, 1}, at::kLong)));
}

TEST_CASE("errors of CSV files name file, line and column") {
  const TemporaryFolder folder;
  CHECK(error_of(folder, "age,y\n3,a\n\nabc,b\n", {.target = "y"}) ==
        "house.csv:4: column 'age': 'abc' is not a number");
  CHECK(error_of(folder, "age,y\n1e400,a\n", {.target = "y"}) == "house.csv:2: column 'age': '1e400' is not a number");
  CHECK(error_of(folder, "age,y\n1e39,a\n", {.target = "y"}) == "house.csv:2: column 'age': '1e39' is not a number");
  CHECK(error_of(folder, "age,y\ninf,a\n", {.target = "y"}) == "house.csv:2: column 'age': 'inf' is not a number");
  CHECK(error_of(folder, "age,y\n1 2,a\n", {.target = "y"}) == "house.csv:2: column 'age': '1 2' is not a number");
  CHECK(error_of(folder, "age,y\nNA,a\n", {.target = "y"}) ==
        "house.csv:2: column 'age': 'NA' is missing; set --data.missing to mean, zero or drop");
  CHECK(error_of(folder, "age,c\n1,\n", {.categories = {"c"}}) ==
        "house.csv:2: column 'c': '' is missing; set --data.missing to mean, zero or drop");
  CHECK(error_of(folder, "age,y\n1,\n", {.target = "y", .missing = "mean"}) ==
        "house.csv:2: column 'y': '' is a missing target; set --data.missing to drop");
  CHECK(error_of(folder, "age,y\n1,a\n", {.target = "z"}) ==
        "house.csv: no column 'z' (did you mean y?); it has age, y");
  CHECK(error_of(folder, "y\na\n", {.target = "y"}) ==
        "house.csv: no column is left for features; set --data.features or --data.categories");
  CHECK(error_of(folder, "age,y\n", {}) == "house.csv: no rows under the header");
  CHECK(error_of(folder, "age,y\n,1\n2,\n", {.missing = "drop"}) == "house.csv: each of its 2 rows lacks a value");
  CHECK(error_of(folder, "age,y\n,1\n", {.missing = "mean"}) ==
        "house.csv: column 'age' has no value to take the mean of");
  CHECK(error_of(folder, "age\n1\n", {.delimiter = ",,"}) == "data.delimiter: expected one character, got ',,'");
  CHECK(error_of(folder, "age,y\n1\n", {}) == "house.csv:2: 1 fields, but the header has 2");
}

TEST_CASE("missing values become the mean or zero, or drop the row, and may be spelled in any way") {
  const TemporaryFolder folder;
  const auto path = write(folder, "a,c,y\n1,u,p\n NA ,v,q\n6,,p\n5,u,q\n");
  const auto with = [&](const std::string& missing) {
    return CsvDataset(path, {.categories = {"c"}, .target = "y", .missing = missing});
  };
  CHECK(at::equal(with("mean").tensors().input().flatten(), at::tensor({1., 4., 6., 5.}, at::kFloat)));
  CHECK(with("mean").encoding().vocabularies[0] == Words{"", "u", "v"});
  CHECK(at::equal(with("zero").tensors().input().flatten(), at::tensor({1., 0., 6., 5.}, at::kFloat)));
  const CsvDataset dropped = with("drop");
  CHECK(at::equal(dropped.tensors().input().flatten(), at::tensor({1., 5.}, at::kFloat)));
  CHECK(dropped.encoding().vocabularies[0] == Words{"u"});
  const CsvDataset own(write(folder, "a,b\n-999,1\n3,2\n"), {.missing = "zero", .missing_values = {"-999"}});
  CHECK(at::equal(own.tensors().input().flatten(), at::tensor({0., 1., 3., 2.}, at::kFloat)));
}

TEST_CASE("standardized features have the mean and deviation of the rows that have a value") {
  const TemporaryFolder folder;
  const CsvDataset data(write(folder, "a,b\n1,7\n,7\n5,7\n"), {.missing = "mean", .standardize = true});
  CHECK(data.encoding().mean == std::vector<double>{3, 7});
  CHECK(data.encoding().stddev == std::vector<double>{2, 1});
  CHECK(at::equal(data.tensors().input(), at::tensor({-1., 0., 0., 0., 1., 0.}, at::kFloat).reshape({3, 2})));
}

TEST_CASE("another file is encoded as the training file was") {
  const TemporaryFolder folder;
  CsvDatasetOptions options = houses();
  options.standardize = true;
  const CsvDataset train(write(folder, kHouses), options);
  // Other columns, another order, fewer cities.
  const auto path = write(folder, "rooms,sold,city,new,area\n3,yes,Oslo,?,80\n", "val.csv");
  const CsvDataset val(path, options, train.encoding());
  CHECK(at::equal(val.tensors().input(), at::tensor({0., 0.}, at::kFloat).reshape({1, 2})));
  CHECK(val.tensors()["category"].item<int64_t>() == 1);
  CHECK(val.tensors().target().item<int64_t>() == 1);
  CHECK(val.class_names() == train.class_names());

  const std::string unseen = "city,area,rooms,sold\nRome,1,1,no\nParis,1,1,yes\n";
  const auto error = [&](const std::string& text) {
    write(folder, text, "val.csv");
    return error_text<levin::UsageError>([&] { CsvDataset(path, options, train.encoding()); });
  };
  CHECK(error(unseen) == path.string() +
                             ":3: column 'city': 'Paris' does not occur in the training data; set "
                             "--data.unknown code to give such values one code more");
  CHECK(error("city,area,rooms,sold\nRome,1,1,maybe\n") ==
        path.string() + ":2: column 'sold': 'maybe' does not occur in the training data");
  options.unknown = "code";
  write(folder, unseen, "val.csv");
  const CsvDataset coded(path, options, train.encoding());
  CHECK(at::equal(coded.tensors()["category"].flatten(), at::tensor({2, 3}, at::kLong)));
  CHECK(coded.category_sizes() == std::vector<int64_t>{4});
}

TEST_CASE("a split learns means from its training rows and codes from all") {
  const TemporaryFolder folder;
  std::string text = "a,c,y\n";
  for (int i = 0; i < 20; ++i)
    text += std::to_string(i) + ",c" + std::to_string(i) + "," + (i % 2 ? "odd\n" : "even\n");
  const auto path = write(folder, text);
  const CsvDatasetOptions options{.categories = {"c"}, .target = "y", .standardize = true};
  const auto [train, val] = CsvDataset::split(path, options, 0.25, 3);
  CHECK(train.size() == 15);
  CHECK(val.size() == 5);
  CHECK(train.tensors().input().mean().item<float>() == Approx(0).margin(1e-6));
  CHECK(train.encoding().mean == val.encoding().mean);
  CHECK(train.encoding().vocabularies[0].size() == 20);
  // Both parts together are the file: each code occurs once.
  std::vector<bool> seen(20);
  for (const CsvDataset* part : {&train, &val}) {
    for (int64_t i = 0; i < part->size(); ++i) {
      const auto code = static_cast<size_t>(part->tensors()["category"][i].item<int64_t>());
      CHECK_FALSE(seen[code]);
      seen[code] = true;
    }
  }
  CHECK(error_text<levin::UsageError>([&] { CsvDataset::split(path, options, 0.01); }) ==
        "data.val_fraction: 0.01 of the 20 rows of " + path.string() + " leaves 20 for training and 0 for validation");
}

TEST_CASE("the data module Csv gives its splits") {
  const TemporaryFolder folder;
  const std::string train = write(folder, kHouses).string();
  const std::string test = write(folder, "city,area,rooms,sold\nOslo,1,2,no\n", "test.csv").string();
  Csv data({.file = train, .test_file = test, .columns = houses(), .val_fraction = 0.5, .batch_size = 2});
  data.setup(Stage::Fit);
  CHECK(data.dataset(Split::Train)->size() == 2);
  CHECK(data.dataset(Split::Val)->size() == 2);
  CHECK(data.dataset(Split::Train)->class_names() == Words{"no", "yes"});
  data.setup(Stage::Test);
  CHECK(data.test_dataloader()[0].next()->batch["category"].item<int64_t>() == 1);
  // Rows to predict need no target.
  write(folder, "city,area,rooms\nOslo,1,2\n", "test.csv");
  data.setup(Stage::Predict);
  CHECK_FALSE(data.predict_dataloader()[0].next()->batch.contains("target"));
  CHECK(data.encoding().vocabularies[0].size() == 3);

  Csv two({.file = train, .val_file = train, .columns = houses()});
  two.setup(Stage::Validate);
  CHECK(two.dataset(Split::Val)->size() == 4);
  CHECK(two.dataset(Split::Test) == nullptr);
  CHECK(error_text<levin::UsageError>([] { Csv().setup(Stage::Fit); }) ==
        "data.file: not set; it names the CSV file with the training rows");
  CHECK(error_text<levin::UsageError>([&] { Csv({.file = train, .val_file = train, .val_fraction = 0.5}); }) ==
        "data.val_fraction: validation rows are given by data.val_file already; set one of the two");
}

TEST_CASE("the columns' options stand flat beside the others in a config") {
  CsvOptions options;
  levin::schema_of<CsvOptions>().set(&options, "data", levin::Json::parse(R"({"file": "a.csv", "features": ["x", "y"],
      "missing": "mean", "batch_size": 7})"));
  CHECK(options.columns.features == Words{"x", "y"});
  CHECK(options.columns.missing == levin::data::CsvMissing::Mean);
  CHECK(options.columns.missing_values.size() == 8);
  CHECK(options.batch_size == 7);
  CHECK(options.shuffle);
}

TEST_CASE("numbers are read with decimal commas and groups of three digits, and nothing else passes") {
  using Format = CsvNumberFormat;
  CHECK(csv_number("3,5", Format{.decimal = ','}) == 3.5f);
  CHECK(csv_number("-1.234.567,5", Format{.decimal = ',', .thousands = '.'}) == -1234567.5f);
  CHECK(csv_number("1,000.50", Format{.thousands = ','}) == 1000.5f);
  CHECK(csv_number("1000.5", Format{.thousands = ','}) == 1000.5f);
  CHECK(csv_number(" 12e3 ", Format{.thousands = ','}) == 12000.f);
  for (const char* wrong : {"1,00", ",100", "1000,000", "1,0000", "1,000,", "1.5,000", "1,,000"})
    CHECK_FALSE(csv_number(wrong, Format{.thousands = ','}));
  CHECK_FALSE(csv_number("3.5", Format{.decimal = ','}));
  CHECK_FALSE(csv_number("1,000"));

  const TemporaryFolder folder;
  CsvDatasetOptions options{.delimiter = ";", .decimal = ","};
  const CsvDataset data(write(folder, "a;b\n1,5;2\n-3,25;0\n"), options);
  CHECK(at::equal(data.tensors().input(), at::tensor({1.5f, 2.f, -3.25f, 0.f}).reshape({2, 2})));
  options.decimal = ".";
  CHECK(error_of(folder, "a;b\n1,5;2\n", options) ==
        "house.csv:2: column 'a': '1,5' is not a number; for decimal commas set --data.decimal ,");
  options.thousands = ".";
  CHECK(error_of(folder, "a;b\n1,5;2\n", options).starts_with("data.thousands: expected one character other than"));
}
