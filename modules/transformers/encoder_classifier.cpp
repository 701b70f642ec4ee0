#include <levin/modules/transformers/encoder_classifier.h>
#include <levin/core/run/run.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_member.h>
#include <levin/modules/transformers/data_classes.h>

#include <nlohmann/json.hpp>
#include <set>

namespace levin::nn {
void EncoderClassifier::set_labels(const LabelOptions& options, const EncoderConfig& config) {
  const std::set<std::string> different(options.labels.begin(), options.labels.end());
  if (different.size() != options.labels.size()) throw UsageError("model.labels: names a class twice");
  const auto named = static_cast<int64_t>(options.labels.size());
  if (options.num_labels && named > 0 && *options.num_labels != named)
    throw UsageError("model.num_labels: is ", *options.num_labels, ", and model.labels has ", named,
                     " names; set one of the two");
  labels_ = config.labels;
  has_own_names_ = config.has_own_labels;
  if (named > 0) {
    labels_ = options.labels;
    has_own_names_ = true;
  } else if (options.num_labels && *options.num_labels != label_count()) {
    labels_ = made_up_labels(*options.num_labels);
    has_own_names_ = false;
  }
}

void EncoderClassifier::name_classes(const std::vector<std::string>& names) {
  if (has_own_names_ || names.size() != labels_.size()) return;
  labels_ = names;
  has_own_names_ = true;
}

void EncoderClassifier::on_fit_start(Run& run) {
  const std::vector<std::string> names = classes_of_data(run.data_module());
  if (names.empty()) return;
  check_classes_of_data(names, labels_, has_own_names_);
  name_classes(names);
}

std::string EncoderClassifier::config_with_labels(const std::string& class_end, const std::string& problem_type) const {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(read_config_text());
  json["architectures"] = {config().class_name + class_end};
  json.erase("num_labels");
  json.erase("_num_labels");
  if (!problem_type.empty()) json["problem_type"] = problem_type;
  // transformers makes up the names of two classes.
  if (!has_own_names_ && labels_.size() == 2 && !json.contains("id2label")) return json.dump();
  nlohmann::ordered_json to_name = nlohmann::ordered_json::object(), to_number = nlohmann::ordered_json::object();
  std::set<std::string> known;
  for (size_t i = 0; i < labels_.size(); ++i) {
    add_member(to_name, std::to_string(i), labels_[i]);
    if (known.insert(labels_[i]).second) add_member(to_number, labels_[i], i);
  }
  json["id2label"] = to_name;
  json["label2id"] = to_number;
  return json.dump();
}

}  // namespace levin::nn
