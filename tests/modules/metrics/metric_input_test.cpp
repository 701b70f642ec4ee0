// The inputs and options that metrics refuse, and the dtypes that they accept.
#include <ATen/ATen.h>
#include <levin/modules/metrics/accuracy.h>
#include <levin/modules/metrics/auroc.h>
#include <levin/modules/metrics/average_precision.h>
#include <levin/modules/metrics/calibration_error.h>
#include <levin/modules/metrics/confusion_matrix.h>
#include <levin/modules/metrics/cosine_similarity.h>
#include <levin/modules/metrics/jaccard_index.h>
#include <levin/modules/metrics/mean_error.h>
#include <levin/modules/metrics/mean_iou.h>
#include <levin/modules/metrics/perplexity.h>
#include <levin/modules/metrics/precision_recall.h>
#include <levin/modules/metrics/r2_score.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/metrics/metric_cases.h"

using levin::UsageError;
using metric_cases::difference;

namespace {
namespace m = levin::metrics;
}

TEST_CASE("inputs that do not fit are refused by shape and dtype, and count nothing") {
  const auto says = [](m::Metric& metric, const at::Tensor& preds, const at::Tensor& target, const std::string& part) {
    const at::Tensor before = metric.compute();
    const std::string text = error_text<UsageError>([&] { metric.update(preds, target); });
    INFO(text);
    CHECK(contains(text, part));
    CHECK(contains(error_text<UsageError>([&] { metric.forward(preds, target); }), part));
    CHECK(difference(metric.compute(), before) == 0);
  };
  const at::Tensor scores = at::rand({4, 3}), classes = at::randint(3, {4});
  m::Accuracy multiclass({.task = "multiclass", .num_classes = 3}), binary({.task = "binary"});
  m::F1Score multilabel({.task = "multilabel", .num_labels = 4});
  m::AUROC auroc({.task = "multiclass", .num_classes = 3});
  says(multiclass, at::Tensor(), classes, "undefined tensor");
  says(multiclass, scores, scores, "Accuracy: expected an integer target");
  says(multiclass, at::rand({4, 2}), classes, "Accuracy: expected preds [batch, 3, ...] and target [batch, ...]");
  says(multiclass, at::rand({4}), classes, "integer classes shaped as target, got preds [4]");
  says(binary, at::rand({5}), classes, "preds and target of one shape");
  says(multilabel, scores, at::ones({4, 3}, at::kLong), "F1Score: expected preds and target [batch, 4, ...]");
  says(auroc, classes, classes, "AUROC: expected preds of a floating dtype");
  m::MeanSquaredError error;
  m::R2Score r2({.num_outputs = 2});
  m::CosineSimilarity cosine;
  m::Perplexity perplexity;
  m::MeanIoU iou({.num_classes = 3});
  says(error, at::rand({4, 1}), at::rand({4}), "MeanSquaredError: expected preds and target of one shape");
  says(r2, scores, scores, "R2Score: expected [batch, 2] as num_outputs says");
  says(cosine, at::rand({3}), at::rand({3}), "CosineSimilarity: expected preds and target [batch, features]");
  says(perplexity, scores, classes, "Perplexity: expected floating preds [batch, length, vocabulary]");
  says(iou, at::rand({2, 3, 4}), at::ones({2, 3, 4}), "MeanIoU: expected integers or bool");
  says(iou, at::ones({2, 4, 4}, at::kLong), at::ones({2, 4, 4}, at::kLong), "one-hot [batch, 3, ...]");
  CHECK_THROWS(multiclass.update(at::tensor({0, 1}), at::tensor({0, 1, 2})));
  m::ConfusionMatrix matrix({.task = "multiclass", .num_classes = 3});
  CHECK_THROWS(matrix.update(at::tensor({3, 1}), at::tensor({0, 1})));  // would count as (1, 0)
  CHECK_THROWS(matrix.update(at::tensor({0, 1}), at::tensor({3, 1})));
  CHECK(matrix.compute().sum().item<int64_t>() == 0);
}

TEST_CASE("bad options are usage errors that name them") {
  const auto says = [](auto make_it, const std::string& part) {
    const std::string text = error_text<UsageError>(make_it);
    INFO(text);
    CHECK(contains(text, part));
  };
  says([] { m::Accuracy({}); }, "Accuracy.task: missing");
  says([] { m::Accuracy({.task = "multiclas"}); }, "did you mean multiclass?");
  says([] { m::Recall({.task = "multiclass"}); }, "Recall.num_classes: missing; task multiclass needs it");
  says([] { m::AUROC({.task = "multilabel"}); }, "AUROC.num_labels: missing");
  says([] { m::Precision({.task = "binary", .average = "mean"}); }, "Precision.average");
  says([] { m::Accuracy({.task = "binary", .top_k = 2}); }, "Accuracy.top_k");
  says([] { m::Accuracy({.task = "multiclass", .num_classes = 3, .top_k = 4}); }, "at most num_classes");
  says([] { m::AUROC({.task = "multiclass", .num_classes = 3, .average = "micro"}); }, "micro is for multilabel");
  says([] { m::AveragePrecision({.task = "binary", .thresholds = 1}); }, "AveragePrecision.thresholds");
  says([] { m::CalibrationError({.task = "multilabel"}); }, "CalibrationError.task");
  says([] { m::ConfusionMatrix({.task = "binary", .normalize = "rows"}); }, "ConfusionMatrix.normalize");
  says([] { m::JaccardIndex({.task = "binary", .threshold = 2}); }, "JaccardIndex.threshold");
  says([] { m::MeanIoU({}); }, "MeanIoU.num_classes: missing");
  says([] { m::MeanIoU({.num_classes = 1, .include_background = false}); }, "at least 2");
  says([] { m::MeanSquaredError({.num_outputs = 0}); }, "MeanSquaredError.num_outputs");
  says([] { m::R2Score({.multioutput = "mean"}); }, "R2Score.multioutput");
  says([] { m::CosineSimilarity({.reduction = "max"}); }, "CosineSimilarity.reduction");
}

TEST_CASE("short floats and small integers are counted as wide ones") {
  const at::Tensor preds = at::tensor({0.25, 0.75, 0.5, 1.0}), target = at::tensor({0, 1, 1, 0});
  for (const auto dtype : {at::kHalf, at::kBFloat16, at::kDouble}) {
    m::AUROC auroc({.task = "binary"});
    m::Accuracy accuracy({.task = "binary", .ignore_index = -100});
    m::MeanSquaredError error;
    auroc.update(preds.to(dtype), target.to(at::kByte));
    accuracy.update(preds.to(dtype), target.to(at::kByte));
    error.update(preds.to(dtype), target);
    CHECK(auroc.compute().item<double>() == 0.5);
    CHECK(accuracy.compute().item<double>() == 0.5);
    CHECK(error.compute().item<double>() == (0.0625 + 0.0625 + 0.25 + 1) / 4);
  }
}
