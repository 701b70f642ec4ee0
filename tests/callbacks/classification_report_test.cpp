// ClassificationReport: counts, mistakes and pictures of known predictions.
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/small_modules.h"

namespace {

using Json = nlohmann::ordered_json;

/// Predicts the class that stands in the first pixel, with the score in the second.
struct Reading : ToyModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    return net->forward(batch.input().flatten(1).narrow(1, 0, 4)).square().mean();
  }
  void validation_step(const levin::Batch&, int64_t) override {}
  void test_step(const levin::Batch&, int64_t) override {}
  levin::Batch predict_step(const levin::Batch& batch, int64_t) override {
    torch::rand({3});  // must not count for the training
    const at::Tensor pixels = batch.input().flatten(1);
    if (two_classes) return pixels.select(1, 1);
    at::Tensor scores = torch::zeros({pixels.size(0), 3});
    return scores.scatter_(1, pixels.narrow(1, 0, 1).to(torch::kLong), pixels.narrow(1, 1, 1));
  }
  bool two_classes = false;
};

/// Six images of 2 x 4, of which the pixels hold the prediction.
levin::data::DataLoader loader(const std::vector<int64_t>& target, const std::vector<int64_t>& predicted,
                               const std::vector<double>& scores, int64_t batch_size = 4) {
  const auto count = static_cast<int64_t>(target.size());
  at::Tensor images = torch::zeros({count, 1, 2, 4});
  for (int64_t i = 0; i < count; ++i) {
    images[i][0][0][0] = predicted[static_cast<size_t>(i)];
    images[i][0][0][1] = scores[static_cast<size_t>(i)];
  }
  return levin::data::DataLoader(levin::data::TensorDataset(levin::Batch(images, torch::tensor(target, torch::kLong))),
                                 {.batch_size = batch_size});
}

Json read_json(const std::filesystem::path& file) {
  INFO(file.string());
  REQUIRE(std::filesystem::exists(file));
  return Json::parse(read_bytes(file));
}

}  // namespace

TEST_CASE("a classification report counts each class, and shows the mistakes with the highest scores") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 2;
  options.callbacks = {
      levin::ClassificationReport({.num_samples = 2, .every_n_epochs = 2, .class_names = {"cat", "dog"}})};
  Reading module;
  const auto data = loader({0, 1, 2, 2, 1, -100}, {0, 2, 0, 2, 0, 1}, {0.9, 0.6, 0.8, 0.7, 0.5, 1.0});
  const auto result = levin::Trainer(options).fit(module, data, data);
  const Json report = read_json(result.folder / "classification" / "validate.json");
  CHECK(report["stage"] == "validate");
  CHECK(report["epoch"] == 0);
  CHECK(report["step"] == 2);
  CHECK(report["classes"] == Json({"cat", "dog", "2"}));
  CHECK(report["matrix"] == Json({{1, 0, 0}, {1, 0, 1}, {1, 0, 1}}));
  CHECK(report["samples"].size() == 2);
  CHECK(report["samples"][1] ==
        Json({{"index", 1}, {"target", 1}, {"predicted", 2}, {"score", report["samples"][1]["score"]}}));
  REQUIRE(report["mistakes"].size() == 2);
  CHECK(report["mistakes"][0]["index"] == 2);
  CHECK(report["mistakes"][0]["score"].get<double>() == Approx(0.8));
  CHECK(report["mistakes"][1]["index"] == 1);
  for (const char* part : {"samples", "mistakes"})
    CHECK(std::filesystem::file_size(result.folder / "classification" /
                                     report[std::string(part) + "_picture"].get<std::string>()) > 50);
}

TEST_CASE("a classification report of a test needs a folder, and two classes may have one probability") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  Reading module;
  module.two_classes = true;
  const auto data = loader({0, 1, 1, 0, 1}, {0, 0, 0, 0, 0}, {0.25, 0.75, 0.5, 1.0, 0.875});
  options.callbacks = {levin::ClassificationReport({.output_dir = (folder / "out").string()})};
  levin::Trainer(options).test(module, data);
  CHECK(read_json(folder / "out" / "test.json")["matrix"] == Json({{1, 1}, {1, 2}}));
  CHECK(read_json(folder / "out" / "test.json")["mistakes"][0]["index"] == 3);
  options.callbacks = {levin::ClassificationReport({.num_samples = 0, .output_dir = (folder / "out").string()})};
  levin::Trainer(options).test(module, data);
  CHECK(read_json(folder / "out" / "test.json")["samples"].empty());
  CHECK_FALSE(std::filesystem::exists(folder / "out" / "test_samples.png"));
}

TEST_CASE("a classification report has the curves of each class, of few classes and if they are asked for") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  Reading module;
  const auto file = [&](const levin::ClassificationReportOptions& of, const levin::data::DataLoader& data) {
    options.callbacks = {levin::ClassificationReport(of)};
    levin::Trainer(options).test(module, data);
    return read_json(folder / "out" / "test.json");
  };
  const std::string out = (folder / "out").string();
  const auto three = loader({0, 1, 2, -100}, {0, 2, 2, 1}, {0.9, 0.6, 0.8, 1.0});
  const Json of_three = file({.curve_points = 5, .output_dir = out}, three);
  REQUIRE(of_three["roc"].size() == 3);
  // Class 2: found once rightly (0.8), once instead of class 1 (0.6). Thresholds 1, 0.75, 0.5, 0.25 and 0.
  CHECK(of_three["roc"][2] == Json({{"x", {0.0, 0.0, 0.5, 0.5, 1.0}}, {"y", {0.0, 1.0, 1.0, 1.0, 1.0}}}));
  CHECK(of_three["precision_recall"][2]["x"] == Json({1.0, 1.0, 1.0, 1.0, 0.0, 0.0}));
  CHECK(of_three["precision_recall"][2]["y"][3] == 1.0);
  CHECK(of_three["precision_recall"][2]["y"][4] == "NaN");
  CHECK_FALSE(file({.curve_points = 0, .output_dir = out}, three).contains("roc"));
  module.two_classes = true;
  const Json of_two =
      file({.curve_points = 3, .output_dir = out}, loader({0, 1, 1, 0}, {0, 0, 0, 0}, {0.25, 0.75, 0.5, 1.0}));
  CHECK(of_two["roc"] == Json::array({{{"x", {0.5, 0.5, 1.0}}, {"y", {0.0, 1.0, 1.0}}}}));
}

TEST_CASE("a classification report leaves the training's random numbers alone, and says what it cannot read") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  const auto data = loader({0, 1, 2}, {0, 1, 2}, {1, 1, 1});
  const auto next_random = [&](std::vector<levin::CallbackEntry> callbacks) {
    options.callbacks = std::move(callbacks);
    torch::manual_seed(5);
    Reading module;
    levin::Trainer(options).fit(module, data, data);
    return torch::rand({1}).item<float>();
  };
  CHECK(next_random({levin::ClassificationReport()}) == next_random({}));

  Reading module;
  const auto refusal = [&](const levin::ClassificationReportOptions& of, const levin::data::DataLoader& given) {
    options.callbacks = {levin::ClassificationReport(of)};
    return error_text<levin::UsageError>([&] { levin::Trainer(options).fit(module, given, given); });
  };
  CHECK(contains(refusal({}, loader({0, 5}, {0, 1}, {1, 1})), "there are 3 classes, a batch has more or others"));
  const levin::data::DataLoader floats(
      levin::data::TensorDataset(levin::Batch(torch::zeros({2, 1, 2, 4}), torch::zeros({2}))), {.batch_size = 2});
  CHECK(contains(refusal({}, floats), "expected a target int64 [2], got Float [2]"));
}
