#pragma once
#include <levin/modules/images/image_network.h>
#include <levin/modules/transformers/config_fields.h>

#include <optional>
#include <string>

namespace levin::nn {

/// What readers of timm's architectures take.
struct TimmFields {
  std::string architecture = {};
  ConfigFields& args;                                ///< `model_args`, which may be empty
  std::optional<std::array<int64_t, 2>> image = {};  ///< `input_size` of pretrained_cfg
  std::string pool = {};                             ///< `global_pool`; empty: that of the architecture
};

// Each returns nothing for an architecture of another family, and throws levin::UsageError for arguments that levin
// does not compute.
std::optional<ImageNetwork> read_timm_vit(TimmFields& fields);
std::optional<ImageNetwork> read_timm_resnet(TimmFields& fields);
std::optional<ImageNetwork> read_timm_convnext(TimmFields& fields);
std::optional<ImageNetwork> read_timm_mobilenetv3(TimmFields& fields);

/// Throws unless the mean over the image is what the head takes.
void require_mean_pool(const TimmFields& fields);

}  // namespace levin::nn
