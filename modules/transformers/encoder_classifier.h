#pragma once
#include <levin/modules/transformers/encoder_module.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin::nn {

/// The options of the classes that a module tells apart. As a member without LEVIN_OPTION they are flattened into the
/// module's own options.
struct LabelOptions {
  std::optional<int64_t> num_labels = LEVIN_OPTION(
      num_labels, {}, "Number of classes, or of numbers; unset: that of config.json", {.min = 1, .max = 1 << 20});
  std::vector<std::string> labels =
      LEVIN_OPTION(labels, {}, "Names of the classes, in their order; empty: those of config.json, or of the data");
};

/// The base of classifiers: a module whose outputs are classes with names, which it writes into config.json.
class EncoderClassifier : public EncoderModule {
 public:
  /// Returns the names of the classes.
  const std::vector<std::string>& labels() const { return labels_; }
  void name_classes(const std::vector<std::string>& names) override;
  /// Takes the names of the data's classes. Throws levin::UsageError if the data have another number of classes, or the
  /// names in another order.
  void on_fit_start(Run& run) override;

 protected:
  using EncoderModule::EncoderModule;
  /// Settles names and number of the classes. Throws levin::UsageError for options that contradict each other.
  void set_labels(const LabelOptions& options, const EncoderConfig& config);
  /// Returns whether the options ask for another number of classes than the folder has.
  bool has_other_labels(const EncoderConfig& config) const { return labels_.size() != config.labels.size(); }
  int64_t label_count() const { return static_cast<int64_t>(labels_.size()); }
  /// Returns config.json with the classes, for a class of transformers whose name ends so ("ForTokenClassification").
  std::string config_with_labels(const std::string& class_end, const std::string& problem_type) const;

 private:
  std::vector<std::string> labels_ = {};
  bool has_own_names_ = false;  ///< given by an option, the folder or the data
};

}  // namespace levin::nn
