#pragma once
#include <levin/core/options/option.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace levin::nn {

/// The classes of an image classifier, by their numbers.
struct ImageLabels {
  std::vector<std::string> names = {};
  bool are_named = false;  ///< by the folder, an option or the data; else they are LABEL_0, LABEL_1, ...
};

/// Returns LABEL_0, LABEL_1, ...
ImageLabels unnamed_labels(int64_t count);

/// Reads the classes of a config.json of transformers or timm; nothing if it says neither names nor a number. `file`:
/// its path, for errors. Throws levin::UsageError for fields of another form.
std::optional<ImageLabels> read_image_labels(const nlohmann::ordered_json& json, const std::string& file, bool is_timm);

/// Writes the classes into a config.json, as transformers or timm does.
void write_image_labels(nlohmann::ordered_json& json, const ImageLabels& labels, bool is_timm);

}  // namespace levin::nn
