/// Residual networks and ConvNeXt of timm.
#include <levin/modules/images/convnext.h>
#include <levin/modules/images/image_families.h>
#include <levin/modules/images/residual_network.h>
#include <levin/modules/images/timm_families.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace levin::nn {
namespace {

struct ResidualDepths {
  std::string_view name;
  bool bottleneck;
  std::array<int64_t, 4> depths;
};

constexpr std::array<ResidualDepths, 7> kResidualDepths = {{{"resnet18", false, {2, 2, 2, 2}},
                                                            {"resnet26", true, {2, 2, 2, 2}},
                                                            {"resnet34", false, {3, 4, 6, 3}},
                                                            {"resnet50", true, {3, 4, 6, 3}},
                                                            {"resnet101", true, {3, 4, 23, 3}},
                                                            {"resnet152", true, {3, 8, 36, 3}},
                                                            {"resnet200", true, {3, 24, 36, 3}}}};

struct ConvNextSize {
  std::string_view name;
  int64_t width;  ///< of the first stage; each further stage has twice as many channels
  std::array<int64_t, 4> depths;
  bool convolves;
};

constexpr std::array<ConvNextSize, 18> kConvNextSizes = {{{"convnext_atto", 40, {2, 2, 6, 2}, true},
                                                          {"convnext_femto", 48, {2, 2, 6, 2}, true},
                                                          {"convnext_pico", 64, {2, 2, 6, 2}, true},
                                                          {"convnext_nano", 80, {2, 2, 8, 2}, true},
                                                          {"convnext_tiny", 96, {3, 3, 9, 3}, false},
                                                          {"convnext_small", 96, {3, 3, 27, 3}, false},
                                                          {"convnext_base", 128, {3, 3, 27, 3}, false},
                                                          {"convnext_large", 192, {3, 3, 27, 3}, false},
                                                          {"convnext_xlarge", 256, {3, 3, 27, 3}, false},
                                                          {"convnextv2_atto", 40, {2, 2, 6, 2}, true},
                                                          {"convnextv2_femto", 48, {2, 2, 6, 2}, true},
                                                          {"convnextv2_pico", 64, {2, 2, 6, 2}, true},
                                                          {"convnextv2_nano", 80, {2, 2, 8, 2}, true},
                                                          {"convnextv2_tiny", 96, {3, 3, 9, 3}, false},
                                                          {"convnextv2_small", 96, {3, 3, 27, 3}, false},
                                                          {"convnextv2_base", 128, {3, 3, 27, 3}, false},
                                                          {"convnextv2_large", 192, {3, 3, 27, 3}, false},
                                                          {"convnextv2_huge", 352, {3, 3, 27, 3}, false}}};

constexpr int64_t kMostBlocksOfStage = 10'000;

std::vector<int64_t> read_four(ConfigFields& args, const std::string& name, const std::vector<int64_t>& otherwise,
                               int64_t most = ConfigFields::kMostWhole) {
  const std::vector<int64_t> sizes = read_sizes(args, name, otherwise, most);
  if (sizes.size() != 4) args.fail(name, "expected 4 numbers, got ", sizes.size());
  return sizes;
}

}  // namespace

std::optional<ImageNetwork> read_timm_resnet(TimmFields& fields) {
  const auto* const found = std::ranges::find(kResidualDepths, fields.architecture, &ResidualDepths::name);
  if (found == kResidualDepths.end()) return {};
  ConfigFields& args = fields.args;
  require_mean_pool(fields);
  ResidualNetworkConfig config = {.names = ImageNames::Timm, .bottleneck = found->bottleneck};
  config.channels = args.whole("in_chans", 3);
  config.depths = read_four(args, "layers", {found->depths.begin(), found->depths.end()}, kMostBlocksOfStage);
  constexpr int64_t kMostWidth = 1 << 20;
  for (const int64_t width : read_four(args, "channels", {64, 128, 256, 512}, kMostWidth))
    config.widths.push_back(config.bottleneck ? 4 * width : width);
  args.require("drop_path_rate", 0);
  args.require("drop_block_rate", 0);
  args.require("output_stride", 32);
  args.skip("zero_init_last");
  return ImageNetwork{.make = residual_network(config), .features = config.widths.back(), .head = "fc"};
}

std::optional<ImageNetwork> read_timm_convnext(TimmFields& fields) {
  const auto* const found = std::ranges::find(kConvNextSizes, fields.architecture, &ConvNextSize::name);
  if (found == kConvNextSizes.end()) return {};
  ConfigFields& args = fields.args;
  require_mean_pool(fields);
  const bool is_second = fields.architecture.starts_with("convnextv2");
  const bool has_scale = args.optional_number("ls_init_value", is_second ? std::optional<double>() : 1e-6).has_value();
  ConvNextConfig config;
  config.names = {.stem_convolution = "stem.0",
                  .stem_norm = "stem.1",
                  .stages = "stages",
                  .downsample = "downsample",
                  .blocks = "blocks",
                  .norm = "head.norm",
                  .convolution = "conv_dw",
                  .block_norm = "norm",
                  .up = "mlp.fc1",
                  .down = "mlp.fc2",
                  .response = "mlp.grn",
                  .scale = has_scale ? "gamma" : ""};
  config.channels = args.whole("in_chans", 3);
  config.patch = args.whole("patch_size", 4);
  config.depths = read_four(args, "depths", {found->depths.begin(), found->depths.end()}, kMostBlocksOfStage);
  config.widths = read_four(args, "dims", {found->width, 2 * found->width, 4 * found->width, 8 * found->width});
  config.convolves = args.flag("conv_mlp", found->convolves);
  config.has_response_norm = args.flag("use_grn", is_second);
  config.response_dimensions = 1;
  config.norm_eps = config.last_norm_eps = args.number("norm_eps", 1e-6);
  config.drop_path = read_rate(args, "drop_path_rate", 0);
  args.require("output_stride", 32);
  args.skip("head_init_scale");
  return ImageNetwork{.make = convnext(config), .features = config.widths.back(), .head = "head.fc"};
}

}  // namespace levin::nn
