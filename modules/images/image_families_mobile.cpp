/// MobileNets of transformers.
#include <levin/modules/images/image_families.h>
#include <levin/modules/images/mobile_network.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace levin::nn {
namespace {

constexpr double kMostMultiplier = 1000;

struct MobileFields {
  double multiplier = 1;
  int64_t least = 8, channels = 3;
  double dropout = 0;
  ConvNormShape shape = {};  ///< what all convolutions have in common
};

MobileFields read_mobile(ConfigFields& fields, double dropout, double momentum) {
  MobileFields read;
  read.multiplier = fields.number("depth_multiplier", 1);
  if (!(read.multiplier > 0 && read.multiplier <= kMostMultiplier))
    fields.fail("depth_multiplier", "is ", read.multiplier, "; it is above 0 and at most ", kMostMultiplier);
  read.least = fields.whole("min_depth", 8);
  read.channels = fields.whole("num_channels", 3);
  read.dropout = read_rate(fields, "classifier_dropout_prob", dropout);
  read.shape = {.activation = read_image_activation(fields, "hidden_act", "relu6"),
                .same_padding = fields.flag("tf_padding", true),
                .eps = fields.number("layer_norm_eps", 0.001),
                .momentum = momentum};
  fields.skip("image_size semantic_loss_ignore_index");
  return read;
}

ConvNormNames layers_of(const std::string& path) { return {path + ".convolution", path + ".normalization"}; }

/// Returns the common shape with sizes of its own.
ConvNormShape sized(const MobileFields& read, int64_t in, int64_t out, int64_t kernel = 1, int64_t stride = 1,
                    int64_t dilation = 1) {
  ConvNormShape shape = read.shape;
  shape.in = in;
  shape.out = out;
  shape.kernel = kernel;
  shape.stride = stride;
  shape.dilation = dilation;
  return shape;
}

ConvNormShape each_channel(ConvNormShape shape) {
  shape.groups = shape.in;
  return shape;
}

ConvNormShape without_activation(ConvNormShape shape) {
  shape.activation = ImageActivation::None;
  return shape;
}

class MobileNetV2 {
 public:
  explicit MobileNetV2(ConfigFields& fields)
      : read_(read_mobile(fields, 0.8, 0.997)),
        divisor_(fields.whole("depth_divisible_by", 8)),
        ratio_(fields.number("expand_ratio", 6)),
        output_stride_(fields.whole("output_stride", 32)),
        first_is_expansion_(fields.flag("first_layer_is_expansion", true)),
        keeps_last_(fields.flag("finegrained_output", true)) {
    if (!(ratio_ > 0 && ratio_ <= kMostMultiplier)) fields.fail("expand_ratio", "is ", ratio_);
  }

  ImageNetwork network() const {
    constexpr std::array<int64_t, 17> kWidths = {16, 24, 24, 32, 32,  32,  64,  64, 64,
                                                 64, 96, 96, 96, 160, 160, 160, 320};
    constexpr std::array<int64_t, 16> kStrides = {2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1};
    MobileNetworkConfig config;
    config.blocks.push_back(stem(scaled(kWidths[0])));
    int64_t reduction = 2, dilation = 1;
    for (size_t i = 0; i < kStrides.size(); ++i) {
      const bool dilates = reduction == output_stride_;
      const int64_t stride = dilates ? 1 : kStrides[i], own_dilation = dilates ? dilation : 1;
      if (dilates)
        dilation *= kStrides[i];
      else
        reduction *= stride;
      config.blocks.push_back(inverted("mobilenet_v2.layer." + std::to_string(i), scaled(kWidths[i]),
                                       scaled(kWidths[i + 1]), stride, own_dilation));
    }
    constexpr int64_t kLast = 1280;
    const int64_t last = keeps_last_ && read_.multiplier < 1 ? kLast : scaled(kLast);
    config.blocks.push_back(
        {.convolutions = {{layers_of("mobilenet_v2.conv_1x1"), sized(read_, scaled(kWidths.back()), last)}}});
    return {.make = mobile_network(config),
            .channels = read_.channels,
            .features = last,
            .base = "mobilenet_v2.",
            .head_dropout = read_.dropout};
  }

 private:
  int64_t scaled(int64_t width) const {
    return rounded_channels(std::nearbyint(static_cast<double>(width) * read_.multiplier), divisor_, read_.least);
  }

  MobileBlockShape stem(int64_t out) const {
    const int64_t wide = scaled(32);
    const std::string path = "mobilenet_v2.conv_stem";
    MobileBlockShape block = {.path = path,
                              .convolutions = {{layers_of("first_conv"), sized(read_, read_.channels, wide, 3, 2)}}};
    if (!first_is_expansion_) block.convolutions.push_back({layers_of("expand_1x1"), sized(read_, wide, wide)});
    block.convolutions.push_back({layers_of("conv_3x3"), each_channel(sized(read_, wide, wide, 3))});
    block.convolutions.push_back({layers_of("reduce_1x1"), without_activation(sized(read_, wide, out))});
    return block;
  }

  MobileBlockShape inverted(const std::string& path, int64_t in, int64_t out, int64_t stride, int64_t dilation) const {
    const int64_t wide = rounded_channels(std::nearbyint(static_cast<double>(in) * ratio_), divisor_, read_.least);
    return {.path = path,
            .convolutions = {{layers_of("expand_1x1"), sized(read_, in, wide)},
                             {layers_of("conv_3x3"), each_channel(sized(read_, wide, wide, 3, stride, dilation))},
                             {layers_of("reduce_1x1"), without_activation(sized(read_, wide, out))}},
            .is_residual = stride == 1 && in == out};
  }

  MobileFields read_;
  int64_t divisor_;
  double ratio_;
  int64_t output_stride_;
  bool first_is_expansion_, keeps_last_;
};

}  // namespace

ImageNetwork read_mobilenet_v1(ConfigFields& fields) {
  constexpr std::array<int64_t, 13> kStrides = {1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1};
  const MobileFields read = read_mobile(fields, 0.999, 0.9997);
  const auto scaled = [&](int64_t width) {
    return std::max(static_cast<int64_t>(static_cast<double>(width) * read.multiplier), read.least);
  };
  int64_t width = 32, out = scaled(width);
  MobileNetworkConfig config;
  config.blocks.push_back(
      {.convolutions = {{layers_of("mobilenet_v1.conv_stem"), sized(read, read.channels, out, 3, 2)}}});
  for (size_t i = 0; i < kStrides.size(); ++i) {
    const int64_t in = out;
    if (kStrides[i] == 2 || i == 0) width *= 2;
    out = scaled(width);
    const std::string layer = "mobilenet_v1.layer.";
    config.blocks.push_back(
        {.convolutions = {{layers_of(layer + std::to_string(2 * i)), each_channel(sized(read, in, in, 3, kStrides[i]))},
                          {layers_of(layer + std::to_string(2 * i + 1)), sized(read, in, out)}}});
  }
  return {.make = mobile_network(config),
          .channels = read.channels,
          .features = out,
          .base = "mobilenet_v1.",
          .head_dropout = read.dropout};
}

ImageNetwork read_mobilenet_v2(ConfigFields& fields) { return MobileNetV2(fields).network(); }

}  // namespace levin::nn
