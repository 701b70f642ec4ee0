#include <levin/data/transforms/mixup.h>
#include <levin/core/system/error.h>
#include <levin/data/transforms/engine/image_batch.h>
#include <levin/data/transforms/one_hot.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

namespace levin::data {
namespace {

/// Draws from the symmetric beta distribution.
double draw_share(Rng& rng, double alpha) {
  std::gamma_distribution<double> gamma(alpha);
  const double first = gamma(rng), second = gamma(rng);
  // For a tiny alpha both may underflow to 0: the distribution then has only the values 0 and 1.
  if (first + second == 0) return flip_coin(rng, 0.5) ? 1 : 0;
  return first / (first + second);
}

at::Tensor classes_of(const Batch& batch, int64_t num_classes, const char* transform) {
  const at::Tensor& target = batch.target();
  if (target.is_floating_point() && target.dim() == 2 && (num_classes == 0 || target.size(1) == num_classes))
    return target.to(at::kFloat);
  if (num_classes > 0) return one_hot(target, num_classes, transform);
  throw Error(transform, ": without num_classes it needs one-hot targets, floating point [samples, classes], got ",
              describe(target));
}

/// Returns `share` of each row plus the rest of the previous row; the last row precedes the first.
at::Tensor mixed(const at::Tensor& rows, double share) { return rows.roll(1, 0).mul_(1 - share).add_(rows, share); }

}  // namespace

Mixup::Mixup(Options options) : options_(options) { schema_of<Options>().check(&options_, "Mixup"); }

void Mixup::operator()(Batch& batch, std::span<Rng> rngs) const {
  const at::Tensor input = batch.input();
  if (!input.is_floating_point())
    throw Error("Mixup: needs floating-point `input`, got ", describe(input), "; put ConvertImage before it");
  if (static_cast<int64_t>(rngs.size()) != batch.size())
    throw Error("Mixup: ", batch.size(), " samples, but ", rngs.size(), " random number generators");
  if (rngs.empty()) return;
  const double share = draw_share(rngs[0], options_.alpha);
  batch.set("target", mixed(classes_of(batch, options_.num_classes, "Mixup"), share));
  batch.set("input", mixed(input, share));
}

CutMix::CutMix(Options options) : options_(options) { schema_of<Options>().check(&options_, "CutMix"); }

void CutMix::operator()(Batch& batch, std::span<Rng> rngs) const {
  const at::Tensor images = images_of(batch, rngs, "CutMix");
  const int64_t height = images.size(2), width = images.size(3);
  if (rngs.empty()) return;
  Rng& rng = rngs[0];
  const double half = 0.5 * std::sqrt(1 - draw_share(rng, options_.alpha));
  const int64_t x = rng.randint(0, width), y = rng.randint(0, height);
  const auto half_width = static_cast<int64_t>(half * static_cast<double>(width));
  const auto half_height = static_cast<int64_t>(half * static_cast<double>(height));
  const int64_t left = std::max<int64_t>(0, x - half_width), right = std::min(width, x + half_width);
  const int64_t top = std::max<int64_t>(0, y - half_height), bottom = std::min(height, y + half_height);
  const double pasted = static_cast<double>((right - left) * (bottom - top)) / static_cast<double>(height * width);
  batch.set("target", mixed(classes_of(batch, options_.num_classes, "CutMix"), 1 - pasted));
  const auto box = [&](const at::Tensor& all) {
    return all.narrow(2, top, bottom - top).narrow(3, left, right - left);
  };
  box(images).copy_(box(images).roll(1, 0));
  batch.set("input", images);
}

}  // namespace levin::data
