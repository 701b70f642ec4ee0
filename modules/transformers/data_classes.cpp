#include <levin/modules/transformers/data_classes.h>
#include <levin/core/state/state.h>
#include <levin/core/system/error.h>
#include <levin/data/data_module.h>
#include <levin/modules/transformers/load_tensors.h>

namespace levin::nn {

std::vector<std::string> classes_of_data(data::DataModule* data) {
  std::vector<std::string> names;
  if (data == nullptr) return names;
  const State learned = data->learned_state();
  const State* const found = learned.is_dict() ? learned.find("class_names") : nullptr;
  if (found != nullptr && found->is_list())
    for (const State& name : found->items()) names.push_back(name.to_string());
  return names;
}

void check_classes_of_data(const std::vector<std::string>& classes, const std::vector<std::string>& labels,
                           bool named) {
  if (classes.size() != labels.size())
    throw UsageError("model.num_labels: the model has ", labels.size(), " classes, and the data have ", classes.size(),
                     ": ", first_names(classes), "; set model.num_labels to ", classes.size());
  if (named && classes != labels)
    throw UsageError("model.labels: the model has the classes ", first_names(labels), ", and the data ",
                     first_names(classes), "; set model.labels to the data's, in their order");
}

}  // namespace levin::nn
