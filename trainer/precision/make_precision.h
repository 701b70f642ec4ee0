#pragma once
#include <c10/core/Device.h>
#include <levin/trainer/precision/precision.h>
#include <levin/trainer/precision/precision_plugin.h>

#include <memory>

namespace levin {

/// Makes the plugin of a precision for modules on `device`. `master_weights`: amp_level O2, a kind of 16-mixed.
/// `sets_default_dtype`: steps of the -true precisions have their dtype as LibTorch's default. Throws levin::UsageError
/// if LibTorch does not support the precision on this device.
std::unique_ptr<PrecisionPlugin> make_precision(const Precision& precision, bool master_weights, c10::Device device,
                                                bool sets_default_dtype);

}  // namespace levin
