#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/transformers/config_fields.h>

#include <cstdint>
#include <string>

namespace levin::nn {

/// The functions between the layers of networks for images; None: the numbers stay as they are.
enum class ImageActivation : uint8_t { None, Gelu, GeluTanh, HardSwish, Relu, Relu6, Silu };

/// Returns the function of each number of `x`, of any shape.
at::Tensor activated(const at::Tensor& x, ImageActivation activation);

/// Reads an activation by its name in transformers. Throws levin::UsageError for one that levin does not compute.
ImageActivation read_image_activation(ConfigFields& fields, const std::string& name, const std::string& otherwise);

}  // namespace levin::nn
