#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <levin/data/dataset_module.h>
#include <levin/data/files/image_file.h>
#include <levin/data/registry.h>

#include <filesystem>
#include <memory>
#include <regex>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/program/cli/config_files.h"
#include "tests/program/cli/program.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::testing::ProgramRun;
using levin::testing::run_program;

namespace {

/// Ten gray pictures of three classes; two more for validation, without class names.
struct Pictures : levin::data::DatasetModule {
  struct Options {
    LEVIN_LOADER_OPTIONS(4, false);
  };
  explicit Pictures(Options options) : DatasetModule("Pictures", levin::data::loader_options(options)) {}

 protected:
  levin::data::DatasetPtr make_dataset(levin::data::Split split) override {
    if (split == levin::data::Split::Val) {
      return std::make_shared<levin::data::TensorDataset>(at::zeros({2, 1, 8, 8}),
                                                          at::arange(2, at::TensorOptions(at::kLong)));
    }
    if (split != levin::data::Split::Train) return nullptr;
    const at::Tensor numbers = at::arange(10, at::TensorOptions(at::kFloat));
    const Batch all(numbers.view({10, 1, 1, 1}).expand({10, 1, 8, 8}).contiguous(), numbers.to(at::kLong) % 3);
    return std::make_shared<levin::data::TensorDataset>(all, std::vector<std::string>{"ant", "bee", "cat"});
  }
};
LEVIN_REGISTER_DATA_MODULE(Pictures);

/// A user's batch struct of two numbers.
struct Pair {
  int64_t size() const { return 2; }
  Pair to(c10::Device) const { return *this; }
};

/// Loaders of unknown length: of lists and numbers, and of a user's struct.
struct Streams : levin::data::DataModule {
  static levin::data::StreamLoader stream(const Batch& batch, int64_t count) {
    return levin::data::StreamLoader([batch, count](int64_t) {
      auto left = std::make_shared<int64_t>(count);
      return [=]() -> std::optional<Batch> { return (*left)-- > 0 ? std::optional(batch) : std::nullopt; };
    });
  }
  levin::data::Loaders train_dataloader() override {
    const Batch::List boxes(3, Batch(at::zeros({2, 4})));
    return {stream(Batch({{"input", at::zeros({3, 5})}, {"boxes", boxes}, {"none", at::zeros({3, 0})}}), 7),
            stream(Batch(Pair{}), 2)};
  }
};
LEVIN_REGISTER_DATA_MODULE(Streams);

/// Returns the output of `levin data inspect`, without the parts that depend on the machine.
std::string inspected(const std::string& data, const TemporaryFolder& folder,
                      const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"data", "inspect", "--data.class",
                                        data,   "--sheet", (folder / "sheet.png").string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ProgramRun run = run_program(arguments);
  CHECK(run.err == "");
  CHECK(run.code == 0);
  return std::regex_replace(run.out, std::regex("[0-9.e+]+ samples/s"), "N samples/s");
}

}  // namespace

TEST_CASE("data inspect shows each split and draws the first training batch") {
  const TemporaryFolder folder;
  const std::string sheet = (folder / "sheet.png").string();
  CHECK(inspected("Pictures", folder) ==
        "train: 10 samples, 3 batches\n"
        "  input   float32 [4, 1, 8, 8]  min 0  mean 1.5  max 3\n"
        "  target  int64 [4]             min 0  mean 0.75  max 2\n"
        "  3 classes in all 10 samples: ant 4, bee 3, cat 3\n"
        "  read all: N samples/s\n"
        "contact sheet of the first training batch: " +
            sheet +
            "\n"
            "val: 2 samples, 1 batch\n"
            "  input   float32 [2, 1, 8, 8]  min 0  mean 0  max 0\n"
            "  target  int64 [2]             min 0  mean 0.5  max 1\n"
            "  2 classes in all 2 samples: 0 1, 1 1\n"
            "  read all: N samples/s\n"
            "test: none\n"
            "predict: none\n");
  const at::Tensor drawn = levin::data::read_image(sheet);
  CHECK(drawn.sizes() == at::IntArrayRef({3, 6 + 2 * (96 + 16), 6 + 2 * 102}));
  CHECK(drawn[0][50][50].item<int64_t>() == 0);
  CHECK(drawn[0][50][150].item<int64_t>() == 85);
}

TEST_CASE("data inspect reads no more batches than asked for") {
  const TemporaryFolder folder;
  const std::string text = inspected("Pictures", folder, {"--batches", "2", "--data.batch_size=3"});
  CHECK(contains(text, "train: 10 samples, 4 batches\n"));
  CHECK(contains(text, "  3 classes in the first 6 samples: ant 2, bee 2, cat 2\n  read 2 batches: N samples/s\n"));
}

TEST_CASE("data inspect takes loaders without a length, lists and own structs") {
  const TemporaryFolder folder;
  const std::string text = inspected("Streams", folder, {"--batches=1"});
  CHECK(contains(text,
                 "train 0: an unknown number of samples, an unknown number of batches\n"
                 "  input  float32 [3, 5]     min 0  mean 0  max 0\n"
                 "  boxes  list of 3 batches\n"
                 "  none   float32 [3, 0]     no values\n"
                 "  read 1 batch: N samples/s\n"
                 "no contact sheet: the training input is float32 [3, 5], not images [samples, 1 or 3, height, width]\n"
                 "train 1: an unknown number of samples, an unknown number of batches\n"
                 "  first batch: a struct of the user's own with 2 samples\n"));
  CHECK(contains(text, "val: none\n"));
  CHECK(contains(inspected("Streams", folder), "train 0: 21 samples, 7 batches\n"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("data inspect works with a built-in class, a config file and the run's seed") {
  const TemporaryFolder folder;
  const levin::testing::ConfigFile config(
      R"({"seed": 4, "data": {"class": "SyntheticDigits", "train_size": 50, "val_size": 10, "test_size": 10}})");
  const auto inspect = [&](const std::string& seed) {
    const ProgramRun run = run_program(
        {"data", "inspect", "--config", config.path(), "--sheet", (folder / "sheet.png").string(), "--seed", seed});
    CHECK(run.code == 0);
    CHECK(contains(run.out, "train: 50 samples, 2 batches\n  input   float32 [32, 1, 28, 28]  min "));
    CHECK(contains(run.out, "predict: 10 samples, 1 batch\n"));
    return levin::data::read_image(folder / "sheet.png");
  };
  const at::Tensor first = inspect("4");
  CHECK(at::equal(inspect("4"), first));
  CHECK_FALSE(at::equal(inspect("5"), first));
}

TEST_CASE("data inspect says what is wrong with its command line") {
  const auto error = [](std::vector<std::string> arguments) {
    const ProgramRun run = run_program(std::move(arguments));
    CHECK(run.code == 2);
    return run.err;
  };
  CHECK(error({"data"}) == "levin: error: levin data: expected one of inspect, guess\n");
  CHECK(error({"data", "show"}) == "levin: error: levin data: expected one of inspect, guess, got show\n");
  CHECK(error({"data", "inspect"}) ==
        "levin: error: data.class: missing; name the data with --data.class (`levin list data` shows them)\n");
  CHECK(error({"data", "inspect", "--data.class", "Pictures", "--batches", "0"}) ==
        "levin: error: --batches: expected at least 1, got 0\n");
  CHECK(error({"data", "inspect", "--data.class", "Pictures", "--sheet"}) ==
        "levin: error: --sheet: expected a value; `levin data inspect --help` says more\n");
  CHECK(contains(error({"data", "inspect", "--data.class", "Pictures", "--sheet", "/none/x.png"}),
                 "/none/x.png: cannot be written, there is no folder /none"));
  CHECK(contains(error({"data", "inspect", "--data.class", "Picture"}), "Picture"));
  CHECK(contains(error({"data", "inspect", "--data.class", "Pictures", "--data.bach_size", "3"}), "--data.batch_size"));
  const ProgramRun help = run_program({"data", "inspect", "--help", "--data.class", "Pictures"});
  CHECK(help.code == 0);
  for (const char* text : {"--sheet FILE", "--batches INT", "--data.batch_size"}) CHECK(contains(help.out, text));
  CHECK(contains(run_program({"--help"}).out, "data inspect"));
}
