#include <levin/modules/metrics/corr_coef.h>
#include <levin/modules/metrics/cosine_similarity.h>
#include <levin/modules/metrics/engine/metric_entry.h>
#include <levin/modules/metrics/explained_variance.h>
#include <levin/modules/metrics/kl_divergence.h>
#include <levin/modules/metrics/mean_error.h>
#include <levin/modules/metrics/peak_signal_noise_ratio.h>
#include <levin/modules/metrics/r2_score.h>
#include <levin/modules/metrics/relative_error.h>
#include <levin/modules/metrics/structural_similarity.h>

namespace levin::metrics {
namespace {

constexpr Measured kNumbers = {Learned::Numbers};

}  // namespace

void add_regression_metrics(MetricEntries& registry) {
  const MetricInput input = MetricInput::Numbers;
  add_metric<MeanSquaredError>(registry, "MeanSquaredError", {"mean_squared_error", "mse"}, input, kNumbers,
                               "The mean of squared errors, or its root");
  add_metric<MeanAbsoluteError>(registry, "MeanAbsoluteError", {"mean_absolute_error", "mae"}, input, kNumbers,
                                "The mean of errors");
  add_metric<MeanSquaredLogError>(registry, "MeanSquaredLogError", {"mean_squared_log_error", "msle"}, input, kNumbers,
                                  "The mean of squared differences of log(1 + x)");
  add_metric<MeanAbsolutePercentageError>(registry, "MeanAbsolutePercentageError",
                                          {"mean_absolute_percentage_error", "mape"}, input, kNumbers,
                                          "The mean of errors relative to the target");
  add_metric<SymmetricMeanAbsolutePercentageError>(registry, "SymmetricMeanAbsolutePercentageError",
                                                   {"symmetric_mean_absolute_percentage_error", "smape"}, input,
                                                   kNumbers, "The mean of errors relative to both");
  add_metric<WeightedMeanAbsolutePercentageError>(registry, "WeightedMeanAbsolutePercentageError",
                                                  {"weighted_mean_absolute_percentage_error", "wmape"}, input, kNumbers,
                                                  "The sum of errors relative to that of the targets");
  add_metric<R2Score>(registry, "R2Score", {"r2_score", "r2"}, input, kNumbers,
                      "The share of the variance that is explained");
  add_metric<ExplainedVariance>(registry, "ExplainedVariance", {"explained_variance"}, input, kNumbers,
                                "The same, without a constant error");
  add_metric<PearsonCorrCoef>(registry, "PearsonCorrCoef", {"pearson_corrcoef", "pearson"}, input, kNumbers,
                              "The linear correlation");
  add_metric<SpearmanCorrCoef>(registry, "SpearmanCorrCoef", {"spearman_corrcoef", "spearman"}, input, kNumbers,
                               "The correlation of ranks");
  add_metric<CosineSimilarity>(registry, "CosineSimilarity", {"cosine_similarity"}, input, kNumbers,
                               "The cosine of the angle between vectors");
  add_metric<KLDivergence>(registry, "KLDivergence", {"kl_divergence"}, input, kNumbers,
                           "The Kullback-Leibler divergence of distributions");
  add_metric<PeakSignalNoiseRatio>(registry, "PeakSignalNoiseRatio", {"peak_signal_noise_ratio", "psnr"}, input,
                                   kNumbers, "The peak signal-to-noise ratio");
  add_metric<StructuralSimilarityIndexMeasure>(registry, "StructuralSimilarityIndexMeasure",
                                               {"structural_similarity_index_measure", "ssim"}, input, kNumbers,
                                               "The structural similarity of images");
  add_metric<MultiScaleStructuralSimilarityIndexMeasure>(registry, "MultiScaleStructuralSimilarityIndexMeasure",
                                                         {"multiscale_structural_similarity_index_measure", "ms_ssim"},
                                                         input, kNumbers,
                                                         "The structural similarity of images in several sizes");
}

}  // namespace levin::metrics
