#include <levin/data/datasets/npy.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/data/files/npy_file.h>

#include <fstream>
#include <iterator>

#include "tests/catch.h"
#include "tests/data/files/archive_writer.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::Stage;
using namespace levin::data;

namespace {

at::Tensor inputs() { return at::arange(60, at::kFloat).reshape({10, 2, 3}); }
at::Tensor targets() { return at::arange(10, at::kByte); }

struct NpyFiles {
  NpyFiles() {
    write_npy(folder / "x.npy", inputs());
    write_npy(folder / "y.npy", targets());
    write_zip(folder / "xy.npz", {{"x.npy", read_bytes(folder / "x.npy")}, {"y.npy", read_bytes(folder / "y.npy")}},
              true);
  }
  std::string name(const std::string& file) const { return (folder / file).string(); }
  TemporaryFolder folder;
};

std::string error_of(const NpyOptions& options, Stage stage = Stage::Fit) {
  return error_text<levin::UsageError>([&] { Npy(options).setup(stage); });
}

}  // namespace

TEST_CASE("batches are the rows of mapped arrays") {
  const NpyFiles files;
  const NpyDataset data(files.folder / "x.npy", files.folder / "y.npy");
  CHECK(data.size() == 10);
  Batch batch;
  data.get_batch(Indices(std::vector<int64_t>{7, 0, 3}), batch);
  CHECK(at::equal(batch.input(), inputs().index_select(0, at::tensor({7, 0, 3}, at::kLong))));
  CHECK(batch.target().scalar_type() == at::kLong);
  CHECK(at::equal(batch.target(), at::tensor({7, 0, 3}, at::kLong)));
  // Memory is used again, and writing into a batch changes neither the dataset nor the file.
  const void* memory = batch.input().const_data_ptr();
  batch.input().zero_();
  data.get_batch(Indices(0, 3), batch);
  CHECK(batch.input().const_data_ptr() == memory);
  CHECK(at::equal(batch.input(), inputs().narrow(0, 0, 3)));
  CHECK(at::equal(data.tensors().input(), inputs()));
  Rng rng(0, 0, 0);
  CHECK(at::equal(data.get(4, rng).input(), inputs()[4]));
  CHECK(data.get(4, rng).target().item<int64_t>() == 4);
  CHECK_FALSE(NpyDataset(files.folder / "x.npy").tensors().contains("target"));
}

TEST_CASE("arrays in Fortran order are read, and targets of other types") {
  const NpyFiles files;
  const std::string values(reinterpret_cast<const char*>(inputs().reshape({10, 6}).t().contiguous().const_data_ptr()),
                           240);
  std::string header = "{'descr': '<f4', 'fortran_order': True, 'shape': (10, 6), }";
  header += std::string(117 - header.size(), ' ') + "\n";
  std::ofstream(files.folder / "f.npy", std::ios::binary)
      << std::string("\x93NUMPY\1\0", 8) << '\x76' << '\0' << header << values;
  write_npy(files.folder / "t.npy", at::arange(10, at::kFloat));
  const NpyDataset data(files.folder / "f.npy", files.folder / "t.npy");
  Batch batch;
  data.get_batch(Indices(std::vector<int64_t>{9, 2}), batch);
  CHECK(at::equal(batch.input(), inputs().reshape({10, 6}).index_select(0, at::tensor({9, 2}, at::kLong))));
  CHECK(at::equal(batch.target(), at::tensor({9., 2.}, at::kFloat)));
}

TEST_CASE("an npz file holds inputs and targets") {
  const NpyFiles files;
  const NpyDataset data = NpyDataset::from_npz(files.folder / "xy.npz", "x", "y");
  CHECK(at::equal(data.tensors().input(), inputs()));
  CHECK(at::equal(data.tensors().target(), targets().to(at::kLong)));
  CHECK(error_text<levin::UsageError>([&] { NpyDataset::from_npz(files.folder / "xy.npz", "input"); }) ==
        files.name("xy.npz") + ": no array 'input'; it holds x, y");
}

TEST_CASE("arrays that do not fit are named") {
  const NpyFiles files;
  write_npy(files.folder / "nine.npy", at::zeros({9}));
  write_npy(files.folder / "one.npy", at::zeros({}));
  const auto error = [&](const std::string& input, const std::string& target) {
    return error_text<levin::UsageError>([&] { NpyDataset(files.folder / input, files.folder / target); });
  };
  CHECK(error("x.npy", "nine.npy") ==
        "10 samples in " + files.name("x.npy") + ", but 9 targets in " + files.name("nine.npy"));
  CHECK(error("one.npy", "y.npy") == files.name("one.npy") + ": a single value; dimension 0 must count the samples");
  CHECK(error("absent.npy", "y.npy") == files.name("absent.npy") + ": cannot be opened: No such file or directory");
  CHECK(error("xy.npz", "y.npy") == files.name("xy.npz") + ": not a .npy file, but a zip file: name it .npz");
}

TEST_CASE("with dtype float32 inputs and numbers are converted batch by batch, and classes stay") {
  const NpyFiles files;
  write_npy(files.folder / "doubles.npy", inputs().to(at::kDouble));
  write_npy(files.folder / "numbers.npy", targets().to(at::kDouble));
  write_npy(files.folder / "bytes.npy", inputs().to(at::kByte));
  const auto first = [&](const std::string& input, const std::string& target, const std::string& dtype) {
    Npy data({.input = files.name(input), .target = files.name(target), .dtype = dtype});
    data.setup(Stage::Fit);
    Batch batch;
    data.dataset(Split::Train)->get_batch(Indices(0, 3), batch);
    return batch;
  };
  const Batch rows = first("doubles.npy", "numbers.npy", "float32");
  CHECK(at::equal(rows.input(), inputs().narrow(0, 0, 3)));
  CHECK(at::equal(rows.target(), at::arange(3, at::kFloat)));
  const Batch pictures = first("bytes.npy", "y.npy", "float32");
  CHECK(at::equal(pictures.input(), inputs().narrow(0, 0, 3) / 255));
  CHECK(at::equal(pictures.target(), at::arange(3, at::kLong)));
  CHECK(first("doubles.npy", "y.npy", "saved").input().scalar_type() == at::kDouble);
  CHECK(contains(error_of({.input = files.name("x.npy"), .dtype = "float16"}),
                 "data.dtype: expected one of saved, float32"));
}

TEST_CASE("the data module Npy gives its splits") {
  const NpyFiles files;
  Npy data({.input = files.name("x.npy"),
            .target = files.name("y.npy"),
            .test_input = files.name("x.npy"),
            .val_fraction = 0.3,
            .batch_size = 4});
  data.setup(Stage::Fit);
  CHECK(data.dataset(Split::Train)->size() == 7);
  CHECK(data.dataset(Split::Val)->size() == 3);
  // Each sample is in one of the two.
  std::vector<bool> seen(10);
  for (const Split split : {Split::Train, Split::Val}) {
    Batch batch;
    data.dataset(split)->get_batch(Indices(0, data.dataset(split)->size()), batch);
    for (int64_t i = 0; i < batch.size(); ++i) seen[static_cast<size_t>(batch.target()[i].item<int64_t>())] = true;
  }
  CHECK(std::count(seen.begin(), seen.end(), true) == 10);
  data.setup(Stage::Predict);
  CHECK(at::equal(data.predict_dataloader()[0].next()->batch.input(), inputs().narrow(0, 0, 4)));

  Npy archive({.input = files.name("xy.npz"), .val_input = files.name("xy.npz"), .input_key = "x", .target_key = "y"});
  archive.setup(Stage::Fit);
  CHECK(archive.dataset(Split::Train)->size() == 10);
  CHECK(archive.dataset(Split::Val)->size() == 10);

  CHECK(error_of(NpyOptions()) == "data.input: not set; it names the file of the training inputs");
  CHECK(error_of({.input = files.name("x.npy"), .val_target = "y"}) ==
        "data.val_input: not set, but its targets are: y");
  CHECK(error_of({.input = files.name("xy.npz"), .target = "y"}) ==
        "data.input: " + files.name("xy.npz") + " holds its targets, by data.target_key; y is one too many");
  CHECK(error_of({.input = "x", .val_input = "x", .val_fraction = 0.1}) ==
        "data.val_fraction: validation data are given by data.val_input already; set one of the two");
}
