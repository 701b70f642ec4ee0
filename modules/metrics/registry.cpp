#include <levin/modules/metrics/registry.h>
#include <levin/core/system/error.h>
#include <levin/modules/metrics/accuracy.h>
#include <levin/modules/metrics/auroc.h>
#include <levin/modules/metrics/average_precision.h>
#include <levin/modules/metrics/boot_strapper.h>
#include <levin/modules/metrics/calibration_error.h>
#include <levin/modules/metrics/cohen_kappa.h>
#include <levin/modules/metrics/corr_coef.h>
#include <levin/modules/metrics/cosine_similarity.h>
#include <levin/modules/metrics/dice_score.h>
#include <levin/modules/metrics/engine/element_of.h>
#include <levin/modules/metrics/engine/epoch_extreme.h>
#include <levin/modules/metrics/engine/fill_options.h>
#include <levin/modules/metrics/exact_match.h>
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
#include <levin/modules/metrics/running.h>
#include <levin/modules/metrics/specificity.h>
#include <levin/modules/metrics/structural_similarity.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin::metrics {
namespace {

using Entries = Registry<MetricKind::Entry>;
using Names = std::vector<std::string>;

/// A kind of predictions, as an error names it.
const char* text_of(Learned learned) {
  switch (learned) {
    case Learned::Binary:
      return "one of two classes (binary)";
    case Learned::Multiclass:
      return "classes (multiclass)";
    case Learned::Multilabel:
      return "labels (multilabel)";
    case Learned::Segmentation:
      return "the class of each place";
    case Learned::Tokens:
      return "tokens of a vocabulary";
    case Learned::Numbers:
      return "numbers";
  }
  return "";
}

using Measured = std::initializer_list<Learned>;

constexpr Measured kOneClass = {Learned::Binary, Learned::Multiclass, Learned::Segmentation};
constexpr Measured kClasses = {Learned::Binary, Learned::Multiclass, Learned::Multilabel, Learned::Segmentation};
constexpr Measured kClassesOrTokens = {Learned::Binary, Learned::Multiclass, Learned::Multilabel, Learned::Segmentation,
                                       Learned::Tokens};
constexpr Measured kWholeSamples = {Learned::Multiclass, Learned::Segmentation, Learned::Tokens};
constexpr Measured kSegments = {Learned::Segmentation};
constexpr Measured kTokens = {Learned::Tokens};
constexpr Measured kNumbers = {Learned::Numbers};

/// Calls `make`, whose errors then start with `path`.
template <class Make>
auto with_path(const std::string& path, const Make& make) {
  try {
    return make();
  } catch (const UsageError& error) {
    const std::string text = error.what();
    if (text.starts_with(path)) throw;
    throw UsageError(path, ": ", text);
  }
}

LogChoices named(LogChoices log, const std::string& name) {
  if (log.name.empty()) log.name = name;
  return log;
}

void check_single(const Metric& metric, const std::string& path) {
  const at::Tensor value = metric.compute();
  if (value.numel() != 1)
    throw UsageError(path, ": its value has the shape ", value.sizes(),
                     ", and one number is logged; choose options that give one, such as an average or a reduction");
}

template <class M>
void add_metric(Entries& registry, const std::string& class_name, Names names, MetricInput input, Measured measured,
                const std::string& help) {
  using Options = OptionsOf<M>;
  MetricKind::Entry entry;
  entry.name = names.front();
  entry.aliases = std::move(names);
  entry.log = [name = entry.name](const void* chosen) {
    return named(static_cast<const ChosenOptions<Options>*>(chosen)->log, name);
  };
  entry.make = [=](const void* chosen, const MetricTask& task, const std::string& path) {
    if (std::ranges::find(measured, task.learned) == measured.end())
      throw UsageError(path, ": ", class_name, " measures ", text_of(*measured.begin()), ", and ", task.module,
                       " predicts ", text_of(task.learned));
    return with_path(path, [&] {
      Options options = static_cast<const ChosenOptions<Options>*>(chosen)->options;
      fill_options(options, task, path);
      const auto metric = std::make_shared<M>(options);
      check_single(*metric, path);
      return MadeMetric{.input = input, .values = {{.metric = metric}}};
    });
  };
  registry.add<ChosenOptions<Options>>(class_name, help, std::move(entry));
}

/// The options of a wrapper in a config: its own, and the metric that it wraps.
template <class Options>
struct WrapperOptions {
  Options options = {};
  ClassChoice<MetricKind> metric = LEVIN_OPTION(metric, {}, "The metric that is wrapped; required");
};

/// `wrap` makes the logged values of the wrapped metric, whose name in the logs begins with `prefix`.
template <class Options, class Wrap>
void add_wrapper(Entries& registry, const std::string& class_name, Names names, const std::string& prefix,
                 const std::string& help, Wrap wrap) {
  using Chosen = ChosenOptions<WrapperOptions<Options>>;
  MetricKind::Entry entry;
  entry.name = names.front();
  entry.aliases = std::move(names);
  entry.log = [prefix](const void* chosen) {
    const auto& options = *static_cast<const Chosen*>(chosen);
    const ClassChoice<MetricKind>& inner = options.options.metric;
    return named(options.log, inner ? prefix + log_choices(inner).name : prefix);
  };
  entry.make = [class_name, wrap](const void* chosen, const MetricTask& task, const std::string& path) {
    const auto& options = static_cast<const Chosen*>(chosen)->options;
    if (!options.metric) throw UsageError(path, ".metric: missing; name the metric that ", class_name, " wraps");
    if (log_choices(options.metric).train)
      throw UsageError(path, ".metric.train: has no effect there; set it beside ", class_name);
    const MadeMetric inner = make_metric(options.metric, task, path + ".metric");
    if (inner.values.size() != 1)
      throw UsageError(path, ".metric: gives several values, and ", class_name, " wraps a metric with one");
    return with_path(path, [&] {
      return MadeMetric{.input = inner.input, .values = wrap(inner.values.front().metric, options.options)};
    });
  };
  registry.add<Chosen>(class_name, help, std::move(entry));
}

template <class M>
std::vector<LoggedValue> elements_of(const M& wrapper) {
  std::vector<LoggedValue> values;
  for (const std::string& name : wrapper.value_names())
    values.push_back({.suffix = "_" + name,
                      .metric = std::make_shared<ElementOf>(wrapper.clone(), static_cast<int64_t>(values.size()))});
  return values;
}

void add_classification(Entries& registry) {
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

void add_segmentation(Entries& registry) {
  const MetricInput input = MetricInput::Segments;
  add_metric<MeanIoU>(registry, "MeanIoU", {"mean_iou", "iou"}, input, kSegments,
                      "Intersection over union of segmentations");
  add_metric<DiceScore>(registry, "DiceScore", {"dice_score", "dice"}, input, kSegments,
                        "The Dice score of segmentations");
  add_metric<GeneralizedDiceScore>(registry, "GeneralizedDiceScore", {"generalized_dice_score", "generalized_dice"},
                                   input, kSegments, "The same, where rare classes weigh more");
}

void add_regression(Entries& registry) {
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

void add_wrappers(Entries& registry) {
  add_wrapper<RunningOptions>(registry, "Running", {"running"}, "running_", "A metric over the latest batches alone",
                              [](const std::shared_ptr<Metric>& metric, const RunningOptions& options) {
                                return std::vector<LoggedValue>{{.metric = std::make_shared<Running>(metric, options)}};
                              });
  add_wrapper<NoOptions>(registry, "MinMaxMetric", {"min_max_metric", "min_max"}, "",
                         "A metric, and its largest and smallest value of all epochs",
                         [](const std::shared_ptr<Metric>& metric, const NoOptions& /*options*/) {
                           const auto extreme = [&](bool is_max) {
                             return LoggedValue{.suffix = is_max ? "_max" : "_min",
                                                .metric = std::make_shared<EpochExtreme>(metric, is_max),
                                                .is_of_run = true};
                           };
                           return std::vector<LoggedValue>{{.metric = metric}, extreme(true), extreme(false)};
                         });
  add_wrapper<BootStrapperOptions>(
      registry, "BootStrapper", {"boot_strapper", "bootstrapper"}, "",
      "How far the value of a metric is certain: its mean and deviation over drawn samples",
      [](const std::shared_ptr<Metric>& metric, const BootStrapperOptions& options) {
        return elements_of(BootStrapper(metric, options));
      });
}

/// A name without its underscores, in lower case, by which names are compared.
std::string plain_name(const std::string& name) {
  std::string plain;
  for (const char c : name)
    if (c != '_') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return plain;
}

/// Reads a metric by any of its names, and keeps the name of its class.
class MetricType : public PartType {
 public:
  MetricType() : PartType([]() -> const ClassList& { return MetricKind::registry(); }) {}

  void set(void* value, const std::string& path, const Json& json, const Limits& limits) const override {
    Json known = json;
    if (known.is_string()) known = metric_class(known.get<std::string>());
    if (known.is_object() && known.contains("class") && known["class"].is_string())
      known["class"] = metric_class(known["class"].get<std::string>());
    PartType::set(value, path, known, limits);
  }
  const Schema* inner(const std::string& class_name) const override {
    return PartType::inner(metric_class(class_name));
  }
  Json json_schema() const override {
    Json names = Json::array();
    const Registry<MetricKind::Entry>& registry = MetricKind::registry();
    for (const std::string& name : registry.names())
      for (const std::string& alias : registry.entry(name, "").aliases) names.push_back(alias);
    const Json with_options = {
        {"type", "object"}, {"properties", {{"class", {{"enum", names}}}}}, {"required", Json::array({"class"})}};
    return {{"anyOf", Json::array({{{"enum", names}}, with_options})}};
  }
};

}  // namespace

Registry<MetricKind::Entry>& MetricKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("metric", "metrics");
    add_classification(made);
    add_metric<Perplexity>(made, "Perplexity", {"perplexity"}, MetricInput::Tokens, kTokens,
                           "The exponential of the mean cross-entropy of a token");
    add_segmentation(made);
    add_regression(made);
    add_wrappers(made);
    return made;
  }();
  return registry;
}

MadeMetric make_metric(const ClassChoice<MetricKind>& choice, const MetricTask& task, const std::string& path) {
  const Registry<MetricKind::Entry>& registry = MetricKind::registry();
  const auto& entry = registry.entry(choice.class_name(), path);
  return entry.make(choice.options(registry, path).get(), task, path);
}

LogChoices log_choices(const ClassChoice<MetricKind>& choice) {
  const Registry<MetricKind::Entry>& registry = MetricKind::registry();
  return registry.entry(choice.class_name(), "metrics").log(choice.options(registry, "metrics").get());
}

std::string metric_class(const std::string& name) {
  const Registry<MetricKind::Entry>& registry = MetricKind::registry();
  if (registry.find(name) != nullptr) return name;
  const std::string wanted = plain_name(name);
  for (const std::string& known : registry.names()) {
    if (plain_name(known) == wanted) return known;
    for (const std::string& alias : registry.entry(known, "").aliases)
      if (plain_name(alias) == wanted) return known;
  }
  return name;
}

}  // namespace levin::metrics

namespace levin {

const OptionType& OptionTraits<ClassChoice<metrics::MetricKind>>::type() {
  static const metrics::MetricType type;
  return type;
}

}  // namespace levin
