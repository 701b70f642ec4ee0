#include <levin/program/commands/prediction_file.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <levin/core/options/option.h>
#include <levin/core/state/atomic_file.h>
#include <levin/data/files/image_file.h>
#include <levin/data/files/npy_file.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/data/files/pictures.h"
#include "tests/error_text.h"
#include "tests/program/cli/program.h"
#include "tests/temporary_folder.h"

using levin::testing::ProgramRun;
using levin::testing::run_program;

namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

void add_picture(const fs::path& path, uint64_t seed) {
  fs::create_directories(path.parent_path());
  levin::data::write_png(path, levin::testing::picture(8, 8, seed));
}

/// Writes training pictures of two classes into `root`.
void add_classes(const fs::path& root) {
  for (uint64_t i = 0; i < 4; ++i) {
    add_picture(root / "ant" / (std::to_string(i) + ".png"), i);
    add_picture(root / "bee" / (std::to_string(i) + ".png"), 10 + i);
  }
}

ProgramRun predict(const fs::path& root, const Arguments& more) {
  Arguments arguments = {"predict",
                         "--model.class",
                         "ImageClassifier",
                         "--model.net",
                         "mlp",
                         "--model.num_classes",
                         "2",
                         "--model.image_shape",
                         "[3,8,8]",
                         "--data.class",
                         "ImageFolder",
                         "--data.root",
                         root.string(),
                         "--data.image_size",
                         "8",
                         "--data.batch_size",
                         "2",
                         "--enable-progress-bar",
                         "false",
                         "--accelerator",
                         "cpu",
                         "--seed",
                         "3"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("predict writes a table with the names of images and classes, of a plain folder without labels") {
  const TemporaryFolder folder;
  add_classes(folder / "train");
  for (uint64_t i = 0; i < 3; ++i) add_picture(folder / "photos" / "a,b" / (std::to_string(i) + ".png"), 20 + i);
  const std::string output = (folder / "out.csv").string(), photos = (folder / "photos").string();
  const ProgramRun run = predict(folder / "train", {"--data.predict_root", photos, "--output", output});
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK(run.out == "predict: loader 0: 2 batches, 3 samples\npredictions written to " + output + "\n");
  const std::vector<std::string> lines = lines_of(output);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == "input,class,probability,p(ant),p(bee)");
  CHECK(lines[1].find("\"" + photos + "/a,b/0.png\",") == 0);
  CHECK((lines[1].find(",ant,0.") != std::string::npos || lines[1].find(",bee,0.") != std::string::npos));
}

TEST_CASE("predictions as JSON lines and as an array are the same numbers") {
  const TemporaryFolder folder;
  for (uint64_t i = 0; i < 3; ++i) add_picture(folder / "photos" / (std::to_string(i) + ".png"), 20 + i);
  const fs::path lines = folder / "out.jsonl", array = folder / "out.npy";
  // Without a folder of classes, classes are numbers.
  const ProgramRun run = predict(folder / "photos", {"--output", lines.string()});
  INFO(run.err);
  REQUIRE(run.code == 0);
  REQUIRE(predict(folder / "photos", {"--output", array.string()}).code == 0);
  const at::Tensor values = levin::data::map_npy(array);
  REQUIRE(values.sizes() == at::IntArrayRef({3, 2}));
  const std::vector<std::string> texts = lines_of(lines);
  REQUIRE(texts.size() == 3);
  for (int64_t i = 0; i < 3; ++i) {
    const levin::Json row = levin::Json::parse(texts[static_cast<size_t>(i)]);
    CHECK(row["input"] == (folder / "photos" / (std::to_string(i) + ".png")).string());
    for (int64_t c = 0; c < 2; ++c)
      CHECK(row["probabilities"][std::to_string(c)].get<double>() == values[i][c].item<double>());
    CHECK(row["class"] == (values[i][1].item<double>() > values[i][0].item<double>() ? "1" : "0"));
    CHECK(row["probability"] == values[i].max().item<double>());
  }
}

TEST_CASE("images to predict are those of predict, else of test, and a missing folder is named") {
  const TemporaryFolder folder;
  add_classes(folder / "train");
  add_classes(folder / "test");
  const std::string output = (folder / "out.csv").string();
  REQUIRE(predict(folder.path(), {"--output", output}).code == 0);
  CHECK(lines_of(output).size() == 9);
  add_picture(folder / "predict" / "one.png", 1);
  REQUIRE(predict(folder.path(), {"--output", output}).code == 0);
  CHECK(lines_of(output).size() == 2);
  const ProgramRun nowhere = predict(folder.path(), {"--data.predict_root", "nowhere"});
  CHECK(nowhere.code == 2);
  CHECK(nowhere.err ==
        "levin: error: data.predict_root: no folder or file nowhere; give the images, or the folder with "
        "them\n");
}

TEST_CASE("files and folders are predicted together, and those that cannot be read are named, or skipped") {
  const TemporaryFolder folder;
  add_classes(folder / "train");
  add_picture(folder / "one.png", 20);
  add_picture(folder / "more" / "two.png", 21);
  const fs::path bad = folder / "more" / "bad.png", output = folder / "out.csv";
  std::ofstream(bad) << "no picture";
  const Arguments inputs = {"--input", (folder / "one.png").string(), (folder / "more").string(), "--output",
                            output.string()};
  const ProgramRun refused = predict(folder / "train", inputs);
  CHECK(refused.code == 2);
  CHECK(refused.err.find(bad.string()) != std::string::npos);
  CHECK_FALSE(fs::exists(output));
  Arguments skips = inputs;
  skips.insert(skips.end(), {"--data.on_error", "skip", "--data.batch_size", "1"});
  const ProgramRun run = predict(folder / "train", skips);
  INFO(run.err);
  REQUIRE(run.code == 0);
  const std::vector<std::string> lines = lines_of(output);
  REQUIRE(lines.size() == 3);
  CHECK(lines[1].find((folder / "one.png").string() + ",") == 0);
  CHECK(lines[2].find((folder / "more" / "two.png").string() + ",") == 0);
  fs::remove(folder / "one.png");
  CHECK(predict(folder / "train", inputs).err.find("--input: there is no file or folder") != std::string::npos);
  Arguments none = {"--input", bad.string(), "--data.on_error", "skip"};
  CHECK(predict(folder / "train", none).err.find("none of the 1 images can be read") != std::string::npos);
}

TEST_CASE("a table and an array are predicted by --input") {
  const TemporaryFolder folder;
  std::ofstream(folder / "train.csv") << "a,b,kind\n1,2,ant\n3,4,bee\n5,6,bee\n";
  std::ofstream(folder / "new.csv") << "a,b\n1,2\n7,8\n";
  const fs::path output = folder / "out.jsonl";
  const ProgramRun run = run_program({"predict", "--model.class", "MLPClassifier", "--data.class", "Csv", "--data.file",
                                      (folder / "train.csv").string(), "--data.target", "kind", "--accelerator", "cpu",
                                      "--enable-progress-bar", "false", "--input", (folder / "new.csv").string(),
                                      "--output", output.string()});
  INFO(run.err);
  REQUIRE(run.code == 0);
  const std::vector<std::string> lines = lines_of(output);
  REQUIRE(lines.size() == 2);
  const levin::Json row = levin::Json::parse(lines[0]);
  CHECK(row["input"] == 0);
  CHECK((row["class"] == "ant" || row["class"] == "bee"));
  CHECK(run_program({"predict", "--model.class", "ImageClassifier", "--data.class", "SyntheticDigits", "--input",
                     (folder / "new.csv").string()})
            .err.find("--input: SyntheticDigits takes no files to predict") != std::string::npos);
  CHECK(run_program({"predict", "--model.class", "ImageClassifier", "--data.class", "Npy", "--input",
                     (folder / "new.csv").string(), (folder / "train.csv").string()})
            .err.find("--input: Npy takes one file, and here are 2") != std::string::npos);
}

TEST_CASE("classes get their names in each loader whose predictions have that number of classes") {
  const TemporaryFolder folder;
  const auto certain = [](int64_t classes) {
    return std::vector<levin::Batch>{levin::Batch(at::eye(classes).narrow(0, 0, 1))};
  };
  const fs::path output = folder / "out.jsonl";
  levin::cli::PredictionFile(output).write({certain(3), certain(2)}, {.names = {}, .classes = {"ant", "bee"}});
  const std::vector<std::string> lines = lines_of(output);
  REQUIRE(lines.size() == 2);
  CHECK(levin::Json::parse(lines[0])["class"] == "0");
  CHECK(levin::Json::parse(lines[1])["class"] == "ant");
}

TEST_CASE("predictions of several lengths become JSON lines, and no table or array") {
  const TemporaryFolder folder;
  const auto batch = [](int64_t samples, int64_t length) {
    levin::Batch made(at::arange(samples * length).view({samples, length}));
    made.set("score", at::full({samples}, 0.5));
    return made;
  };
  const std::vector<std::vector<levin::Batch>> predictions = {{batch(2, 3), batch(1, 2), batch(1, 0)}};
  const fs::path output = folder / "out.jsonl";
  levin::cli::PredictionFile(output).write(predictions, {});
  CHECK(lines_of(output) == std::vector<std::string>{R"({"input":0,"prediction":[0,1,2],"score":0.5})",
                                                     R"({"input":1,"prediction":[3,4,5],"score":0.5})",
                                                     R"({"input":2,"prediction":[0,1],"score":0.5})",
                                                     R"({"input":3,"prediction":[],"score":0.5})"});
  CHECK(contains(error_text<levin::UsageError>(
                     [&] { levin::cli::PredictionFile((folder / "out.csv").string()).write(predictions, {}); }),
                 "\"input\" is [2, 3] in one batch and [1, 2] in another; a table or an array holds samples of one "
                 "size: write JSON lines (.jsonl)"));
  levin::Batch uneven(at::zeros({2, 3}));
  uneven.set("score", at::zeros({1}));
  CHECK(contains(error_text<levin::UsageError>([&] { levin::cli::PredictionFile(output).write({{uneven}}, {}); }),
                 "has 1 samples, and \"input\" has 2"));
}

TEST_CASE("a folder that is full or takes no file is refused before anything is predicted") {
  const TemporaryFolder folder;
  add_classes(folder / "test");
  const fs::path output = folder / "out.csv";
  std::ofstream(output) << "before";
  const auto said = [&](levin::FileStageHook hook) {
    const auto before = levin::set_file_stage_hook(hook);
    const ProgramRun run = predict(folder.path(), {"--output", output.string()});
    levin::set_file_stage_hook(before);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(lines_of(output) == std::vector<std::string>{"before"});
    return run.err;
  };
  const auto full = [](const char* stage) { return std::string_view(stage) == "write" ? ENOSPC : 0; };
  CHECK(contains(said(full), "--output: " + output.string() + ": nothing can be written in " + folder.path().string() +
                                 ", which may be full; make room there"));
  const auto closed = [](const char* stage) { return std::string_view(stage) == "open" ? EROFS : 0; };
  CHECK(contains(said(closed), "--output: " + output.string() + ": cannot be written in " + folder.path().string() +
                                   ": Read-only file system"));
}

TEST_CASE("a file that cannot hold the predictions is refused before anything is predicted") {
  const TemporaryFolder folder;
  add_classes(folder / "test");
  const auto error = [&](const Arguments& more) {
    const ProgramRun run = predict(folder.path(), more);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    return run.err;
  };
  CHECK(error({"--output", "out.txt"}) ==
        "levin: error: --output: expected a file that ends in .csv, .jsonl, .npy or, for detections, .json, got "
        "out.txt\n");
  CHECK(error({"--output", "nowhere/out.csv"}) == "levin: error: --output: there is no folder nowhere\n");
  CHECK(error({"--output", "out.csv", "--devices", "2", "--strategy", "ddp"}).find("--output: each rank of ddp") !=
        std::string::npos);
}

TEST_CASE("rows that missing drop leaves out are named, and the others keep their numbers in the file") {
  const TemporaryFolder folder;
  std::ofstream(folder / "train.csv") << "a,b,y\n1,2,u\n2,1,v\n3,5,u\n4,4,v\n";
  std::ofstream(folder / "ask.csv") << "a,b\n1,2\n,3\n5,6\n7,\n9,1\n";
  const fs::path output = folder / "out.csv", lines = folder / "out.jsonl";
  const auto predict_rows = [&](const fs::path& to, const char* missing) {
    return run_program({"predict",
                        "--model.class",
                        "MLPClassifier",
                        "--data.class",
                        "Csv",
                        "--data.file",
                        (folder / "train.csv").string(),
                        "--data.target",
                        "y",
                        "--data.missing",
                        missing,
                        "--input",
                        (folder / "ask.csv").string(),
                        "--output",
                        to.string(),
                        "--enable-progress-bar",
                        "false",
                        "--accelerator",
                        "cpu",
                        "--seed",
                        "3"});
  };
  std::string said;
  {
    const CapturedStderr captured;
    REQUIRE(predict_rows(output, "drop").code == 0);
    said = captured.text();
  }
  CHECK(said.find("2 rows lack a value and have no prediction (the first row is 0): 1, 3") != std::string::npos);
  REQUIRE(predict_rows(lines, "drop").code == 0);
  REQUIRE(predict_rows(folder / "all.csv", "zero").code == 0);
  const std::vector<std::string> dropped = lines_of(output), all = lines_of(folder / "all.csv");
  REQUIRE(dropped.size() == 4);
  REQUIRE(all.size() == 6);
  for (size_t i = 0; i < 3; ++i) {
    constexpr size_t kRowAndClass = 4;  // probabilities of other batches are rounded in another way
    CHECK(dropped[i + 1].substr(0, kRowAndClass) == all[2 * i + 1].substr(0, kRowAndClass));
    CHECK(levin::Json::parse(lines_of(lines)[i])["input"] == 2 * i);
  }
}
