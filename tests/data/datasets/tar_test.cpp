#include <levin/data/datasets/tar.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <levin/core/system/error.h>
#include <levin/data/data_loader.h>
#include <levin/data/files/image_file.h>

#include <fstream>
#include <iterator>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/data/datasets/tar_fixture.h"
#include "tests/error_text.h"

using namespace levin::data;
using namespace tar_fixture;
using levin::Stage;
using levin::State;
using Names = std::vector<std::string>;

namespace {

std::string image_bytes(const TemporaryFolder& folder, const at::Tensor& image) {
  write_png(folder / "image.png", image);
  std::ifstream file(folder / "image.png", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("members become tensors by their extension") {
  const TemporaryFolder folder;
  const at::Tensor image = at::arange(3 * 4 * 5, at::kByte).reshape({3, 4, 5});
  const std::string png = image_bytes(folder, image);
  const OneShard shard({{"a/0.PNG", png},
                        {"a/0.cls", "7"},
                        {"a/0.mask.npy", npy_bytes(at::arange(6).reshape({2, 3}))},
                        {"a/0.txt", " 12\n"},
                        {"a/0.bin", "xyz"},
                        {"a/1.png", png},
                        {"a/1.cls", "8"},
                        {"a/1.mask.npy", npy_bytes(at::arange(6).reshape({2, 3}))},
                        {"a/1.txt", "13"},
                        {"a/1.bin", "uvw"}});
  const Batch batch = shard.batch();
  CHECK(batch.names() == Names{"input", "target", "mask", "txt", "bin"});
  CHECK(batch.input().sizes() == at::IntArrayRef({2, 3, 4, 5}));
  CHECK(at::equal(batch.input()[1], image));
  CHECK(at::equal(batch.target(), at::tensor({7, 8}, at::kLong)));
  CHECK(at::equal(batch["mask"][1], at::arange(6).reshape({2, 3})));
  CHECK(at::equal(batch["txt"], at::tensor({12, 13}, at::kLong)));
  CHECK(at::equal(batch["bin"][1], at::tensor({'u', 'v', 'w'}, at::kByte)));

  const Batch named = shard.batch({.members = {.input = "mask.npy", .target = "PNG", .channels = 1}});
  CHECK(at::equal(named.input()[0], at::arange(6).reshape({2, 3})));
  CHECK(named.target().sizes() == at::IntArrayRef({2, 1, 4, 5}));
  CHECK(at::equal(named["cls"], at::tensor({7, 8}, at::kLong)));
}

TEST_CASE("text and other members are left out with one warning for each kind, or given as bytes on request") {
  const OneShard shard({{"0.npy", npy_bytes(at::arange(2))},
                        {"0.json", "{}"},
                        {"0.txt", "a cat"},
                        {"README", "x"},
                        {".hidden", "x"},
                        {"1.npy", npy_bytes(at::arange(2))},
                        {"1.json", "{}"},
                        {"1.txt", "a dog"}});
  const CapturedStderr captured;
  CHECK(shard.batch().names() == Names{"input"});
  const std::string text = captured.text();
  CHECK(contains(text, shard.path() +
                           ": byte 1024: member 0.json: members of this kind are left out; those that become "
                           "tensors are npy, jpg, jpeg, png, tif, tiff, webp, cls, bin, and txt with a whole number"));
  CHECK(contains(text, "member 0.txt: members of this kind are left out"));
  CHECK_FALSE(contains(text, "member 1."));
  const Batch batch = shard.batch({.members = {.input = "txt", .target = "npy"}});
  CHECK(at::equal(batch.input()[1], at::tensor({'a', ' ', 'd', 'o', 'g'}, at::kByte)));
  CHECK(at::equal(batch.target()[0], at::arange(2)));
}

TEST_CASE("errors of tar files name shard, byte and member or sample") {
  const std::string array = npy_bytes(at::arange(2)), longer = npy_bytes(at::arange(3));
  CHECK(OneShard({{"0.npy", array}, {"0.cls", "x"}}).error() ==
        "a.tar: byte 1024: member 0.cls: expected a whole number, got 'x'");
  CHECK(OneShard(ArchiveMembers{{"0.npy", array.substr(0, 100)}}).error() ==
        "a.tar: byte 0: member 0.npy: the file is cut off inside its header");
  CHECK(contains(OneShard(ArchiveMembers{{"0.png", "no image"}}).error(), "a.tar: byte 0: member 0.png: "));
  CHECK(OneShard({{"0.cls", "1"}, {"0.json", "1"}}).error() ==
        "a.tar: byte 0: sample 0 has no image or array for input; it has cls, json");
  CHECK(OneShard(ArchiveMembers{{"0.npy", array}}).error({.members = {.target = "txt"}}) ==
        "a.tar: byte 0: sample 0 has no txt for target; it has npy");
  CHECK(OneShard({{"0.npy", array}, {"1.npy", longer}}).error() ==
        "a.tar: byte 1024: sample 1: 'input' is Long [3], but in sample 0 of the same batch Long [2]; set transforms "
        "that "
        "give all one size, or fill up rows by data.pad");
  CHECK(OneShard({{"0.npy", array}, {"0.cls", "1"}, {"1.npy", array}}).error() ==
        "a.tar: byte 2048: sample 1 has input, but sample 0 of the same batch has input, target");
  CHECK(OneShard({{"0.npy", array}, {"0.npy", array}}).error() ==
        "a.tar: byte 1024: member 0.npy: the sample has a member of this name already");
}

TEST_CASE("a transform sees each sample alone and cannot write into the file") {
  const OneShard shard({{"0.npy", npy_bytes(at::arange(2))}, {"1.npy", npy_bytes(at::arange(3))}});
  const auto cut = std::make_shared<const Lambda>([](Batch& batch, std::span<Rng> rngs) {
    CHECK(rngs.size() == 1);
    batch.input().add_(10);
    batch.set("input", batch.input().narrow(1, 0, 2));
  });
  const TarDataset data = shard.dataset({.transform = cut});
  for (int epoch = 0; epoch < 2; ++epoch) {
    const auto stream = data.open({.epoch = epoch});
    std::vector<Batch> samples = {*stream->next(), *stream->next()};
    for (int twice = 0; twice < 2; ++twice) {
      std::vector<Rng> rngs = {Rng(0, 0, 0), Rng(0, 0, 1)};
      Batch out;
      data.make_batch(samples, rngs, out);
      CHECK(at::equal(out.input(), at::tensor({10, 11, 10, 11}, at::kLong).reshape({2, 2})));
    }
  }
}

TEST_CASE("a batch's memory is used again, and samples are views of the mapped file") {
  const Shards shards(1, 4);
  const TarDataset data({shards.pattern});
  const auto stream = data.open({});
  Batch batch;
  const void* memory = nullptr;
  for (int i = 0; i < 2; ++i) {
    std::vector<Rng> rngs = {Rng(0, 0, 0), Rng(0, 0, 0)};
    data.make_batch({*stream->next(), *stream->next()}, rngs, batch);
    if (i) CHECK(batch.input().const_data_ptr() == memory);
    memory = batch.input().const_data_ptr();
  }
  CHECK(at::equal(batch.target(), at::tensor({2, 3}, at::kLong)));
}

TEST_CASE("a loader of tar files gives the same batches for any number of workers, and resumes from its state") {
  const Shards shards(3, 7);
  const auto data = std::make_shared<const TarDataset>(Names{shards.pattern}, TarDatasetOptions{.shuffle_buffer = 5});
  std::vector<std::vector<int64_t>> seen;
  for (const int64_t workers : {0, 3}) {
    DataLoader loader(data, {.batch_size = 4, .shuffle = true, .num_workers = workers, .seed = 5});
    auto& order = seen.emplace_back();
    State state;
    while (auto loaded = loader.next()) {
      for (int64_t i = 0; i < loaded->samples; ++i) order.push_back(loaded->batch.target()[i].item<int64_t>());
      if (order.size() == 8) state = loader.state_dict();
    }
    DataLoader resumed(data, {.batch_size = 4, .shuffle = true, .num_workers = workers, .seed = 5});
    resumed.load_state_dict(state);
    std::vector<int64_t> rest;
    while (auto loaded = resumed.next()) {
      for (int64_t i = 0; i < loaded->samples; ++i) rest.push_back(loaded->batch.target()[i].item<int64_t>());
    }
    CHECK(rest == std::vector<int64_t>(order.begin() + 8, order.end()));
  }
  CHECK(seen[0] == seen[1]);
  CHECK(sorted(seen[0]) == up_to(21));
}

TEST_CASE("the data module Tar gives its splits") {
  const Shards shards(3, 4);
  const auto file = [&](const std::string& name) { return (shards.folder / name).string(); };
  Tar data({.shards = {file("s-{00..01}.tar")}, .val_shards = {file("s-02.tar")}, .batch_size = 8, .shuffle = false});
  CHECK_THROWS_AS(data.train_dataloader(), levin::UsageError);
  data.setup(Stage::Fit);
  CHECK(data.train_dataloader()[0].next()->batch.target().numel() == 8);
  CHECK(at::equal(data.val_dataloader()[0].next()->batch.target(), at::tensor({8, 9, 10, 11}, at::kLong)));
  CHECK(data.test_dataloader().empty());
  CHECK(error_text<levin::UsageError>([] { Tar().setup(Stage::Fit); }) ==
        "data.shards: not set; it names tar files, such as train-{000..009}.tar or data/*.tar");
  CHECK(error_text<levin::UsageError>([&] {
          Tar({.shards = {file("s-00.tar")}, .val_shards = {"none.tar"}}).setup(Stage::Fit);
        }) == "data.val_shards: no file none.tar");
}

TEST_CASE("an array of a compressed shard whose header and size contradict each other is not unpacked") {
  const TemporaryFolder folder;
  const std::string header = levin::data::npy_header(at::kFloat, {2});
  const std::string whole = gzip_bytes(tar_bytes({{"a/0.npy", header + std::string(3 << 20, '\0')}, {"a/0.cls", "7"}}));
  // The end is missing: who unpacks the array to its end, says that.
  std::ofstream(folder / "a.tar.gz", std::ios::binary) << whole.substr(0, whole.size() / 2);
  const auto stream = TarDataset({(folder / "a.tar.gz").string()}, {}).open({});
  CHECK(contains(error_text<levin::UsageError>([&] { stream->next(); }),
                 "a.tar.gz: byte 0: member a/0.npy: byte 128: the header asks for 8 bytes of values, but there are "
                 "3145728"));
}
