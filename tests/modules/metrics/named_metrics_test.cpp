// Metrics by name from a config, in modules that train and validate.
#include <levin/modules/metrics/named_metrics.h>
#include <levin/levin.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/metrics/metric_cases.h"
#include "tests/small_modules.h"

namespace {

namespace m = levin::metrics;
using levin::UsageError;
using metric_cases::Json;

constexpr int64_t kClasses = 3;

levin::nn::ImageClassifierOptions classifier_options(const Json& metrics) {
  levin::nn::ImageClassifierOptions options;
  levin::schema_of<levin::nn::ImageClassifierOptions>().set(
      &options, "model",
      {{"net", "mlp"}, {"hidden", 8}, {"num_classes", kClasses}, {"image_shape", {1, 2, 2}}, {"metrics", metrics}});
  return options;
}

levin::nn::MLPRegressorOptions regressor_options(const Json& metrics) {
  levin::nn::MLPRegressorOptions options;
  levin::schema_of<levin::nn::MLPRegressorOptions>().set(
      &options, "model", {{"features", 4}, {"outputs", 2}, {"hidden", {8}}, {"metrics", metrics}});
  return options;
}

levin::Batch images(int64_t samples) {
  torch::manual_seed(3);
  const at::Tensor input = torch::randn({samples, 1, 2, 2});
  return {input, input.flatten(1).narrow(1, 0, kClasses).argmax(1)};
}

levin::Batch rows(int64_t samples) {
  torch::manual_seed(4);
  const at::Tensor input = torch::randn({samples, 4});
  return {input, input.narrow(1, 0, 2).abs() + 0.1 * torch::rand({samples, 2})};
}

levin::data::DataLoader loader(const levin::Batch& batch, int64_t batch_size = 8) {
  return levin::data::DataLoader(levin::data::TensorDataset(batch), {.batch_size = batch_size});
}

/// Trains a classifier of 30 images with these metrics, from a checkpoint unless `from` is empty; returns what it
/// logged last.
levin::Metrics fit_images(const Json& metrics, const levin::TrainerOptions& options, const std::string& from) {
  const levin::Batch data = images(30);
  torch::manual_seed(6);
  levin::nn::ImageClassifier module(classifier_options(metrics));
  return levin::Trainer(options).fit(module, loader(data), loader(data), from).metrics;
}

/// What `forward` gives for the batches of `loader`; those of another size are rounded otherwise.
template <class Forward>
at::Tensor predictions(levin::LightningModule& module, const levin::Batch& batch, const Forward& forward) {
  const at::NoGradGuard no_grad;
  module.eval();
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : batch.input().split(8)) parts.push_back(forward(part));
  return torch::cat(parts);
}

/// The value of a metric of C++ over batches of predictions.
double by_hand(const std::string& metric, Json options, const at::Tensor& preds, const at::Tensor& target) {
  const auto made = metric_cases::make({metric, "", options});
  for (int64_t begin = 0; begin < preds.size(0); begin += 8) {
    const int64_t size = std::min<int64_t>(8, preds.size(0) - begin);
    made->update(preds.narrow(0, begin, size), target.narrow(0, begin, size));
  }
  return made->compute().item<double>();
}

struct Named {
  Json chosen = {};         ///< in the config
  std::string name = {};    ///< in the logs
  std::string metric = {};  ///< the class
  Json options = {};        ///< in C++
};

std::string refusal(const Json& metrics) {
  return error_text<UsageError>([&] { levin::nn::ImageClassifier(classifier_options(metrics)); });
}

}  // namespace

TEST_CASE("a classifier logs each metric that its config names, with the value of the same metric in C++") {
  const Json task = {{"task", "multiclass"}, {"num_classes", kClasses}};
  const auto with = [&](const Json& more) {
    Json all = task;
    all.update(more);
    return all;
  };
  const std::vector<Named> all = {
      {"accuracy", "accuracy", "Accuracy", task},
      {{{"class", "accuracy"}, {"top_k", 2}, {"name", "top2"}}, "top2", "Accuracy", with({{"top_k", 2}})},
      {{{"class", "FBeta"}, {"beta", 0.5}, {"average", "macro"}},
       "fbeta_score",
       "FBetaScore",
       with({{"beta", 0.5}, {"average", "macro"}})},
      {{{"class", "Precision"}, {"average", "weighted"}}, "precision", "Precision", with({{"average", "weighted"}})},
      {"recall", "recall", "Recall", task},
      {{{"class", "F1Score"}, {"average", "macro"}}, "f1_score", "F1Score", with({{"average", "macro"}})},
      {"specificity", "specificity", "Specificity", task},
      {"hamming_distance", "hamming_distance", "HammingDistance", task},
      {"JaccardIndex", "jaccard_index", "JaccardIndex", task},
      {"matthews_corrcoef", "matthews_corrcoef", "MatthewsCorrCoef", task},
      {{{"class", "CohenKappa"}, {"weights", "linear"}}, "cohen_kappa", "CohenKappa", with({{"weights", "linear"}})},
      {"AUROC", "auroc", "AUROC", task},
      {{{"class", "AveragePrecision"}, {"thresholds", 20}},
       "average_precision",
       "AveragePrecision",
       with({{"thresholds", 20}})},
      {{{"class", "calibration_error"}, {"norm", "max"}},
       "calibration_error",
       "CalibrationError",
       with({{"norm", "max"}})}};
  Json metrics = Json::array();
  for (const Named& one : all) metrics.push_back(one.chosen);
  levin::nn::ImageClassifier module(classifier_options(metrics));
  const levin::Batch data = images(30);
  const TemporaryFolder folder;
  const levin::Metrics logged = levin::Trainer(quiet(folder)).validate(module, loader(data)).front();
  const levin::Metrics tested = levin::Trainer(quiet(folder)).test(module, loader(data)).front();
  const at::Tensor logits = predictions(module, data, [&](const at::Tensor& input) { return module.forward(input); });
  for (const Named& one : all) {
    INFO(one.chosen.dump());
    CHECK(logged.at("val_" + one.name) ==
          Approx(by_hand(one.metric, one.options, logits, data.target())).epsilon(1e-9));
    CHECK(tested.at("test_" + one.name) == logged.at("val_" + one.name));
  }
  CHECK(logged.size() == all.size() + 2);
  levin::nn::ImageClassifier without(classifier_options(Json::array()));
  CHECK(levin::Trainer(quiet(folder)).validate(without, loader(data)).front().size() == 2);
}

TEST_CASE("a regressor logs metrics of numbers, over all its outputs") {
  const std::vector<Named> all = {
      {"mse", "mean_squared_error", "MeanSquaredError", Json::object()},
      {{{"class", "MeanSquaredError"}, {"squared", false}, {"name", "rmse"}},
       "rmse",
       "MeanSquaredError",
       {{"squared", false}}},
      {"msle", "mean_squared_log_error", "MeanSquaredLogError", Json::object()},
      {"mape", "mean_absolute_percentage_error", "MeanAbsolutePercentageError", Json::object()},
      {"smape", "symmetric_mean_absolute_percentage_error", "SymmetricMeanAbsolutePercentageError", Json::object()},
      {"wmape", "weighted_mean_absolute_percentage_error", "WeightedMeanAbsolutePercentageError", Json::object()},
      {"r2", "r2_score", "R2Score", {{"num_outputs", 2}}},
      {"explained_variance", "explained_variance", "ExplainedVariance", {{"num_outputs", 2}}},
      {"pearson_corrcoef", "pearson_corrcoef", "PearsonCorrCoef", Json::object()},
      {"spearman", "spearman_corrcoef", "SpearmanCorrCoef", Json::object()},
      {{{"class", "CosineSimilarity"}, {"reduction", "mean"}},
       "cosine_similarity",
       "CosineSimilarity",
       {{"reduction", "mean"}}},
      {{{"class", "PSNR"}, {"data_range", 2.0}},
       "peak_signal_noise_ratio",
       "PeakSignalNoiseRatio",
       {{"data_range", 2.0}}}};
  Json metrics = Json::array();
  for (const Named& one : all) metrics.push_back(one.chosen);
  levin::nn::MLPRegressor module(regressor_options(metrics));
  // Above -1, where the logarithm of an error is a number.
  for (const at::Tensor& parameter : module.parameters()) parameter.data().abs_();
  const levin::Batch data = rows(30);
  const TemporaryFolder folder;
  const levin::Metrics logged = levin::Trainer(quiet(folder)).validate(module, loader(data)).front();
  const at::Tensor numbers =
      predictions(module, data, [&](const at::Tensor& input) { return module.forward(levin::Batch(input)); });
  for (const Named& one : all) {
    INFO(one.chosen.dump());
    CHECK(logged.at("val_" + one.name) ==
          Approx(by_hand(one.metric, one.options, numbers, data.target())).epsilon(1e-9));
  }
}

TEST_CASE("wrappers by name: the latest batches, the extremes of epochs, and the deviation over draws") {
  const Json metrics = {{{"class", "Running"}, {"metric", "accuracy"}, {"window", 2}, {"train", true}},
                        {{"class", "MinMax"}, {"metric", "accuracy"}},
                        {{"class", "BootStrapper"}, {"metric", {{"class", "accuracy"}, {"name", "drawn"}}}}};
  levin::nn::ImageClassifier module(classifier_options(metrics));
  const levin::Batch data = images(30);
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 3;
  options.num_sanity_val_steps = 2;  // whose values are of no epoch
  std::vector<double> values;
  options.callbacks = {levin::LambdaCallback({.on_validation_end = [&](levin::Run& validated) {
    if (validated.state().stage != levin::Stage::SanityCheck) values.push_back(validated.metrics().at("val_accuracy"));
  }})};
  const levin::Metrics logged = levin::Trainer(options).fit(module, loader(data), loader(data)).metrics;
  REQUIRE(values.size() == 3);
  CHECK(logged.at("val_accuracy_max") == *std::ranges::max_element(values));
  CHECK(logged.at("val_accuracy_min") == *std::ranges::min_element(values));
  CHECK(logged.at("val_drawn_mean") == Approx(values.back()).margin(0.2));
  CHECK(logged.at("val_drawn_std") > 0);
  CHECK(logged.contains("train_running_accuracy"));
  const at::Tensor logits = predictions(module, data, [&](const at::Tensor& input) { return module.forward(input); });
  CHECK(logged.at("val_running_accuracy") ==
        Approx(by_hand("Accuracy", {{"task", "multiclass"}, {"num_classes", kClasses}}, logits.narrow(0, 16, 14),
                       data.target().narrow(0, 16, 14))));
}

TEST_CASE("a run that is resumed in a validation, or between two, logs what the unbroken run does") {
  const Json metrics = {"auroc",
                        {{"class", "MinMax"}, {"metric", "accuracy"}},
                        {{"class", "Running"}, {"metric", "f1"}, {"window", 3}, {"train", true}},
                        {{"class", "BootStrapper"}, {"metric", "recall"}, {"num_bootstraps", 3}}};
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 4;
  const auto run = [&](std::vector<levin::CallbackEntry> callbacks, const std::string& from) {
    options.callbacks = std::move(callbacks);
    return fit_images(metrics, options, from);
  };
  // Four batches make a validation.
  const std::map<int, const char*> files = {{6, "within.ckpt"}, {8, "last_batch.ckpt"}};
  int batches = 0;
  const levin::LambdaCallback in_validation({.on_validation_batch_end = [&](levin::Run& present) {
    if (const auto file = files.find(++batches); file != files.end()) present.save_checkpoint(folder / file->second);
  }});
  const levin::LambdaCallback in_training({.on_train_batch_end = [&](levin::Run& present) {
    if (present.state().global_step == 10) present.save_checkpoint(folder / "between.ckpt");
  }});
  const levin::Metrics whole = run({in_validation, in_training}, "");
  CHECK(whole.contains("val_accuracy_max"));
  for (const char* file : {"within.ckpt", "last_batch.ckpt", "between.ckpt"}) {
    INFO(file);
    CHECK(run({}, (folder / file).string()) == whole);
  }
}

TEST_CASE("the sanity check, which a resumed run does not repeat, moves no draws of the first validation") {
  const Json metrics = {{{"class", "BootStrapper"}, {"metric", "recall"}, {"num_bootstraps", 3}}};
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  options.num_sanity_val_steps = 2;
  const auto run = [&](std::vector<levin::CallbackEntry> callbacks, const std::string& from) {
    options.callbacks = std::move(callbacks);
    return fit_images(metrics, options, from);
  };
  const std::string file = (folder / "second.ckpt").string();
  const levin::LambdaCallback in_training({.on_train_batch_end = [&](levin::Run& present) {
    if (present.state().global_step == 2) present.save_checkpoint(file);
  }});
  const levin::Metrics whole = run({in_training}, "");
  CHECK(whole.contains("val_recall_std"));
  CHECK(run({}, file) == whole);
}

TEST_CASE("what does not fit is refused at the start, with the names of metric and module") {
  CHECK(contains(refusal({"r2"}),
                 "model.metrics[0]: R2Score measures numbers, and ImageClassifier predicts classes (multiclass)"));
  CHECK(contains(refusal({"auroc", "perplexity"}), "model.metrics[1]: Perplexity measures tokens"));
  CHECK(contains(refusal({"mean_iou"}), "MeanIoU measures the class of each place, and ImageClassifier"));
  CHECK(contains(refusal({{{"class", "Accuracy"}, {"num_classes", 4}}}),
                 "model.metrics[0].num_classes: is 4, and ImageClassifier has 3; leave it unset"));
  CHECK(contains(refusal({{{"class", "AUROC"}, {"task", "binary"}}}),
                 "model.metrics[0].task: is binary, and the predictions of ImageClassifier are multiclass"));
  CHECK(
      contains(refusal({{{"class", "AUROC"}, {"average", "micro"}}}), "model.metrics[0]: AUROC.average: micro is for"));
  CHECK(contains(refusal({{{"class", "F1Score"}, {"average", "none"}}}), "its value has the shape [3]"));
  CHECK(contains(refusal({"accuracy", "Accuracy"}), "model.metrics[1].name: 'accuracy' is taken by a metric before"));
  CHECK(contains(refusal({{{"class", "Accuracy"}, {"name", "acc"}}}), "ImageClassifier logs 'acc' itself"));
  CHECK(contains(refusal({"acuracy"}), "no metric 'acuracy' (did you mean Accuracy?)"));
  CHECK(contains(refusal({{{"class", "FBeta"}, {"beta", 0}}}), "model.metrics[0].beta: expected more than 0"));
  CHECK(contains(refusal({{{"class", "Running"}}}), "model.metrics[0].metric: missing"));
  CHECK(contains(refusal({{{"class", "Running"}, {"metric", {{"class", "Accuracy"}, {"train", true}}}}}),
                 "model.metrics[0].metric.train: has no effect there"));
  CHECK(contains(refusal({{{"class", "Running"}, {"metric", {{"class", "MinMax"}, {"metric", "accuracy"}}}}}),
                 "gives several values, and Running wraps a metric with one"));
  levin::nn::LanguageModelOptions text;
  levin::schema_of<levin::nn::LanguageModelOptions>().set(&text, "model",
                                                          {{"metrics", {{{"class", "Accuracy"}, {"train", true}}}}});
  CHECK(contains(error_text<UsageError>([&] { levin::nn::LanguageModel{text}; }),
                 "model.metrics[0].train: LanguageModel measures in validation and test alone"));
}

TEST_CASE("segmentations, labels and tokens are handed to metrics as these take them") {
  struct Measuring : ToyModule {
    void validation_step(const levin::Batch& batch, int64_t) override {
      metrics.log("val", batch["preds"], batch.target());
    }
    m::NamedMetrics metrics = {};
  };
  const auto measured = [](const m::MetricTask& task, const char* name, const at::Tensor& preds,
                           const at::Tensor& target) {
    Measuring module;
    m::MetricChoices choices;
    levin::schema_of<m::MetricChoices>().set(&choices, "model", {{"metrics", name}});
    module.metrics.set(module, "Measuring", choices, {});
    module.metrics.use(task);
    levin::Batch batch(preds, target);
    batch.set("preds", preds);
    const TemporaryFolder folder;
    return levin::Trainer(quiet(folder)).validate(module, loader(batch)).front().begin()->second;
  };
  torch::manual_seed(8);
  const at::Tensor scores = torch::randn({6, 3, 4, 4}), target = torch::randint(3, {6, 4, 4});
  const m::MetricTask segments = {.learned = m::Learned::Segmentation, .columns = 3};
  const Json of_segments = {{"num_classes", 3}, {"input_format", "index"}};
  CHECK(measured(segments, "dice", scores, target) ==
        Approx(by_hand("DiceScore", of_segments, scores.argmax(1), target)));
  CHECK(measured(segments, "generalized_dice", scores, target) ==
        Approx(by_hand("GeneralizedDiceScore", of_segments, scores.argmax(1), target)));
  CHECK(measured(segments, "iou", scores, target) == Approx(by_hand("MeanIoU", of_segments, scores.argmax(1), target)));
  CHECK(measured(segments, "accuracy", scores, target) ==
        Approx(by_hand("Accuracy", {{"task", "multiclass"}, {"num_classes", 3}}, scores, target)));
  const at::Tensor logits = torch::randn({6, 5, 7}), tokens = torch::randint(7, {6, 5});
  const m::MetricTask of_tokens = {.learned = m::Learned::Tokens, .columns = 7};
  CHECK(measured(of_tokens, "accuracy", logits, tokens) ==
        Approx(logits.argmax(2).eq(tokens).to(torch::kDouble).mean().item<double>()));
  CHECK(measured(of_tokens, "perplexity", logits, tokens) ==
        Approx(by_hand("Perplexity", Json::object(), logits, tokens)));
  const at::Tensor chances = torch::rand({6, 4}), labels = torch::randint(2, {6, 4});
  CHECK(measured({.learned = m::Learned::Multilabel, .columns = 4}, "jaccard", chances, labels) ==
        Approx(by_hand("JaccardIndex", {{"task", "multilabel"}, {"num_labels", 4}}, chances, labels)));
  CHECK(measured({.learned = m::Learned::Binary}, "auroc", chances.select(1, 0), labels.select(1, 0)) ==
        Approx(by_hand("AUROC", {{"task", "binary"}}, chances.select(1, 0), labels.select(1, 0))));
  // Probabilities of classes in place of a class, as Mixup gives them.
  CHECK(measured({.learned = m::Learned::Multiclass, .columns = 3}, "acc", scores.select(3, 0).select(2, 0),
                 torch::one_hot(target.select(2, 0).select(1, 0), 3).to(torch::kFloat)) ==
        Approx(scores.select(3, 0)
                   .select(2, 0)
                   .argmax(1)
                   .eq(target.select(2, 0).select(1, 0))
                   .to(torch::kDouble)
                   .mean()
                   .item<double>()));
}
