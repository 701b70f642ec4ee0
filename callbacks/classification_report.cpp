#include <levin/callbacks/classification_report.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>
#include <levin/data/files/contact_sheet.h>
#include <levin/data/files/image_file.h>
#include <levin/data/remote/output_place.h>
#include <levin/modules/lightning_module.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace levin {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int64_t kMostCurves = 30;

/// Returns the predicted class and its score of each sample, on the CPU: int64 and float64 [samples].
std::pair<at::Tensor, at::Tensor> predictions_of(const at::Tensor& scores) {
  const at::Tensor wide = scores.detach().to(at::kCPU, at::kDouble);
  if (wide.dim() == 1) {
    const at::Tensor is_one = wide.gt(0.5);
    return {is_one.to(at::kLong), at::where(is_one, wide, 1 - wide)};
  }
  auto [score, predicted] = wide.max(1);
  return {predicted, score};
}

/// Returns the probability of class 1 of scores of two classes, [samples, 2], that may be logits.
at::Tensor positive_scores(const at::Tensor& scores) {
  const bool are_probabilities = scores.ge(0).logical_and(scores.le(1)).all().item<bool>();
  return (are_probabilities ? scores : scores.softmax(1)).select(1, 1);
}

/// Returns the curves of a metric as lists of numbers, for a file.
Json curves_of(const metrics::ThresholdCurve& metric, bool is_swapped) {
  const auto listed = [](const at::Tensor& values) {
    Json list = Json::array();
    for (int64_t i = 0; i < values.size(0); ++i) list.push_back(json_number(values[i].item<double>()));
    return list;
  };
  Json json = Json::array();
  for (const metrics::Curve& curve : metric.curves())
    json.push_back({{"x", listed(is_swapped ? curve.y : curve.x)}, {"y", listed(is_swapped ? curve.x : curve.y)}});
  return json;
}

bool are_scores(const at::Tensor& scores) {
  return scores.is_floating_point() && (scores.dim() == 1 || (scores.dim() == 2 && scores.size(1) >= 2));
}

}  // namespace

ClassificationReport::ClassificationReport(ClassificationReportOptions options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "ClassificationReport");
  require_local("ClassificationReport.output_dir", options_.output_dir);
}

void ClassificationReport::on_validation_epoch_start(Run& /*run*/) { begin(); }
void ClassificationReport::on_validation_batch_end(Run& run) { add(run); }
void ClassificationReport::on_validation_epoch_end(Run& run) { write(run, "validate"); }
void ClassificationReport::on_test_epoch_start(Run& /*run*/) { begin(); }
void ClassificationReport::on_test_batch_end(Run& run) { add(run); }
void ClassificationReport::on_test_epoch_end(Run& run) { write(run, "test"); }

fs::path ClassificationReport::folder(const Run& run) const {
  if (!options_.output_dir.empty()) return options_.output_dir;
  return run.folder().empty() ? fs::path() : run.folder() / "classification";
}

bool ClassificationReport::is_due(const Run& run) const {
  if (folder(run).empty() || run.state().stage == Stage::SanityCheck) return false;
  return !run.fitting() || run.state().epoch % options_.every_n_epochs == 0;
}

void ClassificationReport::begin() {
  matrix_ = at::Tensor();
  roc_.reset();
  precision_recall_.reset();
  seen_ = 0;
  samples_.clear();
  mistakes_.clear();
}

void ClassificationReport::make_curves(int64_t classes) {
  if (options_.curve_points < 2 || classes > kMostCurves || roc_) return;
  const bool is_binary = classes == 2;
  const metrics::ThresholdCurveOptions how = {
      .task = is_binary ? metrics::TaskKind::Binary : metrics::TaskKind::Multiclass,
      .thresholds = options_.curve_points,
      .num_classes = is_binary ? std::nullopt : std::optional(classes)};
  roc_.emplace(how);
  precision_recall_.emplace(how);
}

void ClassificationReport::add(Run& run) {
  if (!is_due(run)) return;
  const at::NoGradGuard no_grad;
  const RngGuard random_numbers;
  const at::Tensor scores = run.module().predict_step(run.batch(), run.batch_idx())[options_.name];
  const at::Tensor target = run.batch().target().detach().cpu();
  if (!are_scores(scores))
    throw UsageError("ClassificationReport: expected scores [samples, classes] or probabilities [samples], got ",
                     scores.scalar_type(), " ", scores.sizes(), " as '", options_.name, "' of predict_step");
  if (target.scalar_type() != at::kLong || target.sizes() != scores.sizes().slice(0, 1))
    throw UsageError("ClassificationReport: expected a target int64 [", scores.size(0), "], got ", target.scalar_type(),
                     " ", target.sizes());
  const int64_t classes = scores.dim() == 2 ? scores.size(1) : 2;
  if (!matrix_.defined()) matrix_ = at::zeros({classes, classes}, at::kLong);
  const auto [predicted, score] = predictions_of(scores);
  const at::Tensor counts = target.ge(0);
  const at::Tensor known = target.masked_select(counts);
  if (matrix_.size(0) != classes || known.ge(classes).any().item<bool>())
    throw UsageError("ClassificationReport: there are ", matrix_.size(0), " classes, a batch has more or others");
  matrix_.add_(at::bincount(known * classes + predicted.masked_select(counts), {}, classes * classes)
                   .reshape({classes, classes}));
  make_curves(classes);
  if (roc_) {
    at::Tensor probabilities = scores.detach().cpu();
    if (classes == 2 && scores.dim() == 2) probabilities = positive_scores(probabilities);
    const at::Tensor labels = target.clamp_min(0);
    roc_->update(probabilities, labels, counts);
    precision_recall_->update(probabilities, labels, counts);
  }
  if (run.comm().is_global_zero()) add_samples(run, target, predicted, score);
  seen_ += target.size(0);
}

void ClassificationReport::add_samples(Run& run, const at::Tensor& target, const at::Tensor& predicted,
                                       const at::Tensor& score) {
  const Batch& batch = run.batch();
  const bool has_images =
      !batch.is_own() && batch.contains("input") && !batch.is_list("input") && data::can_be_drawn(batch.input());
  const auto sample = [&](int64_t i) {
    return Sample{.index = seen_ + i,
                  .target = target[i].item<int64_t>(),
                  .predicted = predicted[i].item<int64_t>(),
                  .score = score[i].item<double>(),
                  .image = has_images ? batch.input()[i].detach().cpu().clone() : at::Tensor()};
  };
  const auto most = static_cast<size_t>(options_.num_samples);
  for (int64_t i = 0; i < target.size(0) && samples_.size() < most; ++i) samples_.push_back(sample(i));
  if (most == 0) return;
  const at::Tensor wrong = predicted.ne(target).logical_and(target.ge(0)).nonzero().flatten();
  for (int64_t at = 0; at < wrong.size(0); ++at) {
    const auto i = wrong[at].item<int64_t>();
    if (mistakes_.size() == most && score[i].item<double>() <= mistakes_.back().score) continue;
    if (mistakes_.size() == most) mistakes_.pop_back();
    Sample one = sample(i);
    const auto place = std::ranges::upper_bound(mistakes_, one.score, std::ranges::greater(), &Sample::score);
    mistakes_.insert(place, std::move(one));
  }
}

void ClassificationReport::write(Run& run, const std::string& stage) {
  if (!is_due(run)) return;
  at::Tensor classes = at::tensor({matrix_.defined() ? matrix_.size(0) : 0}, at::kLong);
  run.comm().all_reduce(classes, ReduceOp::Max);
  const auto count = classes.item<int64_t>();
  if (count == 0) return;
  if (!matrix_.defined()) matrix_ = at::zeros({count, count}, at::kLong);  // a rank without a batch
  run.comm().all_reduce(matrix_, ReduceOp::Sum);
  make_curves(count);
  if (roc_) {
    roc_->sync(run.comm());
    precision_recall_->sync(run.comm());
  }
  if (!run.comm().is_global_zero()) return;

  Json json = {{"stage", stage}, {"epoch", run.state().epoch}, {"step", run.state().global_step}};
  for (int64_t i = 0; i < count; ++i) json["classes"].push_back(class_name(i));
  for (int64_t i = 0; i < count; ++i) {
    const at::Tensor row = matrix_[i];
    json["matrix"].push_back(
        std::vector<int64_t>(row.const_data_ptr<int64_t>(), row.const_data_ptr<int64_t>() + count));
  }
  if (roc_) {
    json["roc"] = curves_of(*roc_, /*is_swapped=*/false);
    json["precision_recall"] = curves_of(*precision_recall_, /*is_swapped=*/true);
  }
  const fs::path into = folder(run);
  std::error_code error;
  fs::create_directories(into, error);
  if (error) throw UsageError("ClassificationReport.output_dir: ", into.string(), ": ", error.message());
  for (const auto& [key, samples] : {std::pair("samples", &samples_), std::pair("mistakes", &mistakes_)}) {
    json[key] = Json::array();
    for (const Sample& sample : *samples)
      json[key].push_back({{"index", sample.index},
                           {"target", sample.target},
                           {"predicted", sample.predicted},
                           {"score", sample.score}});
    const std::string picture = stage + "_" + key + ".png";
    if (samples->empty() || !samples->front().image.defined()) {
      fs::remove(into / picture, error);
      continue;
    }
    draw((into / picture).string(), *samples);
    json[std::string(key) + "_picture"] = picture;
  }
  write_text_file_atomically(into / (stage + ".json"), json_text(json, 2) + "\n");
}

std::string ClassificationReport::class_name(int64_t number) const {
  const auto at = static_cast<size_t>(number);
  return number >= 0 && at < options_.class_names.size() ? options_.class_names[at] : std::to_string(number);
}

void ClassificationReport::draw(const std::string& file, const std::vector<Sample>& samples) const {
  std::vector<at::Tensor> images;
  std::vector<std::string> labels;
  for (const Sample& sample : samples) {
    if (!sample.image.defined() || (!images.empty() && sample.image.sizes() != images.front().sizes())) continue;
    images.push_back(sample.image);
    labels.push_back(sample.target == sample.predicted
                         ? class_name(sample.target)
                         : class_name(sample.target) + " as " + class_name(sample.predicted));
  }
  data::write_png(file, data::contact_sheet(at::stack(images), labels, static_cast<int64_t>(images.size())));
}

}  // namespace levin
