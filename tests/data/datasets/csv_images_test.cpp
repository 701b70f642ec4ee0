#include <levin/data/datasets/csv_images.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/image_folder.h>
#include <levin/data/files/image_file.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/data/files/pictures.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::Stage;
using levin::UsageError;
using namespace levin::data;
using namespace levin::testing;

namespace {

namespace fs = std::filesystem;

/// Writes the pictures a/0.png to a/3.png.
void add_pictures(const TemporaryFolder& folder) {
  fs::create_directories(folder / "a");
  for (uint64_t i = 0; i < 4; ++i) write_png(folder / ("a/" + std::to_string(i) + ".png"), picture(12, 17, i));
}

CsvImagesOptions options_of(const TemporaryFolder& folder, const std::string& rows, const char* name = "list.csv") {
  std::ofstream(folder / name) << rows;
  CsvImagesOptions options{.file = (folder / name).string(), .val_fraction = 0};
  options.input.image_size = {8};
  return options;
}

Batch all_of(CsvImages& data, Split split = Split::Train) {
  data.setup(split == Split::Predict ? Stage::Predict : Stage::Fit);
  Batch batch;
  data.dataset(split)->get_batch(Indices(0, data.dataset(split)->size()), batch);
  return batch;
}

std::string message(const CsvImagesOptions& options) {
  return error_text<UsageError>([&] {
    CsvImages data(options);
    all_of(data);
  });
}

}  // namespace

TEST_CASE("a list of classes gives what folders of the same images give") {
  const TemporaryFolder folder;
  add_pictures(folder);
  CsvImages listed(options_of(folder, "label,path\nbee,a/0.png\nant,a/1.png\nbee, a/2.png\nant,a/3.png\n"));
  for (const auto& [name, from] : {std::pair("ant/1", "1"), {"ant/3", "3"}, {"bee/0", "0"}, {"bee/2", "2"}}) {
    const fs::path to = folder / ("f/" + std::string(name) + ".png");
    fs::create_directories(to.parent_path());
    fs::copy_file(folder / ("a/" + std::string(from) + ".png"), to);
  }
  ImageFolder folders({.root = (folder / "f").string(), .image_size = 8, .val_fraction = 0});
  folders.setup(Stage::Fit);
  Batch expected;
  folders.dataset(Split::Train)->get_batch(Indices(0, 4), expected);
  const Batch batch = all_of(listed);
  CHECK(at::equal(batch.target(), at::tensor({int64_t{1}, int64_t{0}, int64_t{1}, int64_t{0}})));
  for (const auto& [mine, other] : {std::pair(0, 2), {1, 0}, {2, 3}, {3, 1}})
    CHECK(at::equal(batch.input()[mine], expected.input()[other]));
  CHECK(listed.dataset(Split::Train)->class_names() == std::vector<std::string>{"ant", "bee"});
}

TEST_CASE("classes that are whole numbers are sorted as numbers, and validation uses those of training") {
  const TemporaryFolder folder;
  add_pictures(folder);
  CsvImagesOptions options = options_of(folder, "path,label\na/0.png,10\na/1.png,2\na/2.png,1\n");
  options.val_file = options_of(folder, "path,label\na/3.png,2\n", "val.csv").file;
  CsvImages data(options);
  CHECK(at::equal(all_of(data).target(), at::tensor({int64_t{2}, int64_t{1}, int64_t{0}})));
  CHECK(all_of(data, Split::Val).target().item<int64_t>() == 1);
  options.val_file = options_of(folder, "path,label\na/3.png,3\n", "val.csv").file;
  CsvImages other(options);
  CHECK(error_text<UsageError>([&] {
          all_of(other);
        }).find("val.csv:2: column 'label': '3' is none of the 3 classes") != std::string::npos);
}

TEST_CASE("labels come from columns of 0 and 1, or from one column of lists") {
  const TemporaryFolder folder;
  add_pictures(folder);
  const at::Tensor wanted = at::tensor({1.f, 0.f, 1.f, 0.f, 0.f, 0.f, 0.f, 1.f, 0.f}).view({3, 3});
  CsvImagesOptions columns = options_of(folder, "path,bird,cat,dog\na/0.png,1,0,1\na/1.png,0,0,0\na/2.png,0,1,0\n");
  columns.list.target = {"bird", "cat", "dog"};
  columns.list.target_type = ImageTargetType::Labels;
  CsvImages wide(columns);
  CHECK(at::equal(all_of(wide).target(), wanted));
  CsvImagesOptions one = options_of(folder, "path,label\na/0.png,dog | bird\na/1.png,\na/2.png,cat\n", "lists.csv");
  one.list.target_type = ImageTargetType::Labels;
  one.list.label_separator = "|";
  CsvImages lists(one);
  CHECK(at::equal(all_of(lists).target(), wanted));
  CHECK(lists.dataset(Split::Train)->class_names() == columns.list.target);
  std::ofstream(columns.file) << "path,bird,cat,dog\na/0.png,1,0,2\n";
  CHECK(message(columns).find("list.csv:2: column 'dog': '2' is neither 0 nor 1") != std::string::npos);
}

TEST_CASE("numbers are one value of an image, or several") {
  const TemporaryFolder folder;
  add_pictures(folder);
  CsvImagesOptions options = options_of(folder, "path,x,y\na/0.png,0.5,-2\na/1.png,1e3,4\n");
  options.list.target = {"x"};
  options.list.target_type = ImageTargetType::Number;
  CsvImages one(options);
  CHECK(at::equal(all_of(one).target(), at::tensor({0.5f, 1000.f})));
  options.list.target = {"y", "x"};
  CsvImages two(options);
  CHECK(at::equal(all_of(two).target(), at::tensor({-2.f, 0.5f, 4.f, 1000.f}).view({2, 2})));
}

TEST_CASE("gray and 16 bits are kept where that is asked for, and predict needs no targets") {
  const TemporaryFolder folder;
  add_pictures(folder);
  CsvImagesOptions options = options_of(folder, "path,label\na/0.png,b\na/1.png,c\n");
  options.test_file = options_of(folder, "path\na/3.png\n", "test.csv").file;
  options.input.channels = 1;
  options.input.keep_16_bits = true;
  options.input.mean = options.input.std = {};
  CsvImages data(options);
  const Batch batch = all_of(data);
  CHECK(batch.input().sizes() == at::IntArrayRef({2, 1, 8, 8}));
  CHECK(batch.input().scalar_type() == at::kFloat);
  CHECK(batch.input().max().item<float>() <= 1);
  CHECK(!all_of(data, Split::Predict).contains("target"));
  options.input.mean = {0.4, 0.5, 0.6};
  CHECK(message(options).starts_with("data.mean: has 3 numbers for images of 1 channel; set one number"));
}

TEST_CASE("what is wrong with a list is named with its line and column") {
  const TemporaryFolder folder;
  add_pictures(folder);
  CHECK(message(options_of(folder, "path,label\na/0.png,x\na/9.png,y\n"))
            .find("list.csv:3: column 'path': there is no image") != std::string::npos);
  CHECK(message(options_of(folder, "path,label\na/0.png,\n"))
            .find("list.csv:2: column 'label': the class of the image is missing") != std::string::npos);
  CHECK(message(options_of(folder, "path,label\n")).find("the file has no rows") != std::string::npos);
  CHECK(message(options_of(folder, "file,label\na/0.png,x\n")).find("path") != std::string::npos);
  CsvImagesOptions options = options_of(folder, "path,x,y\na/0.png,1,2\n");
  options.list.target = {"x", "y"};
  CHECK(message(options).starts_with("data.target: one class has one column, and here are 2"));
  CHECK(error_text<UsageError>([] { CsvImages(CsvImagesOptions{}); }).starts_with("data.file: not set"));
}
