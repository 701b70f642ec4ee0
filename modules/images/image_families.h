#pragma once
#include <levin/modules/images/image_network.h>
#include <levin/modules/transformers/config_fields.h>

#include <array>
#include <span>
#include <string>
#include <vector>

namespace levin::nn {

/// A family of transformers' networks for images: how a config.json with its `model_type` is read.
struct ImageFamily {
  const char* name;
  ImageNetwork (*read)(ConfigFields& fields);
};

/// Returns all families, by name. The functions throw levin::UsageError for values that levin does not compute.
/// Source: the classes of transformers 5.24, `models/*/modeling_*.py`.
std::span<const ImageFamily> image_families();

/// Returns the network of a config.json of transformers. `file` is its path, for errors. Throws levin::UsageError that
/// names the field: for a model type and fields that levin does not know, and for values that it does not compute.
ImageNetwork transformers_image_network(const nlohmann::ordered_json& json, const std::string& file,
                                        const std::vector<std::string>& ignored_fields);

/// Returns the network of a config.json of timm, by `architecture` and `model_args`. Throws likewise. Source: timm
/// 1.0.31.
ImageNetwork timm_image_network(const nlohmann::ordered_json& json, const std::string& file,
                                const std::vector<std::string>& ignored_fields);

// What several readers use.

/// Returns a number of at least 1 twice, or a list of two.
std::array<int64_t, 2> read_two_sizes(ConfigFields& fields, const std::string& name, int64_t otherwise);
/// Returns a list of whole numbers from 1 to `most`.
std::vector<int64_t> read_sizes(ConfigFields& fields, const std::string& name, const std::vector<int64_t>& otherwise,
                                int64_t most = ConfigFields::kMostWhole);
/// Returns a share of at least 0 and below 1.
double read_rate(ConfigFields& fields, const std::string& name, double otherwise);
/// Throws if `heads` do not divide `hidden`, or patches the image.
void check_vision_sizes(const ConfigFields& fields, int64_t hidden, int64_t heads, std::array<int64_t, 2> image,
                        std::array<int64_t, 2> patch);

// Each in a file of its own, with those that are like it.
ImageNetwork read_convnext(ConfigFields& fields);
ImageNetwork read_convnextv2(ConfigFields& fields);
ImageNetwork read_deit(ConfigFields& fields);
ImageNetwork read_mobilenet_v1(ConfigFields& fields);
ImageNetwork read_mobilenet_v2(ConfigFields& fields);
ImageNetwork read_resnet(ConfigFields& fields);
ImageNetwork read_vit(ConfigFields& fields);

}  // namespace levin::nn
