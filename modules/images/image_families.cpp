#include <levin/modules/images/image_families.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/modules/transformers/common_fields.h>

#include <algorithm>

namespace levin::nn {

std::span<const ImageFamily> image_families() {
  static constexpr ImageFamily all[] = {{"convnext", read_convnext},
                                        {"convnextv2", read_convnextv2},
                                        {"deit", read_deit},
                                        {"mobilenet_v1", read_mobilenet_v1},
                                        {"mobilenet_v2", read_mobilenet_v2},
                                        {"resnet", read_resnet},
                                        {"vit", read_vit}};
  return all;
}

ImageNetwork transformers_image_network(const nlohmann::ordered_json& json, const std::string& file,
                                        const std::vector<std::string>& ignored_fields) {
  ConfigFields fields(json, file + ": ");
  const std::string type = fields.word("model_type");
  std::vector<std::string> known;
  for (const ImageFamily& family : image_families()) known.emplace_back(family.name);
  const auto place = std::ranges::find(known, type);
  if (place == known.end()) {
    const std::string names = joined(known);
    fields.fail("model_type", "levin classifies images by no ", type, did_you_mean(type, known), "; it knows ", names);
  }
  read_common_fields(fields);
  ImageNetwork network = image_families()[static_cast<size_t>(place - known.begin())].read(fields);
  network.family = type;
  const std::string kind = fields.word("problem_type", "single_label_classification");
  if (kind != "single_label_classification")
    fields.fail("problem_type", "is ", kind, ", which levin does not train with images; it trains ",
                "single_label_classification");
  fields.skip(
      "num_labels id2label label2id out_features out_indices _out_features _out_indices stage_names is_decoder "
      "tie_word_embeddings");
  fields.check_all_read(ignored_fields);
  return network;
}

std::array<int64_t, 2> read_two_sizes(ConfigFields& fields, const std::string& name, int64_t otherwise) {
  const ConfigFields::Json* const value = fields.find(name);
  if (value == nullptr || !value->is_array()) {
    const int64_t both = fields.whole(name, otherwise);
    return {both, both};
  }
  const std::vector<int64_t> sizes = read_sizes(fields, name, {});
  if (sizes.size() != 2) fields.fail(name, "expected a number or two, got ", sizes.size());
  return {sizes[0], sizes[1]};
}

std::vector<int64_t> read_sizes(ConfigFields& fields, const std::string& name, const std::vector<int64_t>& otherwise,
                                int64_t most) {
  if (fields.find(name) == nullptr) return otherwise;
  std::vector<int64_t> sizes;
  for (const double number : fields.numbers(name)) {
    if (!(number >= 1 && number <= static_cast<double>(most)) ||
        number != static_cast<double>(static_cast<int64_t>(number)))
      fields.fail(name, "expected whole numbers from 1 to ", most, ", got ", number);
    sizes.push_back(static_cast<int64_t>(number));
  }
  if (sizes.empty()) fields.fail(name, "has no numbers");
  return sizes;
}

double read_rate(ConfigFields& fields, const std::string& name, double otherwise) {
  const double rate = fields.number(name, otherwise);
  if (rate >= 1) fields.fail(name, "is ", rate, "; a rate is below 1");
  return rate;
}

void check_vision_sizes(const ConfigFields& fields, int64_t hidden, int64_t heads, std::array<int64_t, 2> image,
                        std::array<int64_t, 2> patch) {
  if (hidden % heads != 0)
    fields.fail("num_attention_heads", heads, " heads do not divide ", hidden, " numbers of a token");
  for (size_t i = 0; i < 2; ++i)
    if (image[i] % patch[i] != 0)
      fields.fail("patch_size", "patches of ", patch[i], " pixels do not divide an image of ", image[i]);
}

}  // namespace levin::nn
