#pragma once
#include <levin/data/dataset.h>

#include <cstdint>

namespace levin::data {

/// Returns the training or the validation part of the images in a training folder, drawn by `val_fraction`; all of them
/// and null if that is 0. Throws levin::UsageError if a part would be empty.
DatasetPtr split_images(const DatasetPtr& images, double val_fraction, int64_t seed, bool training);

}  // namespace levin::data
