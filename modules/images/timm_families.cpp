/// Reads config.json of timm.
#include <levin/modules/images/timm_families.h>
#include <levin/core/system/error.h>
#include <levin/modules/images/image_families.h>

namespace levin::nn {
namespace {

constexpr const char* kTimmFamilies =
    "resnet18, 26, 34, 50, 101, 152 and 200, vit_SIZE_patchP_PIXELS and deit_SIZE_patchP_PIXELS, convnext_SIZE, "
    "convnextv2_SIZE, mobilenetv3_small_WIDTH and mobilenetv3_large_WIDTH";

/// Returns `input_size` of pretrained_cfg; older files have its fields beside it.
std::optional<std::array<int64_t, 2>> image_of(ConfigFields& fields, const nlohmann::ordered_json& json,
                                               const std::string& file) {
  const ConfigFields::Json* const config = fields.find("pretrained_cfg");
  const bool is_nested = config != nullptr && config->is_object();
  ConfigFields own(is_nested ? *config : json, file + (is_nested ? ": pretrained_cfg." : ": "));
  const std::vector<int64_t> sizes = read_sizes(own, "input_size", {});
  if (sizes.empty()) return {};
  if (sizes.size() != 3) own.fail("input_size", "expected channels, height and width, got ", sizes.size());
  return std::array<int64_t, 2>{sizes[1], sizes[2]};
}

}  // namespace

void require_mean_pool(const TimmFields& fields) {
  if (fields.pool.empty() || fields.pool == "avg") return;
  fields.args.fail("global_pool", "is ", fields.pool, ", which levin does not compute for ", fields.architecture,
                   "; it computes avg");
}

ImageNetwork timm_image_network(const nlohmann::ordered_json& json, const std::string& file,
                                const std::vector<std::string>& ignored_fields) {
  ConfigFields fields(json, file + ": ");
  const ConfigFields::Json* const given = fields.find("model_args");
  const ConfigFields::Json none = ConfigFields::Json::object();
  ConfigFields args(given != nullptr ? *given : none, file + ": model_args.");
  args.skip("num_classes pretrained");
  TimmFields all = {.architecture = fields.word("architecture"), .args = args, .image = image_of(fields, json, file)};
  all.pool = args.word("global_pool", fields.word("global_pool", ""));
  for (const auto read : {read_timm_vit, read_timm_resnet, read_timm_convnext, read_timm_mobilenetv3}) {
    std::optional<ImageNetwork> network = read(all);
    if (!network) continue;
    network->family = all.architecture;
    network->channels = args.whole("in_chans", 3);
    network->head_dropout = read_rate(args, "drop_rate", 0);
    args.check_all_read(ignored_fields, "model_args.");
    return *network;
  }
  fields.fail("architecture", "levin does not know ", all.architecture, "; it knows ", kTimmFamilies);
}

}  // namespace levin::nn
