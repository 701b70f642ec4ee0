#include <levin/data/datasets/mnist.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/digit_glyphs.h>
#include <levin/data/datasets/readers/idx_file.h>
#include <levin/data/datasets/synthetic_digits.h>
#include <levin/data/download/sha256.h>
#include <levin/data/transforms/convert_image.h>
#include <levin/data/transforms/mixup.h>
#include <levin/data/transforms/normalize.h>
#include <levin/data/transforms/random_flip.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "tests/cache_at.h"
#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/data/download/http_server.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using levin::Stage;
using namespace levin::data;

namespace {

/// Sets LEVIN_CACHE for the scope, so that no test sees this machine's own data.
}  // namespace

TEST_CASE("MNIST reads its four files, plain or gzip") {
  const TemporaryFolder folder;
  const CacheAt cache(folder / "cache");
  for (const bool compressed : {false, true}) {
    const auto root = folder / (compressed ? "gzip" : "plain");
    write_synthetic_mnist(root, 40, 10, compressed);
    MNIST data({.root = root.string(), .batch_size = 16, .shuffle = false});
    data.setup(Stage::Fit);
    Loaders train = data.train_dataloader(), val = data.val_dataloader();
    CHECK(train[0].size() == 3);
    CHECK(val[0].size() == 1);
    const auto loaded = train[0].next();
    CHECK(loaded->batch.input().sizes() == at::IntArrayRef({16, 1, 28, 28}));
    CHECK(loaded->batch.target().scalar_type() == at::kLong);
    // The same images in float arithmetic, operation by operation.
    const DrawnDigits drawn = draw_digits(16, 0, 0);
    const at::Tensor expected = ((drawn.images.to(at::kFloat) / 255) - 0.1307) / 0.3081;
    CHECK(at::equal(loaded->batch.input().squeeze(1), expected));
    CHECK(at::equal(loaded->batch.target(), drawn.labels.to(at::kLong)));
  }
}

TEST_CASE("training is shuffled, evaluation is not, and each stage reads what it needs") {
  const TemporaryFolder folder;
  const CacheAt cache(folder / "cache");
  write_synthetic_mnist(folder / "m", 64, 64);
  MNIST data({.root = (folder / "m").string(), .batch_size = 64, .drop_last = true, .seed = 1});
  CHECK_THROWS_AS(data.train_dataloader(), levin::UsageError);
  data.setup(Stage::Test);
  CHECK_THROWS_WITH(data.train_dataloader(), "MNIST: call setup before asking for the train loader");
  data.setup(Stage::Predict);
  CHECK(data.dataset(Split::Test) == data.dataset(Split::Predict));  // read once
  CHECK(data.dataset(Split::Test)->class_names().size() == 10);
  const at::Tensor labels = read_idx(folder / "m/t10k-labels-idx1-ubyte", 1).to(at::kLong);
  CHECK(at::equal(data.test_dataloader()[0].next()->batch.target(), labels));
  CHECK(at::equal(data.predict_dataloader()[0].next()->batch.target(), labels));
  data.setup(Stage::Fit);
  const at::Tensor train = read_idx(folder / "m/train-labels-idx1-ubyte", 1).to(at::kLong);
  CHECK_FALSE(at::equal(data.train_dataloader()[0].next()->batch.target(), train));
}

TEST_CASE("FashionMNIST has its own scale, and files are also found in the cache") {
  const TemporaryFolder folder;
  const CacheAt cache(folder.path());
  write_synthetic_mnist(folder / "fashion_mnist", 8, 4, true);
  FashionMNIST data({.root = (folder / "elsewhere").string(), .batch_size = 4});
  data.setup(Stage::Validate);
  const at::Tensor bytes = read_idx(folder / "fashion_mnist/t10k-images-idx3-ubyte.gz", 3);
  CHECK(at::equal(data.val_dataloader()[0].next()->batch.input().squeeze(1),
                  ((bytes.to(at::kFloat) / 255) - 0.2860) / 0.3530));
}

TEST_CASE("files that are missing or do not fit are named") {
  const TemporaryFolder folder;
  const CacheAt cache(folder / "cache");
  const auto root = folder / "m";
  MNIST data({.root = root.string()});
  const auto error = [&] { return error_text([&] { data.setup(Stage::Fit); }); };
  CHECK(error() == "data.root: no file " + root.string() + "/train-images-idx3-ubyte(.gz), nor one in " +
                       (folder / "cache/mnist").string() + "; set --data.root or pass --data.download true");
  MNIST asked({.root = root.string(), .download = true});
  CHECK(contains(error_text([&] { asked.setup(Stage::Fit); }), "; prepare_data() has not downloaded it"));
  write_synthetic_mnist(root, 8, 4);
  write_idx(root / "train-labels-idx1-ubyte", at::arange(7, at::TensorOptions(at::kByte)));
  CHECK(error().find("data.root: 8 images in ") == 0);
  CHECK(error().find("but 7 labels in ") != std::string::npos);
  std::filesystem::resize_file(root / "train-images-idx3-ubyte", 1000);
  CHECK(error().find("train-images-idx3-ubyte: the header asks for more bytes") != std::string::npos);
  write_idx(root / "train-images-idx3-ubyte", at::zeros({0, 28, 28}, at::TensorOptions(at::kByte)));
  write_idx(root / "train-labels-idx1-ubyte", at::zeros({0}, at::TensorOptions(at::kByte)));
  CHECK(error().find("data.root: no images in ") == 0);
  CHECK_THROWS_AS(data.setup(Stage::Fit), levin::UsageError);
}

TEST_CASE("transforms change training images as bytes; what they return is normalised, bytes or not") {
  const TemporaryFolder folder;
  const CacheAt cache(folder / "cache");
  write_synthetic_mnist(folder / "m", 12, 12);
  MNISTOptions options = {.root = (folder / "m").string(), .batch_size = 12, .shuffle = false};
  const auto first = [&](const MNISTOptions& of, bool train) {
    MNIST data(of);
    data.setup(Stage::Fit);
    return (train ? data.train_dataloader() : data.val_dataloader())[0].next()->batch;
  };
  const at::Tensor plain = first(options, true).input(), val = first(options, false).input();
  options.transforms = {{"RandomHorizontalFlip", RandomFlipOptions{.p = 1}}};
  CHECK(at::equal(first(options, true).input(), plain.flip({3})));
  CHECK(at::equal(first(options, false).input(), val));
  options.transforms.push_back({"ConvertImage"});
  CHECK(at::equal(first(options, true).input(), plain.flip({3})));
  options.transforms.push_back({"Normalize", NormalizeOptions{.mean = 0.5, .std = 0.5}});
  CHECK(error_text<levin::UsageError>([&] { MNIST data(options); }) ==
        "data.transforms[2]: MNIST normalises its images after the transforms, in training as in evaluation; leave "
        "Normalize out");
  options.transforms.back() = {"ConvertImage", ConvertImageOptions{.scale = false}};
  CHECK(error_text<levin::UsageError>([&] { MNIST data(options); }) ==
        "data.transforms[2].scale: MNIST normalises images after the transforms, and takes numbers to be from 0 to 1; "
        "leave scale out");
  options.transforms.pop_back();
  options.batch_transforms = {{"Mixup", MixupOptions{.num_classes = 10}}};
  CHECK(first(options, true).target().sizes() == at::IntArrayRef({12, 10}));
  options.transforms.clear();
  CHECK(first(options, true).target().sizes() == at::IntArrayRef({12, 10}));
  CHECK(first(options, false).target().scalar_type() == at::kLong);
  options.transforms = {{"Fl1p"}};
  CHECK(error_text<levin::UsageError>([&] {
          MNIST data(options);
        }).starts_with("data.transforms[0].class: no transform"));
}

namespace {

/// MNIST with small generated files.
struct SmallMNIST : IdxImages {
  SmallMNIST(const MNISTOptions& options, std::array<PublicFile, 4> files)
      : IdxImages(options, {.class_name = "SmallMNIST",
                            .cache_name = "small_mnist",
                            .mean = 0.1307,
                            .stddev = 0.3081,
                            .class_names = {},
                            .files = std::move(files)}) {}
};

}  // namespace

TEST_CASE("files that are missing are downloaded into root, those that are there are not") {
  const TemporaryFolder folder;
  const CacheAt cache(folder / "cache");
  write_synthetic_mnist(folder / "source", 20, 10, true);
  std::array<PublicFile, 4> files;
  const char* names[] = {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz",
                         "t10k-labels-idx1-ubyte.gz"};
  for (size_t i = 0; i < 4; ++i) {
    const auto path = folder / ("source/" + std::string(names[i]));
    files[i] = {names[i], static_cast<int64_t>(std::filesystem::file_size(path)), sha256_of(path)};
  }
  const HttpServer server([&](const HttpServer::Request& request) {
    return HttpServer::answer(read_bytes(folder / ("source" + request.path)), request);
  });
  // One file is already in root, not compressed; one is in the cache.
  std::filesystem::create_directories(folder / "root");
  write_idx(folder / "root/t10k-labels-idx1-ubyte", read_idx(folder / "source/t10k-labels-idx1-ubyte.gz", 1));
  std::filesystem::create_directories(folder / "cache/small_mnist");
  std::filesystem::rename(folder / "source/train-labels-idx1-ubyte.gz",
                          folder / "cache/small_mnist/train-labels-idx1-ubyte.gz");
  const CapturedStderr captured;
  const MNISTOptions options = {.root = (folder / "root").string(), .download = true, .url = server.url("")};
  for (int run = 0; run < 2; ++run) {
    SmallMNIST data(options, files);
    data.prepare_data();
    data.setup(Stage::Fit);
    CHECK(data.dataset(Split::Train)->size() == 20);
    CHECK(data.dataset(Split::Val)->size() == 10);
  }
  REQUIRE(server.requests().size() == 2);
  CHECK(server.requests()[0].path == "/train-images-idx3-ubyte.gz");
  CHECK(server.requests()[1].path == "/t10k-images-idx3-ubyte.gz");
  CHECK(std::filesystem::exists(folder / "root/train-images-idx3-ubyte.gz"));
  SmallMNIST({.root = (folder / "none").string()}, files).prepare_data();
  CHECK_FALSE(std::filesystem::exists(folder / "none"));
}
