#include <levin/modules/metrics/f_beta_score.h>
#include <ATen/TensorOperators.h>

namespace levin::metrics {
namespace {

StatScoresOptions checked_scores(const FBetaScoreOptions& options) {
  schema_of<FBetaScoreOptions>().check(&options, "FBetaScore");
  return {.task = options.task,
          .threshold = options.threshold,
          .num_classes = options.num_classes,
          .num_labels = options.num_labels,
          .average = options.average,
          .top_k = options.top_k,
          .ignore_index = options.ignore_index,
          .zero_division = options.zero_division};
}

}  // namespace

FBetaScore::FBetaScore(const Options& options)
    : Cloneable("FBetaScore", checked_scores(options)), beta_squared_(options.beta * options.beta) {}

at::Tensor FBetaScore::score(const StatCounts& counts) const {
  const at::Tensor found = (1 + beta_squared_) * counts.tp;
  return divide(found, found + beta_squared_ * counts.fn + counts.fp);
}

}  // namespace levin::metrics
