/// Residual networks and ConvNeXt of transformers.
#include <levin/core/system/error.h>
#include <levin/modules/images/convnext.h>
#include <levin/modules/images/image_families.h>
#include <levin/modules/images/residual_network.h>

namespace levin::nn {
namespace {

constexpr int64_t kMostBlocks = 10'000;

/// Throws if there are not as many stages in one list as in the other.
void check_stages(const ConfigFields& fields, const std::vector<int64_t>& widths, const std::vector<int64_t>& depths) {
  if (widths.size() != depths.size())
    fields.fail("depths", "has ", depths.size(), " numbers, and hidden_sizes has ", widths.size());
}

ImageNetwork read_convnext_family(ConfigFields& fields, const std::string& base, bool is_second) {
  ConvNextConfig config;
  const bool has_scale = !is_second && fields.number("layer_scale_init_value", 1e-6, -1) > 0;
  config.names = {.stem_convolution = base + "embeddings.patch_embeddings",
                  .stem_norm = base + "embeddings.layernorm",
                  .stages = base + "encoder.stages",
                  .downsample = "downsampling_layer",
                  .blocks = "layers",
                  .norm = base + "layernorm",
                  .convolution = "dwconv",
                  .block_norm = "layernorm",
                  .up = "pwconv1",
                  .down = "pwconv2",
                  .response = "grn",
                  .scale = has_scale ? "layer_scale_parameter" : ""};
  config.channels = fields.whole("num_channels", 3);
  config.patch = fields.whole("patch_size", 4);
  config.widths = read_sizes(fields, "hidden_sizes", {96, 192, 384, 768});
  config.depths = read_sizes(fields, "depths", {3, 3, 9, 3}, kMostBlocks);
  check_stages(fields, config.widths, config.depths);
  if (fields.whole("num_stages", 4) != static_cast<int64_t>(config.depths.size()))
    fields.fail("num_stages", "depths has ", config.depths.size(), " numbers");
  config.activation = read_image_activation(fields, "hidden_act", "gelu");
  config.last_norm_eps = fields.number("layer_norm_eps", 1e-12);
  config.has_response_norm = is_second;
  config.drop_path = read_rate(fields, "drop_path_rate", 0);
  fields.skip("image_size");
  return {.make = convnext(config), .channels = config.channels, .features = config.widths.back(), .base = base};
}

}  // namespace

ImageNetwork read_convnext(ConfigFields& fields) { return read_convnext_family(fields, "convnext.", false); }

ImageNetwork read_convnextv2(ConfigFields& fields) { return read_convnext_family(fields, "convnextv2.", true); }

ImageNetwork read_resnet(ConfigFields& fields) {
  ResidualNetworkConfig config;
  config.channels = fields.whole("num_channels", 3);
  config.stem = fields.whole("embedding_size", 64);
  config.widths = read_sizes(fields, "hidden_sizes", {256, 512, 1024, 2048});
  config.depths = read_sizes(fields, "depths", {3, 4, 6, 3}, kMostBlocks);
  check_stages(fields, config.widths, config.depths);
  const std::string type = fields.word("layer_type", "bottleneck");
  if (type != "bottleneck" && type != "basic")
    fields.fail("layer_type", "levin does not know ", type, "; it knows basic and bottleneck");
  config.bottleneck = type == "bottleneck";
  if (config.bottleneck)
    for (const int64_t width : config.widths)
      if (width < 4) fields.fail("hidden_sizes", "a bottleneck has at least 4 channels, got ", width);
  config.activation = read_image_activation(fields, "hidden_act", "relu");
  config.first_stage_halves = fields.flag("downsample_in_first_stage", false);
  config.stride_in_first = fields.flag("downsample_in_bottleneck", false);
  return {.make = residual_network(config),
          .channels = config.channels,
          .features = config.widths.back(),
          .base = "resnet.",
          .head = "classifier.1"};
}

}  // namespace levin::nn
