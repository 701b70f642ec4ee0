#include "tests/modules/metrics/metric_cases.h"

#include <ATen/ATen.h>
#include <levin/modules/metrics/accuracy.h>
#include <levin/modules/metrics/auroc.h>
#include <levin/modules/metrics/average_precision.h>
#include <levin/modules/metrics/calibration_error.h>
#include <levin/modules/metrics/cohen_kappa.h>
#include <levin/modules/metrics/confusion_matrix.h>
#include <levin/modules/metrics/corr_coef.h>
#include <levin/modules/metrics/cosine_similarity.h>
#include <levin/modules/metrics/dice_score.h>
#include <levin/modules/metrics/explained_variance.h>
#include <levin/modules/metrics/f_beta_score.h>
#include <levin/modules/metrics/generalized_dice_score.h>
#include <levin/modules/metrics/hamming_distance.h>
#include <levin/modules/metrics/jaccard_index.h>
#include <levin/modules/metrics/kl_divergence.h>
#include <levin/modules/metrics/matthews_corrcoef.h>
#include <levin/modules/metrics/mean_error.h>
#include <levin/modules/metrics/mean_iou.h>
#include <levin/modules/metrics/peak_signal_noise_ratio.h>
#include <levin/modules/metrics/perplexity.h>
#include <levin/modules/metrics/precision_recall.h>
#include <levin/modules/metrics/r2_score.h>
#include <levin/modules/metrics/relative_error.h>
#include <levin/modules/metrics/specificity.h>
#include <levin/modules/metrics/structural_similarity.h>

#include <functional>
#include <limits>

namespace metric_cases {
namespace {

using Make = std::function<std::shared_ptr<levin::metrics::Metric>(const Json&)>;

template <class M>
Make maker() {
  return [](const Json& json) {
    typename M::Options options = {};
    levin::schema_of<typename M::Options>().set(&options, "", json);
    return std::make_shared<M>(options);
  };
}

const std::map<std::string, Make>& makers() {
  namespace m = levin::metrics;
  static const std::map<std::string, Make> all = {
      {"Accuracy", maker<m::Accuracy>()},
      {"Precision", maker<m::Precision>()},
      {"Recall", maker<m::Recall>()},
      {"F1Score", maker<m::F1Score>()},
      {"ConfusionMatrix", maker<m::ConfusionMatrix>()},
      {"JaccardIndex", maker<m::JaccardIndex>()},
      {"AUROC", maker<m::AUROC>()},
      {"AveragePrecision", maker<m::AveragePrecision>()},
      {"CalibrationError", maker<m::CalibrationError>()},
      {"MeanIoU", maker<m::MeanIoU>()},
      {"MeanSquaredError", maker<m::MeanSquaredError>()},
      {"MeanAbsoluteError", maker<m::MeanAbsoluteError>()},
      {"R2Score", maker<m::R2Score>()},
      {"CosineSimilarity", maker<m::CosineSimilarity>()},
      {"Perplexity", maker<m::Perplexity>()},
      {"FBetaScore", maker<m::FBetaScore>()},
      {"Specificity", maker<m::Specificity>()},
      {"HammingDistance", maker<m::HammingDistance>()},
      {"MatthewsCorrCoef", maker<m::MatthewsCorrCoef>()},
      {"CohenKappa", maker<m::CohenKappa>()},
      {"DiceScore", maker<m::DiceScore>()},
      {"GeneralizedDiceScore", maker<m::GeneralizedDiceScore>()},
      {"MeanSquaredLogError", maker<m::MeanSquaredLogError>()},
      {"MeanAbsolutePercentageError", maker<m::MeanAbsolutePercentageError>()},
      {"SymmetricMeanAbsolutePercentageError", maker<m::SymmetricMeanAbsolutePercentageError>()},
      {"WeightedMeanAbsolutePercentageError", maker<m::WeightedMeanAbsolutePercentageError>()},
      {"ExplainedVariance", maker<m::ExplainedVariance>()},
      {"PearsonCorrCoef", maker<m::PearsonCorrCoef>()},
      {"SpearmanCorrCoef", maker<m::SpearmanCorrCoef>()},
      {"KLDivergence", maker<m::KLDivergence>()},
      {"PeakSignalNoiseRatio", maker<m::PeakSignalNoiseRatio>()},
      {"StructuralSimilarityIndexMeasure", maker<m::StructuralSimilarityIndexMeasure>()},
      {"MultiScaleStructuralSimilarityIndexMeasure", maker<m::MultiScaleStructuralSimilarityIndexMeasure>()}};
  return all;
}

/// Adds a case for each metric, data set and variant: `options`, with the options of the variant over them.
void add(std::vector<Case>& cases, const std::vector<std::string>& metrics, const std::vector<std::string>& data_names,
         const Json& options, const std::vector<Json>& variants = {Json::object()}) {
  for (const std::string& metric : metrics)
    for (const std::string& name : data_names)
      for (const Json& variant : variants) {
        Json merged = options;
        merged.update(variant);
        cases.push_back({metric, name, merged});
      }
}

const std::vector<Json>& averages() {
  static const std::vector<Json> all = {
      {{"average", "micro"}}, {{"average", "macro"}}, {{"average", "weighted"}}, {{"average", "none"}}};
  return all;
}
const std::vector<Json>& curve_averages() {
  static const std::vector<Json> all = {{{"average", "macro"}},
                                        {{"average", "weighted"}},
                                        {{"average", "none"}},
                                        {{"average", "macro"}, {"thresholds", 20}},
                                        {{"average", "weighted"}, {"thresholds", 20}},
                                        {{"average", "none"}, {"thresholds", 7}}};
  return all;
}

const Json kBinary = {{"task", "binary"}}, kMulticlass = {{"task", "multiclass"}, {"num_classes", 5}},
           kMultilabel = {{"task", "multilabel"}, {"num_labels", 4}};

Json with(Json options, const Json& more) {
  options.update(more);
  return options;
}

const std::vector<std::string> kStatScores = {"Accuracy",    "Precision",       "Recall",    "F1Score",
                                              "Specificity", "HammingDistance", "FBetaScore"};
const std::vector<std::string> kCurves = {"AUROC", "AveragePrecision"};
const Json kIgnore = {{"ignore_index", -1}};

void add_stat_score_cases(std::vector<Case>& cases) {
  add(cases, kStatScores, {"binary", "binary_logits", "binary_labels", "binary_2d"},
      with(kBinary, {{"threshold", 0.3}}));
  add(cases, kStatScores, {"binary_ignored"}, with(kBinary, kIgnore));
  add(cases, kStatScores, {"multiclass_logits", "multiclass_labels"}, kMulticlass, averages());
  add(cases, kStatScores, {"multiclass"}, with(kMulticlass, {{"top_k", 2}}), averages());
  add(cases, kStatScores, {"multiclass_ignored", "multiclass_3d"}, with(kMulticlass, kIgnore), averages());
  add(cases, kStatScores, {"multiclass_ignored"}, with(with(kMulticlass, kIgnore), {{"top_k", 3}}), averages());
  add(cases, kStatScores, {"multiclass"}, with(kMulticlass, {{"ignore_index", 2}}), averages());
  add(cases, kStatScores, {"multilabel", "multilabel_logits", "multilabel_3d"}, kMultilabel, averages());
  add(cases, kStatScores, {"multilabel_ignored"}, with(kMultilabel, kIgnore), averages());
  add(cases, {"FBetaScore"}, {"multiclass", "multiclass_ignored"}, with(with(kMulticlass, kIgnore), {{"beta", 2.0}}),
      averages());
  add(cases, {"FBetaScore"}, {"binary"}, with(kBinary, {{"beta", 0.5}}));
}

void add_matrix_cases(std::vector<Case>& cases) {
  const std::vector<Json> norms = {
      {{"normalize", "none"}}, {{"normalize", "true"}}, {{"normalize", "pred"}}, {{"normalize", "all"}}};
  add(cases, {"ConfusionMatrix"}, {"binary", "binary_logits"}, kBinary, norms);
  add(cases, {"ConfusionMatrix"}, {"multiclass_logits", "multiclass_labels"}, kMulticlass, norms);
  add(cases, {"ConfusionMatrix"}, {"multiclass_3d"}, with(kMulticlass, kIgnore), norms);
  add(cases, {"ConfusionMatrix"}, {"multilabel"}, kMultilabel, norms);
  add(cases, {"ConfusionMatrix"}, {"multilabel_ignored"}, with(kMultilabel, kIgnore), norms);
  add(cases, {"JaccardIndex"}, {"binary"}, kBinary);
  add(cases, {"JaccardIndex"}, {"multiclass_logits", "multiclass_labels"}, kMulticlass, averages());
  add(cases, {"JaccardIndex"}, {"multiclass"}, with(kMulticlass, {{"ignore_index", 2}}), averages());
  add(cases, {"JaccardIndex"}, {"multiclass_ignored"}, with(kMulticlass, kIgnore), averages());
  add(cases, {"JaccardIndex"}, {"multilabel"}, kMultilabel, averages());
  const std::vector<std::string> correlations = {"MatthewsCorrCoef", "CohenKappa"};
  add(cases, correlations, {"binary", "binary_logits", "binary_labels"}, kBinary);
  add(cases, correlations, {"binary_ignored"}, with(kBinary, kIgnore));
  add(cases, correlations, {"multiclass_logits", "multiclass_labels"}, kMulticlass);
  add(cases, correlations, {"multiclass_ignored", "multiclass_3d"}, with(kMulticlass, kIgnore));
  add(cases, {"MatthewsCorrCoef"}, {"multilabel", "multilabel_3d"}, kMultilabel);
  add(cases, {"CohenKappa"}, {"multiclass", "multiclass_labels"}, kMulticlass,
      {{{"weights", "linear"}}, {{"weights", "quadratic"}}});
  const std::vector<Json> means = {Json::object(),
                                   {{"per_class", true}},
                                   {{"include_background", false}},
                                   {{"include_background", false}, {"per_class", true}}};
  add(cases, {"MeanIoU"}, {"segments"}, {{"num_classes", 4}, {"input_format", "index"}}, means);
  add(cases, {"MeanIoU"}, {"segments_one_hot"}, {{"num_classes", 4}}, means);
  add(cases, {"MeanIoU"}, {"segments_mixed"}, {{"num_classes", 4}, {"input_format", "mixed"}}, means);
  for (const std::string weight : {"square", "simple", "linear"}) {
    const Json dice = {{"num_classes", 4}, {"weight_type", weight}};
    add(cases, {"GeneralizedDiceScore"}, {"segments_one_hot"}, dice, means);
    add(cases, {"GeneralizedDiceScore"}, {"segments"}, with(dice, {{"input_format", "index"}}), means);
  }
  for (const std::string level : {"samplewise", "global"}) {
    const Json dice = {{"num_classes", 4}, {"aggregation_level", level}};
    add(cases, {"DiceScore"}, {"segments_one_hot"}, dice, averages());
    add(cases, {"DiceScore"}, {"segments"}, with(dice, {{"input_format", "index"}, {"include_background", false}}),
        averages());
  }
}

void add_curve_cases(std::vector<Case>& cases) {
  const std::vector<Json> binary = {Json::object(), {{"thresholds", 20}}};
  add(cases, kCurves, {"binary", "binary_logits", "binary_ties", "binary_2d", "binary_double"}, kBinary, binary);
  add(cases, kCurves, {"binary_ignored"}, with(kBinary, kIgnore), binary);
  add(cases, kCurves, {"multiclass", "multiclass_logits", "multiclass_ties"}, kMulticlass, curve_averages());
  add(cases, kCurves, {"multiclass_ignored", "multiclass_3d"}, with(kMulticlass, kIgnore), curve_averages());
  add(cases, kCurves, {"multilabel", "multilabel_logits", "multilabel_3d"}, kMultilabel, curve_averages());
  add(cases, kCurves, {"multilabel", "multilabel_ignored"}, with(kMultilabel, kIgnore), curve_averages());
  add(cases, kCurves, {"multilabel", "multilabel_ignored"}, with(with(kMultilabel, kIgnore), {{"average", "micro"}}),
      binary);
  const std::vector<Json> norms = {{{"norm", "l1"}}, {{"norm", "l2"}, {"n_bins", 7}}, {{"norm", "max"}}};
  add(cases, {"CalibrationError"}, {"binary", "binary_logits"}, kBinary, norms);
  add(cases, {"CalibrationError"}, {"binary_ignored"}, with(kBinary, kIgnore), norms);
  add(cases, {"CalibrationError"}, {"multiclass", "multiclass_logits"}, kMulticlass, norms);
  add(cases, {"CalibrationError"}, {"multiclass_ignored", "multiclass_3d"}, with(kMulticlass, kIgnore), norms);
}

void add_regression_cases(std::vector<Case>& cases) {
  const Json three = {{"num_outputs", 3}};
  add(cases, {"MeanSquaredError"}, {"regression", "regression_half", "regression_2d"}, Json::object(),
      {Json::object(), {{"squared", false}}});
  add(cases, {"MeanSquaredError"}, {"regression_2d"}, three, {Json::object(), {{"squared", false}}});
  add(cases, {"MeanAbsoluteError"}, {"regression", "regression_half"}, Json::object());
  add(cases, {"MeanAbsoluteError"}, {"regression_2d"}, three);
  add(cases, {"R2Score"}, {"regression"}, Json::object(), {Json::object(), {{"adjusted", 3}}});
  add(cases, {"R2Score"}, {"regression_2d"}, three,
      {Json::object(), {{"multioutput", "raw_values"}}, {{"multioutput", "variance_weighted"}, {"adjusted", 2}}});
  add(cases, {"CosineSimilarity"}, {"regression_2d"}, Json::object(),
      {{{"reduction", "sum"}}, {{"reduction", "mean"}}, {{"reduction", "none"}}});
  add(cases,
      {"MeanAbsolutePercentageError", "SymmetricMeanAbsolutePercentageError", "WeightedMeanAbsolutePercentageError"},
      {"regression", "regression_2d", "positive"}, Json::object());
  add(cases, {"MeanSquaredLogError"}, {"positive"}, Json::object());
  add(cases, {"ExplainedVariance"}, {"regression"}, Json::object());
  add(cases, {"ExplainedVariance"}, {"regression_2d"}, three,
      {Json::object(), {{"multioutput", "raw_values"}}, {{"multioutput", "variance_weighted"}}});
  add(cases, {"PearsonCorrCoef", "SpearmanCorrCoef"}, {"regression", "positive"}, Json::object());
  add(cases, {"PearsonCorrCoef", "SpearmanCorrCoef"}, {"regression_2d", "ranked"}, three);
  const std::vector<Json> reductions = {{{"reduction", "mean"}}, {{"reduction", "sum"}}, {{"reduction", "none"}}};
  add(cases, {"KLDivergence"}, {"weights"}, Json::object(), reductions);
  add(cases, {"KLDivergence"}, {"log_probabilities"}, {{"log_prob", true}}, reductions);
  add(cases, {"PeakSignalNoiseRatio"}, {"images"}, {{"data_range", 1.0}}, {Json::object(), {{"base", 2.0}}});
  add(cases, {"StructuralSimilarityIndexMeasure"}, {"images", "volumes"}, Json::object(),
      {Json::object(), {{"reduction", "none"}}, {{"k1", 0.02}, {"k2", 0.05}}});
  add(cases, {"StructuralSimilarityIndexMeasure"}, {"images"}, {{"data_range", 1.0}, {"sigma", 0.8}});
  add(cases, {"MultiScaleStructuralSimilarityIndexMeasure"}, {"images"}, {{"betas", {0.2, 0.8}}, {"sigma", 0.8}},
      {Json::object(), {{"data_range", 1.0}, {"normalize", "simple"}}, {{"reduction", "none"}}});
  add(cases, {"Perplexity"}, {"tokens"}, Json::object());
  add(cases, {"Perplexity"}, {"tokens_ignored"}, kIgnore);
}

}  // namespace

const std::vector<Case>& random_cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> cases;
    add_stat_score_cases(cases);
    add_matrix_cases(cases);
    add_curve_cases(cases);
    add_regression_cases(cases);
    return cases;
  }();
  return all;
}

const std::vector<Case>& degenerate_cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> cases;
    for (const std::string name : {"all_0", "all_1", "all_ignored"}) {
      std::vector<std::string> counts = kStatScores;
      counts.push_back("JaccardIndex");
      add(cases, counts, {"binary_" + name}, with(kBinary, kIgnore));
      add(cases, counts, {"multiclass_" + name}, with(kMulticlass, kIgnore), averages());
      add(cases, counts, {"multilabel_" + name}, with(kMultilabel, kIgnore), averages());
      add(cases, kCurves, {"binary_" + name}, with(kBinary, kIgnore), {Json::object(), {{"thresholds", 5}}});
      add(cases, kCurves, {"multiclass_" + name}, with(kMulticlass, kIgnore), curve_averages());
      add(cases, kCurves, {"multilabel_" + name}, with(kMultilabel, kIgnore), curve_averages());
      add(cases, {"CalibrationError"}, {"binary_" + name}, with(kBinary, kIgnore),
          {{{"norm", "l1"}}, {{"norm", "max"}}});
      add(cases, {"CalibrationError"}, {"multiclass_" + name}, with(kMulticlass, kIgnore));
    }
    add(cases, kCurves, {"binary_equal_scores", "binary_extreme_scores"}, kBinary,
        {Json::object(), {{"thresholds", 5}}});
    add(cases, {"CalibrationError"}, {"binary_equal_scores", "binary_extreme_scores"}, kBinary);
    add(cases, kCurves, {"multiclass_absent"}, kMulticlass, curve_averages());
    add(cases, kStatScores, {"multiclass_absent"}, kMulticlass, averages());
    add(cases, kStatScores, {"multiclass_absent"}, with(kMulticlass, {{"top_k", 2}}), averages());
    add(cases, {"Precision", "Recall", "F1Score"}, {"multiclass_absent"}, with(kMulticlass, {{"zero_division", 1}}),
        averages());
    add(cases, {"JaccardIndex"}, {"multiclass_absent"}, kMulticlass, averages());
    add(cases, {"JaccardIndex"}, {"multiclass_absent"}, with(kMulticlass, {{"zero_division", 1}, {"ignore_index", 1}}),
        averages());
    add(cases, {"MatthewsCorrCoef"}, {"two_classes_logits"}, {{"task", "multiclass"}, {"num_classes", 2}},
        {Json::object(), {{"ignore_index", 0}}, {{"ignore_index", 1}}});
    for (const std::string name : {"all_0", "all_1", "all_ignored"}) {
      add(cases, {"MatthewsCorrCoef"}, {"binary_" + name}, with(kBinary, kIgnore),
          {Json::object(), {{"threshold", 0.1}}, {{"threshold", 0.9}}});
      add(cases, {"MatthewsCorrCoef"}, {"multilabel_" + name}, with(kMultilabel, kIgnore));
    }
    for (const double threshold : {0.0, 1.0})  // one prediction for all
      add(cases, {"MatthewsCorrCoef"}, {"binary", "binary_extreme_scores"}, with(kBinary, {{"threshold", threshold}}));
    add(cases, {"ConfusionMatrix"}, {"multiclass_all_ignored"}, with(kMulticlass, kIgnore), {{{"normalize", "true"}}});
    add(cases, kStatScores, {"empty"}, kMulticlass, averages());
    add(cases, {"ConfusionMatrix", "JaccardIndex"}, {"empty"}, kMulticlass);
    add(cases, kCurves, {"empty"}, kBinary, {Json::object(), {{"thresholds", 5}}});
    add(cases, kCurves, {"empty"}, kMulticlass, curve_averages());
    add(cases, {"CalibrationError"}, {"empty"}, kBinary);
    add(cases, {"MeanSquaredError", "MeanAbsoluteError", "R2Score", "CosineSimilarity", "Perplexity"}, {"empty"},
        Json::object());
    add(cases, {"MeanIoU"}, {"empty", "one_segment"}, {{"num_classes", 3}, {"input_format", "index"}},
        {Json::object(), {{"per_class", true}}, {{"include_background", false}}});
    add(cases, {"R2Score", "ExplainedVariance"}, {"constant_right", "constant_wrong"}, Json::object());
    add(cases, {"R2Score"}, {"one_row"}, Json::object());
    add(cases, {"SpearmanCorrCoef"}, {"constant_wrong"}, Json::object());
    add(cases, {"R2Score"}, {"three_rows"}, Json::object(), {{{"adjusted", 1}}, {{"adjusted", 2}}, {{"adjusted", 5}}});
    add(cases, {"CosineSimilarity"}, {"zeros"}, Json::object());
    add(cases, {"Perplexity"}, {"all_tokens_ignored"}, kIgnore);
    return cases;
  }();
  return all;
}

std::shared_ptr<levin::metrics::Metric> make(const Case& one) { return makers().at(one.metric)(one.options); }

std::string to_text(const Case& one) { return one.metric + " " + one.options.dump() + " on " + one.data; }

void update(levin::metrics::Metric& metric, const Batches& batches, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) metric.update(batches[i].first, batches[i].second);
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  const double infinite = std::numeric_limits<double>::infinity();
  if (a.sizes() != b.sizes() || !at::equal(a.isnan(), b.isnan())) return infinite;
  if (a.numel() == 0) return 0;
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().nan_to_num(0, infinite).max().item<double>();
}

}  // namespace metric_cases
