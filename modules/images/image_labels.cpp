#include <levin/modules/images/image_labels.h>
#include <levin/core/system/json_member.h>
#include <levin/modules/transformers/config_fields.h>

#include <set>

namespace levin::nn {
namespace {

using LabelJson = nlohmann::ordered_json;

constexpr int64_t kMostImageLabels = 1 << 20;

/// Reads an object of "0", "1", ... and names.
std::vector<std::string> numbered_names(const ConfigFields& fields, const LabelJson& object) {
  const auto fail = [&] {
    fields.fail("id2label", R"(expected an object of numbers from 0 and names, {"0": "cat", "1": "dog"})");
  };
  if (!object.is_object() || object.empty() || object.size() > static_cast<size_t>(kMostImageLabels)) fail();
  std::vector<std::string> names(object.size());
  std::set<size_t> seen;
  for (const auto& [key, name] : object.items()) {
    const bool is_number = !key.empty() && key.size() < 9 && key.find_first_not_of("0123456789") == std::string::npos;
    const size_t at = is_number ? static_cast<size_t>(std::stoull(key)) : names.size();
    if (at >= names.size() || !seen.insert(at).second || !name.is_string()) fail();
    names[at] = name.get<std::string>();
  }
  return names;
}

std::optional<ImageLabels> named(std::vector<std::string> names) {
  const bool are_named = names != unnamed_labels(static_cast<int64_t>(names.size())).names;
  return ImageLabels{.names = std::move(names), .are_named = are_named};
}

/// Changes a member of an object that is there.
void set_if_there(LabelJson& json, const char* object, const char* member, const LabelJson& value) {
  const auto found = json.find(object);
  if (found != json.end() && found->is_object()) (*found)[member] = value;
}

void write_timm_labels(LabelJson& json, const ImageLabels& labels) {
  json["num_classes"] = labels.names.size();
  set_if_there(json, "model_args", "num_classes", labels.names.size());
  set_if_there(json, "pretrained_cfg", "num_classes", labels.names.size());
  json.erase("label_descriptions");
  json.erase("label_names");
  if (labels.are_named) json["label_names"] = labels.names;
}

}  // namespace

ImageLabels unnamed_labels(int64_t count) {
  ImageLabels labels;
  for (int64_t i = 0; i < count; ++i) labels.names.push_back("LABEL_" + std::to_string(i));
  return labels;
}

std::optional<ImageLabels> read_image_labels(const nlohmann::ordered_json& json, const std::string& file,
                                             bool is_timm) {
  ConfigFields fields(json, file + ": ");
  const std::string count = is_timm ? "num_classes" : "num_labels";
  if (is_timm) {
    std::vector<std::string> names = fields.words("label_names");
    const std::optional<int64_t> classes = fields.optional_whole(count, {}, 0);
    if (!names.empty() && classes && static_cast<size_t>(*classes) != names.size())
      fields.fail("label_names", "has ", names.size(), " names, and num_classes is ", *classes);
    if (!names.empty()) return named(std::move(names));
  } else if (const LabelJson* const names = fields.find("id2label")) {
    return named(numbered_names(fields, *names));
  }
  if (fields.find(count) == nullptr) return {};
  const int64_t classes = fields.whole(count, {}, 0, kMostImageLabels);
  if (classes == 0) return {};
  return unnamed_labels(classes);
}

void write_image_labels(nlohmann::ordered_json& json, const ImageLabels& labels, bool is_timm) {
  if (is_timm) {
    write_timm_labels(json, labels);
    return;
  }
  LabelJson to_name = LabelJson::object(), to_number = LabelJson::object();
  for (size_t i = 0; i < labels.names.size(); ++i) {
    add_member(to_name, std::to_string(i), labels.names[i]);
    add_member(to_number, labels.names[i], i);
  }
  json.erase("num_labels");
  json["id2label"] = to_name;
  json["label2id"] = to_number;
}

}  // namespace levin::nn
