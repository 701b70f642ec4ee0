#include <levin/modules/metrics/engine/metric_entry.h>

namespace levin::metrics {

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

}  // namespace levin::metrics
