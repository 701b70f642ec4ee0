#include <levin/modules/metrics/engine/fill_options.h>
#include <levin/core/system/error.h>

namespace levin::metrics {

void fill(std::optional<Choice<TaskKind>>& option, TaskKind known, const std::string& module, const std::string& path) {
  if (option && *option != known)
    throw UsageError(path, ": is ", option->word(), ", and the predictions of ", module, " are ",
                     Choice<TaskKind>(known).word(), "; leave it unset");
  option = known;
}

void fill(std::optional<int64_t>& option, int64_t known, const std::string& module, const std::string& path) {
  if (option && *option != known)
    throw UsageError(path, ": is ", *option, ", and ", module, " has ", known, "; leave it unset");
  option = known;
}

TaskKind task_kind(const MetricTask& task) {
  if (task.learned == Learned::Binary) return TaskKind::Binary;
  return task.learned == Learned::Multilabel ? TaskKind::Multilabel : TaskKind::Multiclass;
}

}  // namespace levin::metrics
