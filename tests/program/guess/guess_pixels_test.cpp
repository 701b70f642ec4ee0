#include <levin/data/files/image_file.h>
#include <levin/data/files/missing_library.h>
#include <levin/program/guess/common.h>
#include <levin/program/guess/kinds.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/data/files/pictures.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

namespace fs = std::filesystem;
using namespace levin::cli;
using levin::testing::picture;

namespace {

/// Writes `count` pictures 0.png and so on, and the same numbers of masks with these values.
void write_pairs(const fs::path& images, const fs::path& masks, int count, int values, int factor = 1,
                 const std::string& suffix = "") {
  fs::create_directories(images);
  fs::create_directories(masks);
  for (int i = 0; i < count; ++i) {
    const auto seed = static_cast<uint64_t>(i);
    levin::data::write_png(images / (std::to_string(i) + ".png"), picture(40, 50, seed));
    levin::data::write_png(masks / (std::to_string(i) + suffix + ".png"),
                           picture(40, 50, seed, 1).remainder(values).mul(factor));
  }
}

}  // namespace

TEST_CASE("folders of images and masks are found, and the classes in the masks") {
  const TemporaryFolder folder;
  write_pairs(folder / "imgs", folder / "labels", 6, 4, 1, "_mask");
  const auto folders = mask_folders(folder.path());
  REQUIRE(folders);
  CHECK(folders->suffix == "_mask");
  const Guess guess = guess_masks(*folders, {});
  CHECK(guess.stops.empty());
  const std::string config = guess.config.text("");
  for (const char* part : {"\"UNet\"", "\"Segmentation\"", "\"num_classes\": 4", "\"mask_suffix\": \"_mask\"",
                           "\"images\": \"imgs\"", "\"masks\": \"labels\""}) {
    INFO(part << " in " << config);
    CHECK(contains(config, part));
  }
  CHECK(!contains(config, "mask_colors"));
}

TEST_CASE("black and white masks are two classes, and parts are found") {
  const TemporaryFolder folder;
  for (const char* part : {"train", "val"}) write_pairs(folder / part / "images", folder / part / "masks", 3, 2, 255);
  const auto folders = mask_folders(folder.path());
  REQUIRE(folders);
  const std::string config = guess_masks(*folders, {}).config.text("");
  CHECK(contains(config, "\"#ffffff\""));
  CHECK(contains(config, "\"num_classes\": 2"));
  CHECK(!contains(config, "val_fraction"));
  CHECK(!mask_folders(folder / "train" / "images"));
}

TEST_CASE("what a mask lacks stops the guess with its file") {
  const TemporaryFolder folder;
  write_pairs(folder / "images", folder / "masks", 3, 3);
  fs::remove(folder / "masks/1.png");
  const Guess guess = guess_masks(*mask_folders(folder.path()), {});
  REQUIRE(guess.stops.size() == 1);
  CHECK(contains(guess.stops[0].what, "images/1.png: this image has no mask"));
}

TEST_CASE("a file whose library this levin lacks is told without advice to save the file again") {
  const levin::UsageError damaged("a.webp: the file is damaged");
  const levin::data::MissingLibrary missing("a.webp: build levin with libwebp-dev");
  CHECK(!lacks_library(damaged));
  CHECK(fault_of(damaged, "save it again").advice == "save it again");
  CHECK(lacks_library(missing));
  CHECK(fault_of(missing, "save it again").what == "a.webp: build levin with libwebp-dev");
  CHECK(fault_of(missing, "save it again").advice.empty());
}

TEST_CASE("a CSV list of images is found by its paths: one class, or labels of 0 and 1") {
  const TemporaryFolder folder;
  write_pairs(folder / "a", folder / "b", 4, 3);
  std::ofstream(folder / "one.csv") << "name,label,file\nx,cat,a/0.png\ny,dog,a/1.png\nz,cat,a/2.png\nz,dog,a/3.png\n";
  std::ofstream(folder / "labels.csv") << "file,red,blue\na/0.png,1,0\na/1.png,1,1\na/2.png,0,0\na/3.png,0,1\n";
  std::ofstream(folder / "table.csv") << "x,label\n1,2\n";
  CHECK(is_image_list(folder / "one.csv"));
  CHECK(!is_image_list(folder / "table.csv"));
  const std::string one = guess_image_list(folder / "one.csv", {}).config.text("");
  CHECK(contains(one, "\"CsvImages\""));
  CHECK(contains(one, "\"path\": \"file\""));
  CHECK(contains(one, "\"target\": [\"label\"]"));
  CHECK(contains(one, "\"num_classes\": 2"));
  const std::string labels = guess_image_list(folder / "labels.csv", {}).config.text("");
  CHECK(contains(labels, "\"multi_label_classification\""));
  CHECK(contains(labels, "\"target_type\": \"labels\""));
  std::ofstream(folder / "one.csv", std::ios::app) << "w,cat,a/9.png\n";
  const Guess missing = guess_image_list(folder / "one.csv", {});
  REQUIRE(missing.stops.size() == 1);
  CHECK(contains(missing.stops[0].what, "one.csv:6: column 'file': there is no image"));
}
