#include <levin/data/datasets/cifar.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <archive.h>
#include <archive_entry.h>
#include <levin/data/download/sha256.h>
#include <levin/data/transforms/mixup.h>
#include <levin/data/transforms/random_flip.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/cache_at.h"
#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/data/download/http_server.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"

using levin::Batch;
using levin::Stage;
using namespace levin::data;

namespace {

namespace fs = std::filesystem;

/// Sets LEVIN_CACHE for the scope, so that no test sees this machine's own data.
/// Returns `count` records: label bytes that count up from `first`, then an image of test_images.
std::string records(int64_t count, int64_t label_bytes, int64_t first = 0) {
  const at::Tensor images = test_images({count, 3, 32, 32});
  const char* pixels = static_cast<const char*>(images.const_data_ptr());
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < label_bytes; ++k) bytes += static_cast<char>(k == 0 ? first + i : 10 * (first + i) % 100);
    bytes.append(pixels + i * 3072, 3072);
  }
  return bytes;
}

void write(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void write_cifar10(const fs::path& folder) {
  for (int64_t i = 1; i <= 5; ++i) write(folder / ("data_batch_" + std::to_string(i) + ".bin"), records(i, 1, i));
  write(folder / "test_batch.bin", records(4, 1, 3));
}

at::Tensor expected_input(const at::Tensor& images, const std::vector<double>& mean, const std::vector<double>& std) {
  std::vector<at::Tensor> channels;
  for (int64_t c = 0; c < 3; ++c) {
    const auto i = static_cast<size_t>(c);
    channels.push_back((images.select(1, c).to(at::kFloat) / 255 - mean[i]) / std[i]);
  }
  return at::stack(channels, 1);
}

const std::vector<double> kMean10 = {0.4914, 0.4822, 0.4465}, kStd10 = {0.2470, 0.2435, 0.2616};

}  // namespace

TEST_CASE("CIFAR-10's records are read from all of its files, with names where they are") {
  const TemporaryFolder folder;
  write_cifar10(folder.path());
  const CIFAR10Dataset train(folder.path());
  CHECK(train.size() == 15);
  CHECK(train.tensors().input().sizes() == at::IntArrayRef({15, 3, 32, 32}));
  CHECK(train.tensors().input().scalar_type() == at::kByte);
  CHECK(at::equal(train.tensors().target(),
                  at::tensor(std::vector<int64_t>{1, 2, 3, 3, 4, 5, 4, 5, 6, 7, 5, 6, 7, 8, 9})));
  CHECK(at::equal(train.tensors().input().narrow(0, 6, 4), test_images({4, 3, 32, 32})));
  CHECK(train.class_names().empty());
  Batch out;
  train.get_batch(Indices(std::vector<int64_t>{14, 0}), out);
  CHECK(at::equal(out.target(), at::tensor(std::vector<int64_t>{9, 1})));
  CHECK(at::equal(out.input()[1], test_images({1, 3, 32, 32})[0]));
  write(folder / "batches.meta.txt", "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\r\ntruck\n\n");
  const CIFAR10Dataset test(folder.path(), false);
  CHECK(test.size() == 4);
  CHECK(test.class_names().size() == 10);
  CHECK(test.class_names()[8] == "ship");
}

TEST_CASE("CIFAR-100 has fine and coarse labels") {
  const TemporaryFolder folder;
  write(folder / "train.bin", records(7, 2));
  write(folder / "test.bin", records(3, 2));
  CHECK(at::equal(CIFAR100Dataset(folder.path()).tensors().target(),
                  at::tensor(std::vector<int64_t>{0, 10, 20, 30, 40, 50, 60})));
  CHECK(at::equal(CIFAR100Dataset(folder.path(), false, true).tensors().target(),
                  at::tensor(std::vector<int64_t>{0, 1, 2})));
  CHECK(at::equal(CIFAR100Dataset(folder.path()).tensors().input(), test_images({7, 3, 32, 32})));
}

TEST_CASE("files that are cut off, broken or missing are named") {
  const TemporaryFolder folder;
  write_cifar10(folder.path());
  const auto error = [&] { return error_text<levin::UsageError>([&] { CIFAR10Dataset(folder.path(), false); }); };
  const std::string file = (folder / "test_batch.bin").string();
  fs::resize_file(folder / "test_batch.bin", 3073 * 4 - 1);
  CHECK(error() == file +
                       ": 12291 bytes are no whole number of records of 3073 bytes; the file is cut off or another "
                       "one");
  write(folder / "test_batch.bin", records(4, 1, 7));
  CHECK(error() == file + ": record 3 has the label 10, none of 10 classes; the file is broken or another one");
  write(folder / "test_batch.bin", "");
  CHECK(error().starts_with(file));
  fs::remove(folder / "test_batch.bin");
  CHECK(error().starts_with(file));
  write(folder / "test_batch.bin", records(1, 1));
  write(folder / "batches.meta.txt", "a\nb\n");
  CHECK(error() == (folder / "batches.meta.txt").string() + ": 2 class names, expected 10");
}

TEST_CASE("the data modules give normalised floating-point images") {
  const TemporaryFolder folder;
  const CacheAt cache(folder / "cache");
  // In the archive's own folder under root; CIFAR-100's under the cache folder.
  write_cifar10(folder / "c/cifar-10-batches-bin");
  CIFAR10 data({.root = (folder / "c").string(), .batch_size = 6, .shuffle = false});
  data.setup(Stage::Fit);
  data.setup(Stage::Test);
  CHECK(data.train_dataloader()[0].size() == 3);
  const Batch train = data.train_dataloader()[0].next()->batch;
  CHECK(at::equal(train.input().narrow(0, 3, 3), expected_input(test_images({3, 3, 32, 32}), kMean10, kStd10)));
  CHECK(at::equal(train.target(), at::tensor(std::vector<int64_t>{1, 2, 3, 3, 4, 5})));
  CHECK(data.val_dataloader()[0].next()->samples == 4);
  CHECK(at::equal(data.test_dataloader()[0].next()->batch.input(),
                  expected_input(test_images({4, 3, 32, 32}), kMean10, kStd10)));
  write(folder / "cache/cifar100/train.bin", records(5, 2));
  write(folder / "cache/cifar100/test.bin", records(5, 2));
  CIFAR100 hundred({.root = (folder / "none").string(), .coarse = true, .shuffle = false});
  hundred.setup(Stage::Fit);
  const Batch batch = hundred.train_dataloader()[0].next()->batch;
  CHECK(at::equal(batch.target(), at::arange(5, at::TensorOptions(at::kLong))));
  CHECK(at::equal(batch.input(),
                  expected_input(test_images({5, 3, 32, 32}), {0.5071, 0.4865, 0.4409}, {0.2673, 0.2564, 0.2762})));
}

TEST_CASE("transforms change training images as bytes, batch transforms after the normalisation") {
  const TemporaryFolder folder;
  const CacheAt cache(folder / "cache");
  write_cifar10(folder / "c");
  const CIFAR10Options options = {.root = (folder / "c").string(),
                                  .transforms = {{"RandomHorizontalFlip", RandomFlipOptions{.p = 1}}},
                                  .batch_transforms = {{"CutMix", MixupOptions{.alpha = 1e-5, .num_classes = 10}}},
                                  .batch_size = 4,
                                  .shuffle = false};
  CIFAR10 data(options);
  data.setup(Stage::Fit);
  const Batch train = data.train_dataloader()[0].next()->batch;
  CHECK(train.input().scalar_type() == at::kFloat);
  CHECK(train.target().sizes() == at::IntArrayRef({4, 10}));
  CIFAR10Options flipped = options;
  flipped.batch_transforms.clear();
  CIFAR10 only_flipped(flipped);
  only_flipped.setup(Stage::Fit);
  CHECK(at::equal(only_flipped.train_dataloader()[0].next()->batch.input().narrow(0, 1, 2),
                  expected_input(test_images({2, 3, 32, 32}), kMean10, kStd10).flip({3})));
  CHECK(at::equal(only_flipped.val_dataloader()[0].next()->batch.input(),
                  expected_input(test_images({4, 3, 32, 32}), kMean10, kStd10)));
  CIFAR10Options mixed = options;
  mixed.transforms.clear();
  CIFAR10 only_mixed(mixed);
  only_mixed.setup(Stage::Fit);
  CHECK(only_mixed.train_dataloader()[0].next()->batch.target().sizes() == at::IntArrayRef({4, 10}));
  CHECK(only_mixed.val_dataloader()[0].next()->batch.target().scalar_type() == at::kLong);
}

TEST_CASE("files that are missing are named with what to do") {
  const TemporaryFolder folder;
  const CacheAt cache(folder / "cache");
  const std::string root = (folder / "c").string();
  const auto error = [&](bool download) {
    CIFAR10 data({.root = root, .download = download});
    return error_text<levin::UsageError>([&] { data.setup(Stage::Fit); });
  };
  const std::string missing = "data.root: no files data_batch_1.bin to test_batch.bin in " + root + " or " + root +
                              "/cifar-10-batches-bin, nor in " + (folder / "cache/cifar10").string();
  CHECK(error(false) == missing + "; set --data.root or pass --data.download true");
  CHECK(error(true) == missing + "; prepare_data() has not downloaded them");
  CHECK(error_text<levin::UsageError>([] { CIFAR10({.batch_size = 0}); }) ==
        "data.batch_size: expected at least 1, got 0");
}

namespace {

/// CIFAR-10 with a small generated archive.
struct SmallCIFAR : CIFARModule {
  SmallCIFAR(const CIFAR10Options& options, const PublicFile& archive)
      : CIFARModule(options, {.class_name = "SmallCIFAR",
                              .cache_name = "small_cifar",
                              .folder = "unpacked",
                              .files = {"data_batch_1.bin", "data_batch_5.bin", "test_batch.bin"},
                              .names_file = {},
                              .mean = kMean10,
                              .stddev = kStd10,
                              .archive = archive}) {}
  std::unique_ptr<const CIFARDataset> read(const fs::path& folder, bool train) const override {
    return std::make_unique<const CIFAR10Dataset>(folder, train);
  }
};

/// Packs all files of `folder` into an archive, under the name "inside".
void pack(const fs::path& path, const fs::path& folder) {
  archive* writer = archive_write_new();
  archive_write_add_filter_gzip(writer);
  archive_write_set_format_ustar(writer);
  REQUIRE(archive_write_open_filename(writer, path.c_str()) == ARCHIVE_OK);
  for (const auto& file : fs::directory_iterator(folder)) {
    const std::string bytes = read_bytes(file.path());
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, ("inside/" + file.path().filename().string()).c_str());
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, static_cast<la_int64_t>(bytes.size()));
    archive_write_header(writer, entry);
    archive_write_data(writer, bytes.data(), bytes.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
}

}  // namespace

TEST_CASE("the archive is downloaded, checked, unpacked and removed; a second run needs no network") {
  const TemporaryFolder folder;
  const CacheAt cache(folder / "cache");
  write_cifar10(folder / "source");
  pack(folder / "small.tar.gz", folder / "source");
  const std::string bytes = read_bytes(folder / "small.tar.gz");
  const PublicFile archive = {"small.tar.gz", static_cast<int64_t>(bytes.size()), sha256_of(folder / "small.tar.gz")};
  const HttpServer server([&](const HttpServer::Request& request) {
    auto response = HttpServer::answer(bytes, request);
    if (request.number == 0) response.cut_after = bytes.size() / 2;
    return response;
  });
  const CIFAR10Options options = {.root = (folder / "root").string(), .download = true, .url = server.url("/data")};
  const CapturedStderr captured;
  for (int run = 0; run < 2; ++run) {
    SmallCIFAR data(options, archive);
    data.prepare_data();
    data.setup(Stage::Fit);
    CHECK(data.dataset(Split::Train)->size() == 15);
  }
  REQUIRE(server.requests().size() == 2);
  CHECK(server.requests()[0].path == "/data/small.tar.gz");
  CHECK(fs::exists(folder / "root/unpacked/test_batch.bin"));
  CHECK_FALSE(fs::exists(folder / "root/small.tar.gz"));
  // Two at once, like two jobs that share a disk, take turns.
  fs::remove_all(folder / "root");
  std::vector<std::string> errors(2);
  std::vector<std::thread> jobs;
  for (std::string& error : errors)
    jobs.emplace_back([&] { error = error_text([&] { SmallCIFAR(options, archive).prepare_data(); }); });
  for (std::thread& job : jobs) job.join();
  CHECK(errors == std::vector<std::string>(2, "no error"));
  CHECK(server.requests().size() == 3);
  CHECK(std::distance(fs::directory_iterator(folder / "root"), fs::directory_iterator()) == 1);
  // Without download there is nothing to prepare.
  SmallCIFAR({.root = (folder / "other").string()}, archive).prepare_data();
  CHECK_FALSE(fs::exists(folder / "other"));
}

TEST_CASE("the names of CIFAR's classes and its normalisation are what it has learned, also without the files") {
  const TemporaryFolder folder;
  const CacheAt cache(folder / "cache");
  write_cifar10(folder.path());
  write(folder / "batches.meta.txt", "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n");
  CIFAR10 data({.root = folder.path().string()});
  const levin::State learned = data.learned_state();
  CHECK(learned.at("class_names").items()[8].to_string() == "ship");
  CHECK(learned.at("mean").items()[2].to_double() == 0.4465);
  CIFAR10 elsewhere({.root = (folder / "nowhere").string()});
  CHECK(contains(error_text<levin::UsageError>([&] { elsewhere.learned_state(); }), "data.root: no files "));
  elsewhere.load_learned_state(learned);
  CHECK(elsewhere.learned_state().at("class_names").size() == 10);
  const at::Tensor bytes = test_images({2, 3, 32, 32});
  CHECK(at::equal(elsewhere.raw_input()->prepare(Batch(bytes)).input(), expected_input(bytes, kMean10, kStd10)));
}
