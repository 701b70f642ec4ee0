#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <levin/data/files/image_file.h>
#include <levin/data/files/npy_file.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/data/datasets/tar_fixture.h"
#include "tests/data/files/archive_writer.h"
#include "tests/data/files/pictures.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/program/cli/program.h"
#include "tests/temporary_folder.h"

namespace fs = std::filesystem;
using levin::testing::picture;
using levin::testing::ProgramRun;
using levin::testing::run_program;

namespace {

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// Cuts off the end of a file.
void truncate(const fs::path& path, uintmax_t bytes) { fs::resize_file(path, bytes); }

/// `count` PNG files of a class.
void write_pictures(const fs::path& folder, int count, int64_t height, int64_t width) {
  fs::create_directories(folder);
  for (int i = 0; i < count; ++i)
    levin::data::write_png(folder / (std::to_string(i) + ".png"), picture(height, width, static_cast<uint64_t>(i)));
}

/// A folder with the data, and what `levin data guess` says of them.
class Guessed {
 public:
  fs::path operator/(const std::string& name) const { return folder_.path() / "own" / name; }
  fs::path config() const { return folder_.path() / "guess.json"; }

  ProgramRun guess(const std::string& name = "", std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"data", "guess", (folder_.path() / "own" / name).string(), "--output",
                                          config().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(std::move(arguments));
  }
  /// Guesses, trains a few steps on the config that is written, and returns what the guess printed.
  std::string trained(const std::string& name = "", const std::vector<std::string>& more = {}) const {
    const ProgramRun run = guess(name, more);
    INFO(run.out << run.err);
    REQUIRE(run.code == 0);
    REQUIRE(fs::exists(config()));
    INFO(text());
    const ProgramRun fit = run_program({"fit", "--config", config().string(), "--max-steps", "3", "--default-root-dir",
                                        folder_.path().string(), "--enable-progress-bar", "false"});
    INFO(fit.err);
    CHECK(fit.code == 0);
    CHECK(contains(fit.out, "3 steps"));
    return run.out;
  }
  /// Guesses at data that cannot be trained on: no config is written. Returns all that is printed.
  std::string refused(const std::string& name = "", const std::vector<std::string>& more = {}) const {
    const ProgramRun run = guess(name, more);
    CHECK(run.code == 2);
    CHECK_FALSE(fs::exists(config()));
    return run.out + run.err;
  }
  std::string text() const { return read_bytes(config()); }
  nlohmann::json json() const {
    return nlohmann::json::parse(text(), nullptr, /*allow_exceptions=*/true, /*ignore_comments=*/true);
  }

 private:
  TemporaryFolder folder_ = {};
};

constexpr const char* kFlats =
    "id;area;rooms;district;age;price\n"
    "1;30;1;north;10;300\n2;40;2;south;;410\n3;55;2;north;20;540\n4;70;3;?;5;690\n5;80;3;south;7;800\n"
    "6;35;1;north;40;333\n7;45;2;south;12;440\n8;60;2;north;33;610\n9;75;4;south;2;755\n10;90;4;north;8;905\n";

}  // namespace

TEST_CASE("images in folders of their classes are trained on; a truncated one is named and left out") {
  const Guessed own;
  write_pictures(own / "cat", 6, 40, 48);
  write_pictures(own / "dog", 6, 36, 36);
  levin::data::write_jpeg(own / "dog/broken.jpg", picture(64, 64));
  truncate(own / "dog/broken.jpg", 300);
  write_text(own / "dog/moving.gif", "GIF89a");
  const std::string said = own.trained();
  CHECK(contains(said, "13 images of 2 classes: cat 6, dog 7"));
  CHECK(contains(said, "2 sizes, from 36x36 to 48x40 pixels"));
  CHECK(contains(said, "broken.jpg"));
  CHECK(contains(said, "1 image cannot be read; copy or save them again, or remove them"));
  CHECK(contains(said, "1 .gif file"));
  CHECK(own.json()["data"]["on_error"] == "skip");
  CHECK(own.json()["model"]["num_classes"] == 2);
  CHECK(contains(own.text(), "// images that cannot be read are left out\n"));
}

TEST_CASE("images below train and val, in one more folder, are trained on") {
  const Guessed own;
  for (const char* part : {"train", "val"})
    for (const char* name : {"a", "b", "c"}) write_pictures(own / ("set/" + std::string(part) + "/" + name), 4, 28, 28);
  const std::string said = own.trained();
  CHECK(contains(said, "train: 12 images of 3 classes: a 4, b 4, c 4"));
  CHECK(contains(said, "val: 12 images of 3 classes"));
  CHECK(contains(said, "all are 28x28 pixels"));
  CHECK(own.json()["model"]["net"] == "lenet");
  CHECK_FALSE(own.json()["data"].contains("val_fraction"));
}

TEST_CASE("a table with categories, missing values and a number as target is trained on") {
  const Guessed own;
  write_text(own / "flats.csv", kFlats);
  const std::string said = own.trained("flats.csv");
  CHECK(contains(said, "flats.csv: 10 rows, 6 columns"));
  CHECK(contains(said, "id: a number of the row  (left out)"));
  CHECK(contains(said, "age: whole numbers from 2 to 40; missing in 1 row"));
  CHECK(contains(said, "price: whole numbers from 300 to 905  <- the target, as a number"));
  const auto data = own.json()["data"];
  CHECK(data["delimiter"] == ";");
  CHECK(data["categories"] == nlohmann::json::array({"district"}));
  CHECK(data["ignore"] == nlohmann::json::array({"id"}));
  CHECK(data["missing"] == "mean");
  CHECK(own.json()["model"]["class"] == "MLPRegressor");
}

TEST_CASE("--target names the column to predict, also one with classes") {
  const Guessed own;
  write_text(own / "flats.csv", kFlats);
  CHECK(contains(own.trained("flats.csv", {"--target", "district"}), "<- the target, as classes"));
  CHECK(own.json()["model"]["class"] == "MLPClassifier");
  fs::remove(own.config());
  CHECK(contains(own.refused("flats.csv", {"--target", "distric"}), "no column 'distric' (did you mean district?)"));
}

TEST_CASE("a table without a header, of numbers and a class, is trained on; rows without a target are left out") {
  const Guessed own;
  std::string rows;
  for (int i = 0; i < 30; ++i)
    rows += std::to_string(i * 37 % 11) + "\t" + std::to_string(i * 0.5) + "\t?\t" +
            (i == 4  ? ""
             : i % 2 ? "yes"
                     : "no") +
            "\n";
  write_text(own / "table.tsv", rows);
  const std::string said = own.trained();
  CHECK(contains(said, "without a header: columns are called 0, 1, ..."));
  CHECK(contains(said, "2: the same value in all rows: ?  (left out)"));
  const auto data = own.json()["data"];
  CHECK(data["header"] == false);
  CHECK(data["target"] == "3");
  CHECK(data["missing"] == "drop");
}

TEST_CASE("train.csv and val.csv of a folder are the parts") {
  const Guessed own;
  for (const char* part : {"train", "val"}) write_text(own / (std::string(part) + ".csv"), kFlats);
  CHECK_FALSE(contains(own.trained(), "several tables"));
  CHECK(fs::path(own.json()["data"]["val_file"].get<std::string>()).filename() == "val.csv");
}

TEST_CASE("rows with another number of fields are named by line, and nothing is written") {
  const Guessed own;
  write_text(own / "ragged.csv", "a,b,y\n1,2,3\n1,2\n4,5,6\n7,8,9,10\n");
  const std::string said = own.refused("ragged.csv");
  CHECK(contains(said, "ragged.csv:3: 2 fields, but the header has 3"));
  CHECK(contains(said, "ragged.csv:5: 4 fields, but the header has 3"));
  CHECK(contains(said, "2 lines have another number of fields; add what is missing"));
  write_text(own / "twice.csv", "a,a,y\n1,2,3\n4,5,6\n");
  CHECK(contains(own.refused("twice.csv"), "two columns have the name 'a'"));
  write_text(own / "words.csv", "name,word\nx,one\ny,two\nz,three\n");
  CHECK(contains(own.refused("words.csv"), "no column can be predicted"));
}

TEST_CASE("a text is trained on by characters, and one that is not UTF-8 by bytes") {
  const Guessed own;
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the cat sat on the mat, and löoked " + std::to_string(i) + "\n";
  write_text(own / "utf8/text.txt", text);
  CHECK(contains(own.trained("utf8"), "characters, "));
  CHECK_FALSE(own.json()["data"].contains("level"));
  text.replace(text.find("\xc3\xb6"), 2, "\xf6");
  write_text(own / "latin1.txt", text);
  const std::string said = own.trained("latin1.txt", {"--force"});
  CHECK(contains(said, "iconv -f LATIN1 -t UTF-8"));
  CHECK(own.json()["data"]["level"] == "bytes");
  CHECK(own.json()["model"]["vocab_size"] == 256);
}

TEST_CASE("arrays that are not float32 are trained on, by rows and as images") {
  const Guessed own;
  const at::Tensor classes = at::arange(60, at::TensorOptions(at::kLong)) % 3;
  fs::create_directories(own / "rows");
  levin::data::write_npy(own / "rows/X_train.npy", at::rand({60, 5}, at::TensorOptions(at::kDouble)));
  levin::data::write_npy(own / "rows/y_train.npy", classes);
  CHECK(contains(own.trained("rows"), "3 classes"));
  CHECK(own.json()["data"]["dtype"] == "float32");
  CHECK(own.json()["model"]["features"] == 5);

  fs::create_directories(own / "pictures");
  const at::Tensor bytes = at::full({60, 3, 20, 24}, 7, at::TensorOptions(at::kByte));
  levin::data::write_npy(own / "pictures/images.npy", bytes);
  levin::data::write_npy(own / "pictures/labels.npy", classes);
  own.trained("pictures/images.npy", {"--force"});
  CHECK(own.json()["model"]["image_shape"] == nlohmann::json::array({3, 20, 24}));

  fs::create_directories(own / "numbers");
  levin::data::write_npy(own / "numbers/inputs.npy", at::rand({20, 4}));
  levin::data::write_npy(own / "numbers/targets.npy", at::rand({20, 2}, at::TensorOptions(at::kDouble)));
  CHECK(contains(own.trained("numbers", {"--force"}), "the targets are 2 numbers of each sample"));
}

TEST_CASE("the arrays of a .npz file are trained on") {
  const Guessed own;
  const at::Tensor classes = at::arange(40, at::TensorOptions(at::kInt)) % 4;
  fs::create_directories(own / "");
  write_zip(own / "both.npz",
            {{"x.npy", tar_fixture::npy_bytes(at::rand({40, 6}))}, {"labels.npy", tar_fixture::npy_bytes(classes)}},
            /*deflate=*/false);
  const std::string said = own.trained("both.npz");
  CHECK(contains(said, "both.npz: x  float32 [40, 6]"));
  CHECK(contains(said, "both.npz: labels  "));
  CHECK(contains(said, "4 classes"));
  CHECK(own.json()["data"]["target_key"] == "labels");
}

TEST_CASE("arrays that cannot be trained on are explained") {
  const Guessed own;
  const auto write = [&](const std::string& name, const at::Tensor& x, const at::Tensor& y) {
    fs::create_directories(own / name);
    levin::data::write_npy(own / (name + "/x.npy"), x);
    levin::data::write_npy(own / (name + "/y.npy"), y);
  };
  const at::Tensor classes = at::arange(30, at::TensorOptions(at::kLong)) % 3;
  write("cut", at::rand({30, 5}), classes);
  truncate(own / "cut/x.npy", 400);
  const std::string said = own.refused("cut");
  CHECK(contains(said, "x.npy: byte "));
  CHECK(contains(said, "copy the file again, or save it again: np.save"));
  write("less", at::rand({29, 5}), classes);
  CHECK(contains(own.refused("less"), "have different numbers of samples"));
  write("nan", at::full({30, 5}, std::nan("")), classes);
  CHECK(contains(own.refused("nan"), "NaN or infinite values in 30 samples of 30 looked at"));
  write("negative", at::rand({30, 5}), classes - 1);
  CHECK(contains(own.refused("negative"), "class numbers from -1 to 1"));
  fs::remove(own / "less/y.npy");
  CHECK(contains(own.refused("less"), "an array alone, without targets"));
}

TEST_CASE("tar files of samples are trained on; one that is cut off is left out") {
  const Guessed own;
  fs::create_directories(own / "");
  for (int shard = 0; shard < 3; ++shard) {
    ArchiveMembers members;
    for (int i = 0; i < 8; ++i) {
      const std::string key = std::to_string(shard) + std::to_string(i);
      const fs::path file = own / "one.png";
      levin::data::write_png(file, picture(30 + i, 32, static_cast<uint64_t>(i)));
      members.emplace_back(key + ".png", read_bytes(file));
      members.emplace_back(key + ".cls", std::to_string(i % 2));
      fs::remove(file);
    }
    write_text(own / ("s-" + std::to_string(shard) + ".tar"), tar_bytes(members));
  }
  truncate(own / "s-1.tar", fs::file_size(own / "s-1.tar") / 2);
  const std::string said = own.trained();
  CHECK(contains(said, "members: cls "));
  CHECK(contains(said, "s-1.tar: byte "));
  CHECK(contains(said, "the config leaves this file out"));
  const auto data = own.json()["data"];
  CHECK(data["shards"].size() == 1);
  CHECK(data["val_shards"].size() == 1);
  CHECK(data["transforms"][0]["class"] == "Resize");
  CHECK(own.json()["model"]["num_classes"] == 2);
}

TEST_CASE("folders and files without anything to train on are explained") {
  const Guessed own;
  fs::create_directories(own / "empty");
  CHECK(contains(own.refused("empty"), "the folder is empty; put the data there; levin trains on images"));
  CHECK(contains(own.refused("none"), "there is no such folder or file"));
  write_pictures(own / "flat", 2, 16, 16);
  CHECK(contains(own.refused("flat"), "2 images without classes; put the images of each class into a folder"));
  write_pictures(own / "single/cat", 2, 16, 16);
  CHECK(contains(own.refused("single"), "one class alone, cat"));
  fs::create_directories(own / "single/dog");
  CHECK(contains(own.refused("single"), "fill or remove the folder"));
  write_pictures(own / "unread/a", 1, 16, 16);
  write_pictures(own / "unread/b", 1, 16, 16);
  for (const char* name : {"a", "b"}) truncate(own / ("unread/" + std::string(name) + "/0.png"), 40);
  CHECK(contains(own.refused("unread"), "2 images cannot be read"));
  write_text(own / "rows.feather", "ARROW1");
  CHECK(contains(own.refused("rows.feather"), "levin does not read .feather; make a CSV file of it"));
  write_text(own / "some.bin", std::string("\0\1", 2));
  CHECK(contains(own.refused("some.bin"), "neither a text nor a file of a known kind"));
  write_text(own / "short.txt", "too short");
  CHECK(contains(own.refused("short.txt"), "9 bytes, too short to learn from"));
  write_text(own / "blank.csv", "\n\n");
  CHECK(contains(own.refused("blank.csv"), "the file is blank"));
}

TEST_CASE("decimal commas and commas between thousands are read, and the config says how") {
  const Guessed own;
  std::string german = "a;b;y\n", english = "a,b,y\n", both = "a;b;y\n", headless;
  for (int i = 0; i < 24; ++i) {
    const std::string digit = std::to_string(i % 10), kind = i % 2 ? "yes" : "no";
    german += digit + ",25;3," + digit + ";" + kind + "\n";
    english += "\"1," + digit + "00.50\"," + digit + "," + kind + "\n";
    both += "1.00" + digit + ",5;1," + digit + ";" + kind + "\n";
    headless += digit + ",5;1," + digit + ";" + kind + "\n";
  }
  write_text(own / "german.csv", german);
  CHECK(contains(own.trained("german.csv"), "numbers are written with decimal commas\n"));
  CHECK(own.json()["data"]["decimal"] == ",");
  CHECK_FALSE(own.json()["data"].contains("categories"));
  write_text(own / "english.csv", english);
  CHECK(contains(own.trained("english.csv", {"--force"}), "a: numbers from 1000.5 to 1900.5"));
  CHECK(own.json()["data"]["thousands"] == ",");
  write_text(own / "both.csv", both);
  CHECK(contains(own.trained("both.csv", {"--force"}), "a: numbers from 1000.5 to 1009.5"));
  CHECK(own.json()["data"]["thousands"] == ".");
  write_text(own / "headless.csv", headless);
  CHECK(contains(own.trained("headless.csv", {"--force"}), "without a header"));
}

TEST_CASE("numbers with units and dates are named, and dates and ids are left out") {
  const Guessed own;
  std::string rows = "customer_id,share,day,seen,number,y\n";
  for (int i = 0; i < 30; ++i)
    rows += std::to_string(1000 + i * i) + "," + std::to_string(i % 7) + "%,2024-0" + std::to_string(1 + i % 9) +
            "-11," + std::to_string(1 + i % 9) + "/11/24 10:30," + std::to_string(7 * i * i) + "," +
            std::to_string(i * 0.5) + "\n";
  write_text(own / "days.csv", rows);
  const std::string said = own.trained("days.csv");
  CHECK(contains(said, "customer_id: ids, all different  (left out)"));
  CHECK(contains(said, "day: dates: 2024-01-11, "));
  CHECK(contains(said, "column 'seen' has dates, which are left out"));
  CHECK(contains(said, "column 'share' has numbers with other characters, such as 0%, so they are texts"));
  CHECK(contains(said, "number: whole numbers from 0 to 5887  (all different: if they name the rows, add the column"));
  CHECK(own.json()["data"]["ignore"] == nlohmann::json::array({"customer_id", "day", "seen"}));
}

TEST_CASE("a column of two texts is the target if it comes first, and a guess says so") {
  const Guessed own;
  std::string rows = "id,diagnosis,r,t\n";
  for (int i = 0; i < 40; ++i)
    rows += std::to_string(9000 + 3 * i) + "," + (i % 3 ? "B" : "M") + "," + std::to_string(i * 0.1) + "," +
            std::to_string(i * 0.2) + "\n";
  write_text(own / "cells.csv", rows);
  CHECK(contains(own.trained("cells.csv"),
                 "diagnosis: 2 texts: B, M  <- the target, as classes; --target names another"));
  CHECK(own.json()["data"]["target"] == "diagnosis");
  CHECK_FALSE(contains(own.trained("cells.csv", {"--force", "--target", "t"}), "--target names another"));
  std::string homes = "listed,town,price\n";
  for (int i = 0; i < 30; ++i)
    homes +=
        "2024-01-" + std::to_string(10 + i % 20) + "," + (i % 2 ? "A" : "B") + "," + std::to_string(i * 10.5) + "\n";
  write_text(own / "homes.csv", homes);
  CHECK(contains(own.trained("homes.csv", {"--force"}), "<- the target, as a number"));
}

TEST_CASE("the weights with the least validation loss are kept") {
  const Guessed own;
  write_text(own / "flats.csv", kFlats);
  own.trained("flats.csv");
  CHECK(own.json()["trainer"]["callbacks"][0]["monitor"] == "val_loss");
  write_text(own / "few.csv", "a,y\n1,2.5\n2,3.5\n5,4.5\n");
  own.trained("few.csv", {"--force"});
  CHECK_FALSE(own.json()["trainer"].contains("callbacks"));
}

TEST_CASE("arrays of whole numbers are divided by their largest, and bytes of the whole range by 255") {
  const Guessed own;
  const at::Tensor classes = at::arange(34, at::TensorOptions(at::kLong)) % 2;
  const auto guessed = [&](const at::Tensor& x) {
    fs::create_directories(own / "");
    levin::data::write_npy(own / "x.npy", x);
    levin::data::write_npy(own / "y.npy", classes);
    own.trained("", {"--force"});
    return own.json()["data"];
  };
  const at::Tensor digits = (at::arange(34 * 4) % 17).reshape({34, 4});
  CHECK(guessed(digits.to(at::kByte))["divide_by"] == 16);
  CHECK(guessed(digits.to(at::kInt) - 8)["divide_by"] == 8);
  CHECK_FALSE(guessed((digits * 15).to(at::kByte)).contains("divide_by"));
  CHECK_FALSE(guessed(digits.to(at::kFloat)).contains("divide_by"));
}

TEST_CASE("a file of arrays that is named is the one that is taken, and arrays that are not used are named") {
  const Guessed own;
  fs::create_directories(own / "");
  const at::Tensor classes = at::arange(40, at::TensorOptions(at::kLong)) % 4;
  const auto entry = [](const std::string& name, const at::Tensor& array) {
    return std::pair(name + ".npy", tar_fixture::npy_bytes(array));
  };
  write_zip(own / "other.npz", {entry("x", at::rand({40, 6})), entry("y", classes)}, /*deflate=*/false);
  levin::data::write_npy(own / "alone.npy", at::rand({40, 5}));
  CHECK(contains(own.refused("alone.npy"), "alone.npy: an array alone, without targets"));
  levin::data::write_npy(own / "labels.npy", classes);
  own.trained("alone.npy");
  CHECK(fs::path(own.json()["data"]["input"].get<std::string>()).filename() == "alone.npy");
  CHECK(own.json()["model"]["features"] == 5);
  CHECK(contains(own.trained("", {"--force"}), "of the arrays these are not used: alone.npy, labels.npy"));

  write_zip(own / "three.npz",
            {entry("X_train", at::rand({40, 6})), entry("X_val", at::rand({9, 6})), entry("y_train", classes)},
            /*deflate=*/false);
  const std::string said = own.trained("three.npz", {"--force"});
  CHECK(contains(said, "three.npz: of its arrays these are not used: X_val"));
  CHECK(own.json()["data"]["input_key"] == "X_train");

  fs::create_directories(own / "parts");
  levin::data::write_npy(own / "parts/X_train.npy", at::rand({40, 6}));
  levin::data::write_npy(own / "parts/y_train.npy", classes);
  levin::data::write_npy(own / "parts/X_test.npy", at::rand({11, 6}));
  CHECK(contains(own.trained("parts", {"--force"}), "test: no targets, for predict alone"));
  CHECK(fs::path(own.json()["data"]["test_input"].get<std::string>()).filename() == "X_test.npy");
}

TEST_CASE("targets with one 1 in each row and with several get advice of their own") {
  const Guessed own;
  fs::create_directories(own / "");
  levin::data::write_npy(own / "x.npy", at::rand({6, 5}));
  at::Tensor marks = at::eye(3, at::TensorOptions(at::kLong)).repeat({2, 1});
  levin::data::write_npy(own / "y.npy", marks);
  CHECK(contains(own.refused(), "y.argmax(1)"));
  marks[0].fill_(1);
  levin::data::write_npy(own / "y.npy", marks);
  CHECK(contains(own.refused(), "several classes of one sample"));
}

TEST_CASE("the config is not overwritten without --force, and wrong words are refused") {
  const Guessed own;
  write_text(own / "flats.csv", kFlats);
  write_text(own.config(), "mine");
  const ProgramRun run = own.guess("flats.csv");
  CHECK(run.code == 2);
  CHECK(contains(run.err, "guess.json is there already; name another file with --output, or add --force"));
  CHECK(own.text() == "mine");
  CHECK(own.guess("flats.csv", {"--force"}).code == 0);
  CHECK(contains(own.guess("flats.csv", {"--force", "--al"}).err, "no flag --al"));
  CHECK(contains(run_program({"data", "guess"}).err, "expected FOLDER|FILE"));
  CHECK(contains(run_program({"data", "guess", "--help"}).out, "--target NAME"));
}

TEST_CASE("of long texts the beginning and the end are kept and shown, as whole characters") {
  const Guessed own;
  std::string table = "note,x,y\n";
  for (int i = 0; i < 12; ++i) {
    // A letter of two bytes lies over each cut.
    std::string note = "begin" + std::to_string(i) + std::string(i % 2, '.');
    for (int letter = 0; letter < 2000; ++letter) note += "\xc3\xa9";
    table += note + "end," + std::to_string(i) + ".5," + std::to_string(i * i) + ".25\n";
  }
  write_text(own / "notes.csv", table);
  const std::string said = own.trained("notes.csv");
  CHECK(contains(said, "note: 12 texts: begin0\xc3\xa9"));
  CHECK(contains(said, "\xc3\xa9...\xc3\xa9"));
  CHECK(said.size() < 20'000);
}

TEST_CASE("a file without line ends is no table") {
  const Guessed own;
  write_text(own / "long.csv", "a,b\n" + std::string(65 << 20, 'x') + "\n");
  CHECK(contains(own.refused("long.csv"), "long.csv:2: the line has more than 64 MB"));
}

TEST_CASE("JSON lines are a table of columns: numbers, texts, a target, and lists of one length") {
  const Guessed own;
  std::string rows, lists;
  for (int i = 0; i < 40; ++i) {
    const std::string number = std::to_string(i * 7 % 13), kind = i % 3 == 0 ? "north" : "south";
    rows += "{\"id\": " + std::to_string(i) + ", \"area\": " + number + ".5, \"rooms\": " + (i % 9 ? number : "null") +
            ", \"district\": \"" + kind + "\", \"words\": [1, " + number +
            "], \"price\": " + std::to_string(i * 7 % 13 * 10) + ".25}\n";
    lists += "{\"vector\": [" + number + ".5, 1.5, 2], \"label\": " + std::to_string(i % 2) + "}\n";
  }
  write_text(own / "flats.jsonl", rows);
  const std::string said = own.trained("flats.jsonl");
  CHECK(contains(said, "40 rows, 6 columns"));
  CHECK(contains(said, "id: a number of the row  (left out)"));
  CHECK(contains(said, "price: numbers from 0.25 to 120.25  <- the target, as a number"));
  CHECK(contains(said, "the lists of 'words' are not used"));
  const nlohmann::json data = own.json()["data"];
  CHECK(data["class"] == "JsonLines");
  CHECK(data["fields"] == nlohmann::json{{"input", "area, rooms"}, {"category", "district"}, {"target", "price"}});
  CHECK(data["missing"] == "mean");
  CHECK(own.json()["model"]["class"] == "MLPRegressor");

  write_text(own / "vectors.jsonl", lists);
  CHECK(contains(own.trained("vectors.jsonl", {"--force"}), "vector: lists of numbers [3]"));
  CHECK(own.json()["data"]["fields"] == nlohmann::json{{"input", "vector"}, {"target", "label"}});
}

TEST_CASE("JSON lines that are broken, or whose class numbers do not count from 0, are explained") {
  const Guessed own;
  write_text(own / "cut.jsonl", "{\"a\": 1, \"y\": 2}\n{\"a\": ");
  CHECK(contains(own.refused("cut.jsonl"), "cut.jsonl: line 2: is no JSON"));
  std::string rows;
  for (int i = 0; i < 40; ++i)
    rows += "{\"a\": " + std::to_string(i * 7 % 13) + ".5, \"label\": " + std::to_string(1 + i % 2) + "}\n";
  write_text(own / "classes.jsonl", rows);
  CHECK(contains(own.refused("classes.jsonl"), "has class numbers that are not 0, 1, 2, ..."));
}
