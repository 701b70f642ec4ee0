#include <levin/data/transforms/registry.h>
#include <levin/data/transforms/color_jitter.h>
#include <levin/data/transforms/compose.h>
#include <levin/data/transforms/convert_image.h>
#include <levin/data/transforms/crop.h>
#include <levin/data/transforms/mixup.h>
#include <levin/data/transforms/normalize.h>
#include <levin/data/transforms/one_hot.h>
#include <levin/data/transforms/random_affine.h>
#include <levin/data/transforms/random_erasing.h>
#include <levin/data/transforms/random_flip.h>
#include <levin/data/transforms/random_resized_crop.h>
#include <levin/data/transforms/resize.h>

namespace levin::data {
namespace {

/// Registers levin's own transforms.
void register_builtins(Registry<TransformKind::Entry>& registry) {
  add_transform<ConvertImage>(registry, "ConvertImage", "Changes the type of pixels: uint8 to floating point or back");
  add_transform<Normalize>(registry, "Normalize", "Subtracts the mean and divides by the standard deviation");
  add_transform<Resize>(registry, "Resize", "Makes images larger or smaller");
  add_transform<CenterCrop>(registry, "CenterCrop", "Cuts out the middle");
  add_transform<RandomCrop>(registry, "RandomCrop", "Cuts out a window at a random place");
  add_transform<RandomResizedCrop>(registry, "RandomResizedCrop", "Cuts out a random window and resizes it");
  add_transform<RandomHorizontalFlip>(registry, "RandomHorizontalFlip", "Exchanges left and right of some images");
  add_transform<RandomVerticalFlip>(registry, "RandomVerticalFlip", "Exchanges top and bottom of some images");
  add_transform<RandomRotation>(registry, "RandomRotation", "Turns images by a random angle");
  add_transform<RandomAffine>(registry, "RandomAffine", "Turns, moves, stretches and shears images at random");
  add_transform<ColorJitter>(registry, "ColorJitter", "Changes brightness, contrast, saturation and hue at random");
  add_transform<RandomErasing>(registry, "RandomErasing", "Overwrites a random rectangle of some images");
  add_transform<OneHot>(registry, "OneHot", "Makes class numbers one-hot vectors");
  add_transform<Mixup>(registry, "Mixup", "Mixes each sample and its target with another of the batch");
  add_transform<CutMix>(registry, "CutMix", "Pastes a rectangle of another image of the batch into each");
}

}  // namespace

Registry<TransformKind::Entry>& TransformKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("transform", "transforms");
    register_builtins(made);
    return made;
  }();
  return registry;
}

TransformPtr make_transforms(const std::vector<ClassChoice<TransformKind>>& parts, const std::string& path) {
  std::vector<TransformRef> transforms;
  for (size_t i = 0; i < parts.size(); ++i) transforms.push_back(parts[i].make(path + "[" + std::to_string(i) + "]"));
  if (transforms.empty()) return nullptr;
  if (transforms.size() == 1) return transforms[0].pointer;
  return std::make_shared<Compose>(std::move(transforms));
}

}  // namespace levin::data
