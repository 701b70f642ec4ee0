/// Vision transformers of timm.
#include <levin/modules/images/image_families.h>
#include <levin/modules/images/timm_families.h>
#include <levin/modules/images/vision_transformer.h>

#include <array>
#include <charconv>
#include <string_view>

namespace levin::nn {
namespace {

struct VisionSize {
  std::string_view name;
  int64_t hidden, layers, heads;
};

constexpr std::array<VisionSize, 5> kVisionSizes = {{{"tiny", 192, 12, 3},
                                                     {"small", 384, 12, 6},
                                                     {"base", 768, 12, 12},
                                                     {"large", 1024, 24, 16},
                                                     {"huge", 1280, 32, 16}}};

/// Takes `text` from the beginning of `rest`.
bool take_text(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

std::optional<int64_t> take_number(std::string_view& rest) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc() || number < 1 || number > 10'000) return {};
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  return number;
}

/// Reads vit_SIZE_patchP_PIXELS.
std::optional<VisionTransformerConfig> config_of_name(std::string_view name) {
  if (!take_text(name, "vit_") && !take_text(name, "deit_")) return {};
  for (const VisionSize& size : kVisionSizes) {
    std::string_view rest = name;
    if (!take_text(rest, size.name) || !take_text(rest, "_patch")) continue;
    const std::optional<int64_t> patch = take_number(rest);
    if (!patch || !take_text(rest, "_")) return {};
    const std::optional<int64_t> pixels = take_number(rest);
    if (!pixels || !rest.empty()) return {};
    return VisionTransformerConfig{.image = {*pixels, *pixels},
                                   .patch = {*patch, *patch},
                                   .hidden = size.hidden,
                                   .layers = size.layers,
                                   .heads = size.heads};
  }
  return {};
}

TokenPool read_pool(const TimmFields& fields) {
  if (fields.pool.empty() || fields.pool == "token") return TokenPool::First;
  if (fields.pool == "avg") return TokenPool::Mean;
  fields.args.fail("global_pool", "is ", fields.pool, ", which levin does not compute; it computes token and avg");
}

}  // namespace

std::optional<ImageNetwork> read_timm_vit(TimmFields& fields) {
  std::optional<VisionTransformerConfig> config = config_of_name(fields.architecture);
  if (!config) return {};
  ConfigFields& args = fields.args;
  if (fields.image) config->image = *fields.image;
  if (args.find("img_size") != nullptr) config->image = read_two_sizes(args, "img_size", 224);
  config->patch = read_two_sizes(args, "patch_size", config->patch[0]);
  config->channels = args.whole("in_chans", 3);
  config->hidden = args.whole("embed_dim", config->hidden);
  config->layers = args.whole("depth", config->layers, 1, 10'000);
  config->heads = args.whole("num_heads", config->heads);
  const double wide = static_cast<double>(config->hidden) * args.number("mlp_ratio", 4);
  if (!(wide >= 1 && wide < static_cast<double>(ConfigFields::kMostWhole))) args.fail("mlp_ratio", "is out of range");
  config->intermediate = static_cast<int64_t>(wide);
  config->query_key_value_bias = args.flag("qkv_bias", true);
  config->pool = read_pool(fields);
  config->drop_path = read_rate(args, "drop_path_rate", 0);
  config->attention_dropout = read_rate(args, "attn_drop_rate", 0);
  for (const char* const rate : {"proj_drop_rate", "pos_drop_rate", "patch_drop_rate", "reg_tokens"})
    args.require(rate, 0);
  args.require("class_token", true);
  args.require("pre_norm", false);
  args.require("qk_norm", false);
  args.skip("weight_init fix_init dynamic_img_size");
  const bool has_scales = args.find("init_values") != nullptr;
  config->names = {.class_token = "cls_token",
                   .positions = "pos_embed",
                   .patches = "patch_embed.proj",
                   .blocks = "blocks",
                   .norm = config->pool == TokenPool::First ? "norm" : "fc_norm",
                   .norm_before = "norm1",
                   .norm_after = "norm2",
                   .fused = "attn.qkv",
                   .output = "attn.proj",
                   .up = "mlp.fc1",
                   .down = "mlp.fc2",
                   .attention_scale = has_scales ? "ls1.gamma" : "",
                   .feed_forward_scale = has_scales ? "ls2.gamma" : ""};
  config->antialiased_positions = true;
  check_vision_sizes(args, config->hidden, config->heads, config->image, config->patch);
  return ImageNetwork{
      .make = vision_transformer(*config), .image = config->image, .features = config->hidden, .head = "head"};
}

}  // namespace levin::nn
