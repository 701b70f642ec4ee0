/// MobileNetV3 of timm.
#include <levin/modules/images/image_families.h>
#include <levin/modules/images/mobile_network.h>
#include <levin/modules/images/timm_families.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace levin::nn {
namespace {

struct MobileWidth {
  std::string_view name;
  bool is_small;
  double width;  ///< multiplies all channels
};

constexpr std::array<MobileWidth, 5> kMobileWidths = {{{"mobilenetv3_small_050", true, 0.5},
                                                       {"mobilenetv3_small_075", true, 0.75},
                                                       {"mobilenetv3_small_100", true, 1},
                                                       {"mobilenetv3_large_075", false, 0.75},
                                                       {"mobilenetv3_large_100", false, 1}}};

/// Blocks that are alike; the first of them has the stride. Source: tables 1 and 2 of Howard et al. 2019.
struct MobileRow {
  int stage;
  int repeats, kernel, stride;
  double expansion;  ///< 0: the block has no layer that widens
  int64_t out;
  bool squeezes, is_relu;
};

constexpr std::array<MobileRow, 7> kSmall = {{{0, 1, 3, 2, 0, 16, true, true},
                                              {1, 1, 3, 2, 4.5, 24, false, true},
                                              {1, 1, 3, 1, 3.67, 24, false, true},
                                              {2, 1, 5, 2, 4, 40, true, false},
                                              {2, 2, 5, 1, 6, 40, true, false},
                                              {3, 2, 5, 1, 3, 48, true, false},
                                              {4, 3, 5, 2, 6, 96, true, false}}};
constexpr std::array<MobileRow, 9> kLarge = {{{0, 1, 3, 1, 0, 16, false, true},
                                              {1, 1, 3, 2, 4, 24, false, true},
                                              {1, 1, 3, 1, 3, 24, false, true},
                                              {2, 3, 5, 2, 3, 40, true, true},
                                              {3, 1, 3, 2, 6, 80, false, false},
                                              {3, 1, 3, 1, 2.5, 80, false, false},
                                              {3, 2, 3, 1, 2.3, 80, false, false},
                                              {4, 2, 3, 1, 6, 112, true, false},
                                              {5, 3, 5, 2, 6, 160, true, false}}};

int64_t of_eight(double channels) { return rounded_channels(channels, 8, 8); }

MobileBlockShape block_of(const MobileRow& row, int64_t in, int64_t out, int64_t stride) {
  const ImageActivation activation = row.is_relu ? ImageActivation::Relu : ImageActivation::HardSwish;
  MobileBlockShape block = {.is_residual = stride == 1 && in == out};
  const bool widens = row.expansion > 0;
  const int64_t wide = widens ? of_eight(static_cast<double>(in) * row.expansion) : in;
  const auto norm = [&] { return "bn" + std::to_string(block.convolutions.size() + 1); };
  if (widens) block.convolutions.push_back({{"conv_pw", norm()}, {.in = in, .out = wide, .activation = activation}});
  block.convolutions.push_back(
      {{"conv_dw", norm()},
       {.in = wide, .out = wide, .kernel = row.kernel, .stride = stride, .groups = wide, .activation = activation}});
  block.convolutions.push_back({{widens ? "conv_pwl" : "conv_pw", norm()}, {.in = wide, .out = out}});
  if (row.squeezes)
    block.squeeze = SqueezeShape{.channels = wide, .narrow = of_eight(static_cast<double>(wide) * 0.25)};
  block.squeeze_behind = widens ? 1 : 0;
  return block;
}

}  // namespace

std::optional<ImageNetwork> read_timm_mobilenetv3(TimmFields& fields) {
  const auto* const found = std::ranges::find(kMobileWidths, fields.architecture, &MobileWidth::name);
  if (found == kMobileWidths.end()) return {};
  ConfigFields& args = fields.args;
  require_mean_pool(fields);
  args.require("drop_path_rate", 0);
  const auto scaled = [&](int64_t channels) { return of_eight(static_cast<double>(channels) * found->width); };
  int64_t in = found->width < 0.75 ? 16 : scaled(16);
  MobileNetworkConfig config;
  config.blocks.push_back({.convolutions = {{{"conv_stem", "bn1"},
                                             {.in = args.whole("in_chans", 3),
                                              .out = in,
                                              .kernel = 3,
                                              .stride = 2,
                                              .activation = ImageActivation::HardSwish}}}});
  const std::span<const MobileRow> rows = found->is_small ? std::span<const MobileRow>(kSmall) : kLarge;
  int stage = 0, number = 0;
  for (const MobileRow& row : rows) {
    if (row.stage != stage) number = 0;
    stage = row.stage;
    for (int i = 0; i < row.repeats; ++i, ++number) {
      MobileBlockShape block = block_of(row, in, scaled(row.out), i == 0 ? row.stride : 1);
      block.path = "blocks." + std::to_string(stage) + "." + std::to_string(number);
      config.blocks.push_back(std::move(block));
      in = scaled(row.out);
    }
  }
  const int64_t last = scaled(found->is_small ? 576 : 960);
  config.blocks.push_back(
      {.path = "blocks." + std::to_string(stage + 1) + ".0",
       .convolutions = {{{"conv", "bn1"}, {.in = in, .out = last, .activation = ImageActivation::HardSwish}}}});
  config.head_convolution = "conv_head";
  config.head_in = last;
  config.head_out = found->is_small ? 1024 : 1280;
  config.head_activation = ImageActivation::HardSwish;
  return ImageNetwork{.make = mobile_network(config), .features = config.head_out, .head = "classifier"};
}

}  // namespace levin::nn
