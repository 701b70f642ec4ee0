#include <levin/modules/metrics/accuracy.h>
#include <levin/modules/metrics/auroc.h>
#include <levin/modules/metrics/average_precision.h>
#include <levin/modules/metrics/calibration_error.h>
#include <levin/modules/metrics/cohen_kappa.h>
#include <levin/modules/metrics/dice_score.h>
#include <levin/modules/metrics/engine/metric_entry.h>
#include <levin/modules/metrics/exact_match.h>
#include <levin/modules/metrics/f_beta_score.h>
#include <levin/modules/metrics/generalized_dice_score.h>
#include <levin/modules/metrics/hamming_distance.h>
#include <levin/modules/metrics/jaccard_index.h>
#include <levin/modules/metrics/matthews_corrcoef.h>
#include <levin/modules/metrics/mean_iou.h>
#include <levin/modules/metrics/perplexity.h>
#include <levin/modules/metrics/precision_recall.h>
#include <levin/modules/metrics/specificity.h>

namespace levin::metrics {
namespace {

constexpr Measured kOneClass = {Learned::Binary, Learned::Multiclass, Learned::Segmentation};
constexpr Measured kClasses = {Learned::Binary, Learned::Multiclass, Learned::Multilabel, Learned::Segmentation};
constexpr Measured kClassesOrTokens = {Learned::Binary, Learned::Multiclass, Learned::Multilabel, Learned::Segmentation,
                                       Learned::Tokens};
constexpr Measured kWholeSamples = {Learned::Multiclass, Learned::Segmentation, Learned::Tokens};
constexpr Measured kSegments = {Learned::Segmentation};
constexpr Measured kTokens = {Learned::Tokens};

void add_classes(MetricEntries& registry) {
  const MetricInput input = MetricInput::Classes;
  add_metric<Accuracy>(registry, "Accuracy", {"accuracy", "acc"}, input, kClassesOrTokens, "The share that is right");
  add_metric<Precision>(registry, "Precision", {"precision"}, input, kClassesOrTokens,
                        "The share of what was found that is right");
  add_metric<Recall>(registry, "Recall", {"recall"}, input, kClassesOrTokens,
                     "The share of what is there that was found");
  add_metric<F1Score>(registry, "F1Score", {"f1_score", "f1"}, input, kClassesOrTokens,
                      "The harmonic mean of precision and recall");
  add_metric<FBetaScore>(registry, "FBetaScore", {"fbeta_score", "fbeta"}, input, kClassesOrTokens,
                         "The same, where recall counts beta times as much");
  add_metric<Specificity>(registry, "Specificity", {"specificity"}, input, kClassesOrTokens,
                          "The share of negatives that is recognised");
  add_metric<HammingDistance>(registry, "HammingDistance", {"hamming_distance", "hamming"}, input, kClassesOrTokens,
                              "The share that is wrong");
  add_metric<JaccardIndex>(registry, "JaccardIndex", {"jaccard_index", "jaccard"}, input, kClasses,
                           "Intersection over union of predicted and true classes");
  add_metric<MatthewsCorrCoef>(registry, "MatthewsCorrCoef", {"matthews_corrcoef", "mcc"}, input, kClasses,
                               "The correlation of predicted and true classes");
  add_metric<CohenKappa>(registry, "CohenKappa", {"cohen_kappa"}, input, kOneClass,
                         "The agreement beyond that of chance");
  add_metric<AUROC>(registry, "AUROC", {"auroc"}, input, kClasses,
                    "The area under the receiver operating characteristic");
  add_metric<AveragePrecision>(registry, "AveragePrecision", {"average_precision"}, input, kClasses,
                               "The area under the curve of precision and recall");
  add_metric<CalibrationError>(registry, "CalibrationError", {"calibration_error"}, input, kOneClass,
                               "The difference between confidence and accuracy");
  add_metric<ExactMatch>(registry, "ExactMatch", {"exact_match"}, input, kWholeSamples,
                         "The share of samples that are right as a whole");
}

void add_segments(MetricEntries& registry) {
  const MetricInput input = MetricInput::Segments;
  add_metric<MeanIoU>(registry, "MeanIoU", {"mean_iou", "iou"}, input, kSegments,
                      "Intersection over union of segmentations");
  add_metric<DiceScore>(registry, "DiceScore", {"dice_score", "dice"}, input, kSegments,
                        "The Dice score of segmentations");
  add_metric<GeneralizedDiceScore>(registry, "GeneralizedDiceScore", {"generalized_dice_score", "generalized_dice"},
                                   input, kSegments, "The same, where rare classes weigh more");
}

}  // namespace

void add_classification_metrics(MetricEntries& entries) {
  add_classes(entries);
  add_metric<Perplexity>(entries, "Perplexity", {"perplexity"}, MetricInput::Tokens, kTokens,
                         "The exponential of the mean cross-entropy of a token");
  add_segments(entries);
}

}  // namespace levin::metrics
