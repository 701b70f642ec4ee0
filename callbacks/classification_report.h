#pragma once
#include <ATen/core/Tensor.h>
#include <levin/callbacks/callback.h>
#include <levin/core/options/option.h>
#include <levin/modules/metrics/precision_recall_curve.h>
#include <levin/modules/metrics/roc.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace levin {

struct ClassificationReportOptions {
  int64_t num_samples =
      LEVIN_OPTION(num_samples, 16, "Samples that are shown, and as many mistakes", {.min = 0, .max = 256});
  int64_t every_n_epochs = LEVIN_OPTION(every_n_epochs, 1, "Write every n epochs of a fit", {.min = 1});
  std::vector<std::string> class_names = LEVIN_OPTION(class_names, {}, "What the numbers in `target` mean");
  int64_t curve_points =
      LEVIN_OPTION(curve_points, 101, "Thresholds of the curves of ROC and of precision and recall; below 2: no curves",
                   {.min = 0, .max = 1001});
  std::string name = LEVIN_OPTION(name, "input", "Which tensor of predict_step holds the scores");
  std::string output_dir =
      LEVIN_OPTION(output_dir, "", "Folder of the files; empty: classification in the run's folder, which a fit has");
};

/// Writes what a classifier gets right and wrong: `classification/validate.json` in the run's folder, or `test.json`,
/// and pictures of samples and mistakes beside it. `levin report` shows them. Trainer::validate and test have no folder
/// of a run: there the files are written if `output_dir` is set.
///
/// In each validation or test the callback runs predict_step, which returns scores as `name`: [samples, classes], of
/// which the greatest counts, or [samples] probabilities of two classes. The batch's `target` is int64 [samples]; a
/// negative target does not count. Random numbers that predict_step draws do not count for the training.
///
/// The file has `matrix`, how often each class (row) was taken for each class (column), summed over ranks and loaders;
/// `samples`, the first ones, and `mistakes`, those with the highest score, of rank 0: `index` in the epoch, `target`,
/// `predicted` and `score`. Pictures are drawn if the batch's `input` is images. Of at most 30 classes the file also
/// has the curves `roc` and `precision_recall`, each of all classes as lists `x` and `y` (metrics::ROC,
/// metrics::PrecisionRecallCurve, with recall as x); of two classes that of class 1.
class ClassificationReport : public Callback {
 public:
  using Options = ClassificationReportOptions;

  ClassificationReport() = default;
  /// Throws UsageError for bad options.
  explicit ClassificationReport(ClassificationReportOptions options);

  void on_validation_epoch_start(Run& run) override;
  /// Throws UsageError if the prediction or the target is not as described.
  void on_validation_batch_end(Run& run) override;
  void on_validation_epoch_end(Run& run) override;
  void on_test_epoch_start(Run& run) override;
  void on_test_batch_end(Run& run) override;
  void on_test_epoch_end(Run& run) override;

 private:
  struct Sample {
    int64_t index = 0, target = 0, predicted = 0;
    double score = 0;
    at::Tensor image = {};  ///< undefined if it cannot be drawn
  };
  std::filesystem::path folder(const Run& run) const;
  bool is_due(const Run& run) const;
  void begin();
  void add(Run& run);
  void make_curves(int64_t classes);
  void add_samples(Run& run, const at::Tensor& target, const at::Tensor& predicted, const at::Tensor& score);
  void write(Run& run, const std::string& stage);
  std::string class_name(int64_t number) const;
  void draw(const std::string& file, const std::vector<Sample>& samples) const;

  ClassificationReportOptions options_ = {};
  at::Tensor matrix_ = {};  ///< int64 [classes, classes] on the CPU, of this rank; undefined before the first batch
  std::optional<metrics::ROC> roc_ = {};
  std::optional<metrics::PrecisionRecallCurve> precision_recall_ = {};
  int64_t seen_ = 0;
  std::vector<Sample> samples_ = {}, mistakes_ = {};
};

}  // namespace levin
