#include <levin/data/datasets/image_folder.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <levin/core/system/error.h>
#include <levin/data/data_loader.h>
#include <levin/data/files/image_file.h>
#include <levin/data/registry.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <vector>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/data/files/pictures.h"
#include "tests/data/run_unprivileged.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::UsageError;
using namespace levin::data;
using namespace levin::testing;

namespace {

namespace fs = std::filesystem;

/// Writes a picture as `path` below the folder, with the folders above it.
at::Tensor add(const TemporaryFolder& folder, const std::string& path, int64_t height = 6, int64_t width = 8,
               uint64_t seed = 0) {
  fs::create_directories((folder / path).parent_path());
  const at::Tensor image = picture(height, width, seed);
  write_png(folder / path, image);
  return image;
}

/// Three classes of four pictures of the same size; the names count on over all of them.
void add_three_classes(const TemporaryFolder& folder, const std::string& below = "") {
  for (int i = 0; i < 12; ++i) {
    const char* const name = i < 4 ? "ant/" : i < 8 ? "bee/" : "cat/";
    add(folder, below + name + std::to_string(10 + i) + ".png", 10, 12, static_cast<uint64_t>(i));
  }
}

Indices indices_of(std::vector<int64_t> list) {
  Indices indices(std::move(list));
  indices.seed = 5;
  indices.epoch = 2;
  return indices;
}

Batch batch_of(const Dataset& dataset, std::vector<int64_t> list) {
  Batch batch;
  dataset.get_batch(indices_of(std::move(list)), batch);
  return batch;
}

std::vector<int64_t> all_of(const Dataset& dataset) {
  std::vector<int64_t> list(static_cast<size_t>(dataset.size()));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

std::vector<int64_t> targets(const Batch& batch) {
  const at::Tensor target = batch.target().contiguous();
  return {target.const_data_ptr<int64_t>(), target.const_data_ptr<int64_t>() + target.numel()};
}

/// A window of 5 x 5 at a random place.
TransformPtr random_window() {
  return std::make_shared<Lambda>([](Batch& batch, std::span<Rng> rngs) {
    const at::Tensor& image = batch.input();
    const int64_t top = rngs[0].randint(0, image.size(2) - 4), left = rngs[0].randint(0, image.size(3) - 4);
    batch.set("input", image.narrow(2, top, 5).narrow(3, left, 5));
  });
}

}  // namespace

TEST_CASE("files of an image folder are found by class and path") {
  const TemporaryFolder folder;
  for (const char* path :
       {"b/2.png", "b/1.PNG", "a-b/x.jpeg", "a/deep/er/z.jpg", "a/y.png", "a/.hidden.png", ".c/1.png"})
    add(folder, path);
  write_bytes(folder / "a/notes.txt", "no image");
  write_bytes(folder / "b/3.png.bak", "no image");
  write_bytes(folder / "list.txt", "no class");
  const ImageFiles files = find_image_files(folder.path());
  CHECK(files.classes == std::vector<std::string>{"a", "a-b", "b"});
  std::vector<std::string> found;
  for (const auto& item : files.items) {
    found.push_back(std::to_string(item.target) + " " + fs::relative(item.path, folder.path()).string());
  }
  CHECK(found == std::vector<std::string>{"0 a/deep/er/z.jpg", "0 a/y.png", "1 a-b/x.jpeg", "2 b/1.PNG", "2 b/2.png"});
  const ImageFiles other = find_image_files(folder.path(), {"zebra", "b", "a-b", "a"});
  CHECK(other.classes == std::vector<std::string>{"zebra", "b", "a-b", "a"});
  CHECK(other.items.front().target == 3);
  CHECK(other.items.back().target == 1);
}

TEST_CASE("a folder that is no image folder is refused with its name") {
  const TemporaryFolder folder;
  const std::string root = folder.path().string();
  const auto message = [&](const fs::path& path, std::vector<std::string> classes = {}) {
    return error_text<UsageError>([&] { find_image_files(path, std::move(classes)); });
  };
  CHECK(message(root + "/none") == root + "/none: the folder cannot be read: No such file or directory");
  CHECK(message(root) == root +
                             ": no subfolders; an image folder has one for each class, with .jpg, .jpeg, .png, .tif, "
                             ".tiff or .webp files");
  add(folder, "cat/1.png");
  CHECK(message(root) == "no error");
  CHECK(message(root, {"car", "dog"}) ==
        root + "/cat: no class of the training images is called 'cat' (did you mean car?)");
  CHECK(contains(message(root + "/cat/1.png"), "the folder cannot be read: Not a directory"));
  fs::create_directories(folder / "dog/puppies");
  write_bytes(folder / "dog/notes.txt", "no image");
  CHECK(message(root) ==
        root + "/dog: no .jpg, .jpeg, .png, .tif, .tiff or .webp file in this class; fill or remove the folder");
  fs::remove_all(folder / "dog");
  fs::create_directory_symlink("..", folder / "cat/again");
  CHECK(contains(message(root), ": more than 30 folders in one another; does a link lead back?"));
  fs::remove(folder / "cat/again");
  fs::create_directory_symlink(folder / "cat", folder / "dog");
  CHECK(find_image_files(folder.path()).items.size() == 2);
}

TEST_CASE("a folder or file that may not be read is named") {
  const TemporaryFolder folder;
  add(folder, "cat/1.png");
  add(folder, "dog/1.png");
  fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  const std::string root = folder.path().string();
  const auto message = [&] {
    return run_unprivileged(
        [&] { return error_text<UsageError>([&] { batch_of(ImageFolderDataset(folder.path()), {0, 1}); }); });
  };
  CHECK(message() == "no error");
  fs::permissions(folder / "dog/1.png", fs::perms::none);
  CHECK(message() == root + "/dog/1.png: cannot be opened: Permission denied");
  fs::permissions(folder / "dog", fs::perms::none);
  CHECK(message() == root + "/dog: the folder cannot be read: Permission denied");
  fs::permissions(folder.path(), fs::perms::owner_all);
  CHECK(message() == root + ": the folder cannot be read: Permission denied");
}

TEST_CASE("samples are the images as bytes, with their classes") {
  const TemporaryFolder folder;
  const at::Tensor a = add(folder, "a/1.png", 6, 8, 1), b = add(folder, "b/1.png", 6, 8, 2),
                   c = add(folder, "b/2.png", 6, 8, 3);
  const ImageFolderDataset dataset(folder.path());
  CHECK(dataset.size() == 3);
  CHECK(dataset.class_names() == std::vector<std::string>{"a", "b"});
  const Batch batch = batch_of(dataset, {2, 0, 1, 2});
  CHECK(batch.input().scalar_type() == at::kByte);
  CHECK(batch.input().is_contiguous());
  CHECK(at::equal(batch.input(), at::stack({c, a, b, c})));
  CHECK(targets(batch) == std::vector<int64_t>{1, 0, 1, 1});
  Rng rng(0, 0, 0);
  const Batch one = dataset.get(2, rng);
  CHECK(at::equal(one.input(), c));
  CHECK(one.target().dim() == 0);
  CHECK(one.target().item<int64_t>() == 1);
}

TEST_CASE("images get one size by the shorter side and the middle, or exactly") {
  const TemporaryFolder folder;
  const at::Tensor wide = add(folder, "a/1.png", 4, 7), tall = add(folder, "a/2.png", 9, 4),
                   large = add(folder, "a/3.png", 30, 40);
  const auto bytes = [&](const std::string& resize, int64_t resize_size, int64_t index) {
    const ImageFolderDataset dataset(folder.path(), {.image_size = 4, .resize = resize, .resize_size = resize_size});
    return batch_of(dataset, {index}).input()[0];
  };
  const auto resized = [](const at::Tensor& image, int64_t height, int64_t width) {
    return at::_upsample_bilinear2d_aa(image.unsqueeze(0), {height, width}, false)[0];
  };
  // Half a pixel goes to the even side: 1.5 to 2, 2.5 to 2.
  CHECK(at::equal(bytes("center_crop", 0, 0), wide.narrow(2, 2, 4)));
  CHECK(at::equal(bytes("center_crop", 0, 1), tall.narrow(1, 2, 4)));
  CHECK(at::equal(bytes("center_crop", 0, 2), resized(large, 4, 5).narrow(2, 0, 4)));
  CHECK(at::equal(bytes("center_crop", 6, 2), resized(large, 6, 8).narrow(1, 1, 4).narrow(2, 2, 4)));
  CHECK(at::equal(bytes("exact", 0, 2), resized(large, 4, 4)));
  CHECK(at::equal(bytes("exact", 0, 0), resized(wide, 4, 4)));

  const std::string both = error_text<UsageError>([&] { batch_of(ImageFolderDataset(folder.path()), {0, 1}); });
  CHECK(both == (folder / "a/2.png").string() + ": the image is Byte [3, 9, 4], but those before it in the batch are " +
                    "[3, 4, 7]; set image_size, or transforms that give all one size and type");
  CHECK(error_text<UsageError>([&] { ImageFolderDataset(folder.path(), {.image_size = 8, .resize_size = 7}); }) ==
        "ImageFolder.resize_size: 7 is less than image_size, 8");
  CHECK(contains(error_text<UsageError>([&] { ImageFolderDataset(folder.path(), {.resize = "crop"}); }),
                 "ImageFolder.resize: "));
}

TEST_CASE("large JPEGs can be decoded smaller, to about the same images") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "a");
  write_jpeg(folder / "a/1.jpg", picture(320, 400), 95);
  const Batch whole = batch_of(ImageFolderDataset(folder.path(), {.image_size = 40}), {0});
  const Batch scaled = batch_of(ImageFolderDataset(folder.path(), {.image_size = 40, .scaled_decode = true}), {0});
  CHECK_FALSE(at::equal(whole.input(), scaled.input()));
  const at::Tensor difference = (whole.input().to(at::kFloat) - scaled.input().to(at::kFloat)).abs();
  CHECK(difference.mean().item<float>() < 3);
}

TEST_CASE("mean and std give exactly what ATen computes of the bytes") {
  const TemporaryFolder folder;
  const at::Tensor image = add(folder, "a/1.png", 40, 50);
  const ImageFolderDataset dataset(folder.path(), {.mean = {0.485, 0.456, 0.406}, .std = {0.229, 0.224, 0.225}});
  const at::Tensor mean = at::tensor({0.485f, 0.456f, 0.406f}).view({3, 1, 1}),
                   std = at::tensor({0.229f, 0.224f, 0.225f}).view({3, 1, 1});
  const Batch batch = batch_of(dataset, {0});
  CHECK(batch.input().scalar_type() == at::kFloat);
  CHECK(at::equal(batch.input()[0], ((image.to(at::kFloat) / 255) - mean) / std));
  const ImageFolderDataset gray(folder.path(), {.mean = 0.5, .std = 0.25});
  CHECK(at::equal(batch_of(gray, {0}).input()[0], ((image.to(at::kFloat) / 255) - 0.5) / 0.25));

  // Images that a transform made floating point are normalised like bytes.
  const TransformPtr to_float = std::make_shared<Lambda>(
      [](Batch& one, std::span<Rng>) { one.set("input", one.input().to(at::kFloat).div_(255)); });
  const ImageFolderDataset converted(folder.path(), {.mean = 0.5, .std = 0.25, .transform = to_float});
  CHECK(at::equal(batch_of(converted, {0}).input()[0], ((image.to(at::kFloat) / 255) - 0.5) / 0.25));
  const ImageFolderDataset plain(folder.path(), {.transform = to_float});
  CHECK(at::equal(batch_of(plain, {0}).input()[0], image.to(at::kFloat) / 255));

  CHECK(error_text<UsageError>([&] { ImageFolderDataset(folder.path(), {.mean = 0.5}); }) ==
        "ImageFolder: give both mean and std, or none");
  CHECK(error_text<UsageError>([&] { ImageFolderDataset(folder.path(), {.mean = {0.5, 0.4}, .std = 1}); }) ==
        "ImageFolder.mean: expected 1 number or 3, got 2");
  CHECK(error_text<UsageError>([&] { ImageFolderDataset(folder.path(), {.mean = 0.5, .std = 0}); }) ==
        "ImageFolder.std: must be more than 0, got 0");
}

TEST_CASE("a random transform does the same to a sample in any batch") {
  const TemporaryFolder folder;
  for (int i = 0; i < 8; ++i) {
    add(folder, "a/" + std::to_string(i) + ".png", 6 + i, 20 - i, static_cast<uint64_t>(i));
  }
  const ImageFolderDataset dataset(folder.path(), {.transform = random_window()});
  const at::Tensor all = batch_of(dataset, {0, 1, 2, 3, 4, 5, 6, 7}).input();
  CHECK(all.sizes() == at::IntArrayRef({8, 3, 5, 5}));
  CHECK(at::equal(batch_of(dataset, {0, 1, 2, 3, 4, 5, 6, 7}).input(), all));
  CHECK(at::equal(batch_of(dataset, {7, 2}).input(), at::stack({all[7], all[2]})));
  for (int64_t i = 0; i < 8; ++i) {
    CHECK(at::equal(batch_of(dataset, {i}).input()[0], all[i]));
    Rng rng = indices_of({}).rng(i);
    CHECK(at::equal(dataset.get(i, rng).input(), all[i]));
  }
  Indices other = indices_of({0, 1, 2, 3, 4, 5, 6, 7});
  other.epoch = 3;
  Batch later;
  dataset.get_batch(other, later);
  CHECK_FALSE(at::equal(later.input(), all));

  const ImageFolderDataset wrong(folder.path(),
                                 {.transform = std::make_shared<Lambda>(
                                      [](Batch& batch, std::span<Rng>) { batch.set("input", batch.input()[0]); })});
  CHECK(error_text([&] { batch_of(wrong, {0}); }) ==
        "ImageFolder: a transform made [3, 6, 20] of one image [1, 3, 6, 20]");
}

TEST_CASE("a broken image ends the batch, or is left out and counted") {
  const TemporaryFolder folder;
  for (int i = 0; i < 5; ++i) add(folder, "a/" + std::to_string(i) + ".png", 6, 8, static_cast<uint64_t>(i));
  const ImageFolderDataset whole(folder.path());
  const at::Tensor images = batch_of(whole, all_of(whole)).input();
  for (const char* name : {"a/1.png", "a/3.png"}) {
    const std::string bytes = read_bytes(folder / name);
    write_bytes(folder / name, bytes.substr(0, bytes.size() / 2));
  }
  const std::string cause = (folder / "a/1.png").string() + ": the file is cut off; get it again";
  CHECK(error_text<UsageError>([&] { batch_of(whole, {0, 1, 2, 3}); }) == cause);
  CHECK(whole.skipped() == 0);

  const CapturedStderr captured;
  const ImageFolderDataset dataset(folder.path(), {.on_error = "skip"});
  const ImageFolderDataset copy = dataset;
  const Batch batch = batch_of(dataset, {0, 1, 2, 3, 4});
  CHECK(at::equal(batch.input(), at::stack({images[0], images[2], images[4]})));
  CHECK(targets(batch) == std::vector<int64_t>{0, 0, 0});
  CHECK(dataset.skipped() == 2);
  batch_of(dataset, {3, 4});
  CHECK(dataset.skipped() == 3);
  CHECK(copy.skipped() == 3);
  CHECK(error_text<UsageError>([&] { batch_of(dataset, {1, 3}); }) ==
        cause + " (nor can any other of the 2 images of its batch)");
  CHECK(dataset.skipped() == 5);
  Rng rng(0, 0, 0);
  CHECK(error_text<UsageError>([&] { dataset.get(1, rng); }) == cause);
  CHECK(occurrences(captured.text(), "warning: ") == 1);
  CHECK(contains(captured.text(),
                 "warning: " + cause + " (left out, as on_error says; more such images are only counted)"));

  // An exception of a transform does not count as a broken image.
  const ImageFolderDataset failing(
      folder.path(), {.on_error = "skip", .transform = std::make_shared<Lambda>([](Batch&, std::span<Rng>) {
                                            throw UsageError("the transform fails");
                                          })});
  CHECK(error_text<UsageError>([&] { batch_of(failing, {0, 1}); }) == "the transform fails");
}

TEST_CASE("the memory of a batch that nobody holds is used again") {
  const TemporaryFolder folder;
  add_three_classes(folder);
  const ImageFolderDataset dataset(folder.path(), {.mean = 0.5, .std = 0.5});
  Batch batch = batch_of(dataset, {0, 1, 2});
  const void* const memory = batch.input().const_data_ptr();
  dataset.get_batch(indices_of({5, 6, 7}), batch);
  CHECK(batch.input().const_data_ptr() == memory);
  CHECK(targets(batch) == std::vector<int64_t>{1, 1, 1});
  const Batch held = batch;
  dataset.get_batch(indices_of({8}), batch);
  CHECK(batch.input().const_data_ptr() != memory);
  CHECK(targets(held) == std::vector<int64_t>{1, 1, 1});
}

TEST_CASE("the data module divides one folder, or takes train, val and test") {
  const TemporaryFolder folder;
  add_three_classes(folder, "plain/");
  const auto module = [&](const std::string& name, double val_fraction = 0.25) {
    return ImageFolder(
        {.root = (folder / name).string(), .image_size = 8, .val_fraction = val_fraction, .batch_size = 4});
  };
  ImageFolder plain = module("plain");
  plain.setup(levin::Stage::Fit);
  CHECK(plain.dataset(Split::Train)->size() == 9);
  CHECK(plain.dataset(Split::Val)->size() == 3);
  CHECK(plain.dataset(Split::Train)->class_names() == std::vector<std::string>{"ant", "bee", "cat"});
  const auto files = [](ImageFolder& data, Split split) {
    return dynamic_cast<const Subset&>(*data.dataset(split)).indices();
  };
  std::vector<int64_t> both = files(plain, Split::Train);
  for (const int64_t index : files(plain, Split::Val)) both.push_back(index);
  CHECK(std::set<int64_t>(both.begin(), both.end()).size() == 12);
  ImageFolder again = module("plain");
  again.setup(levin::Stage::Validate);
  CHECK(files(again, Split::Val) == files(plain, Split::Val));
  plain.setup(levin::Stage::Test);
  CHECK(plain.test_dataloader().empty());
  ImageFolder undivided = module("plain", 0);
  undivided.setup(levin::Stage::Fit);
  CHECK(undivided.dataset(Split::Train)->size() == 12);
  CHECK(undivided.val_dataloader().empty());
  ImageFolder none = module("plain", 0.01);
  CHECK(error_text<UsageError>([&] { none.setup(levin::Stage::Fit); }) ==
        "data.val_fraction: 0.01 of 12 images leaves none for validation; give another fraction, or 0");

  add_three_classes(folder, "divided/train/");
  add(folder, "divided/val/cat/1.png");
  add(folder, "divided/test/bee/1.png");
  fs::create_directories(folder / "divided/lists");
  ImageFolder divided = module("divided");
  for (const levin::Stage stage : {levin::Stage::Fit, levin::Stage::Test, levin::Stage::Predict}) divided.setup(stage);
  CHECK(divided.dataset(Split::Train)->size() == 12);
  CHECK(divided.val_dataloader()[0].next()->batch.target().item<int64_t>() == 2);
  CHECK(divided.test_dataloader()[0].next()->batch.target().item<int64_t>() == 1);
  CHECK(divided.predict_dataloader()[0].next()->batch.input().sizes() == at::IntArrayRef({1, 3, 8, 8}));
  add(folder, "divided/val/dog/1.png");
  ImageFolder unknown = module("divided");
  CHECK(contains(error_text<UsageError>([&] { unknown.setup(levin::Stage::Fit); }),
                 "divided/val/dog: no class of the training images is called 'dog'"));
  // A class may be called train if no other folder is named like a split.
  add(folder, "vehicles/train/1.png");
  add(folder, "vehicles/car/1.png");
  ImageFolder vehicles = module("vehicles", 0);
  vehicles.setup(levin::Stage::Fit);
  CHECK(vehicles.dataset(Split::Train)->class_names() == std::vector<std::string>{"car", "train"});
  ImageFolder absent = module("absent");
  CHECK(contains(error_text<UsageError>([&] { absent.setup(levin::Stage::Fit); }),
                 "data.root: no folder " + (folder / "absent").string()));
}

TEST_CASE("training alone is transformed, and normalised after that") {
  const TemporaryFolder folder;
  add_three_classes(folder, "train/");
  add_three_classes(folder, "val/");
  const levin::Json json = {{"class", "ImageFolder"}, {"root", folder.path().string()},
                            {"image_size", 8},        {"transforms", {{{"class", "RandomHorizontalFlip"}, {"p", 1.0}}}},
                            {"shuffle", false},       {"batch_size", 12}};
  levin::ClassChoice<DataModuleKind> part;
  levin::OptionTraits<levin::ClassChoice<DataModuleKind>>::type().set(&part, "data", json, {});
  const auto data = part.make("data");
  data->setup(levin::Stage::Fit);
  const Batch train = data->train_dataloader()[0].next()->batch, val = data->val_dataloader()[0].next()->batch;
  CHECK(train.input().scalar_type() == at::kFloat);
  CHECK_FALSE(at::equal(train.input(), val.input()));
  CHECK(at::equal(train.input().flip({3}), val.input()));
}

TEST_CASE("workers give the same batches") {
  const TemporaryFolder folder;
  add_three_classes(folder);
  const auto dataset = std::make_shared<const ImageFolderDataset>(
      folder.path(), ImageFolderDatasetOptions{.mean = 0.5, .std = 0.5, .transform = random_window()});
  const auto epoch = [&](int64_t workers) {
    DataLoader loader(dataset, {.batch_size = 5, .shuffle = true, .num_workers = workers, .seed = 3});
    std::vector<at::Tensor> inputs;
    while (auto loaded = loader.next()) inputs.push_back(loaded->batch.input().clone());
    CHECK(inputs.size() == 3);
    return at::cat(inputs);
  };
  const at::Tensor alone = epoch(0);
  CHECK(alone.size(0) == 12);
  CHECK(at::equal(epoch(2), alone));
  CHECK(at::equal(epoch(5), alone));
}
