#pragma once
#include <levin/core/options/option.h>
#include <levin/data/datasets/readers/class_mask.h>
#include <levin/data/datasets/readers/tar_sample.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin::data {

/// How the members of a sample are decoded.
struct TarDecoderOptions {
  std::string input = LEVIN_OPTION(
      input, "",
      "Extension of the members that become `input`; empty: the first image, or array without a name of its own");
  std::string target = LEVIN_OPTION(target, "", "Extension of the members that become `target`; empty: cls");
  std::string mask = LEVIN_OPTION(mask, "",
                                  "Extension of the members that are masks, such as mask.png or mask.npy: the class of "
                                  "each pixel of `input`, which "
                                  "transforms move with it, becomes `target`; empty: none");
  std::vector<std::string> mask_colors = LEVIN_OPTION(
      mask_colors, {},
      "Colours of the classes in masks of colours, in the order of their numbers: [\"#000000\", \"#ff0000\"]; empty: "
      "masks hold the numbers");
  std::optional<int64_t> ignore_index = LEVIN_OPTION(
      ignore_index, {}, "Class of the pixels of a mask that do not count, such as 255; unset: all count", {.min = 0});
  int64_t channels =
      LEVIN_OPTION(channels, 3, "Channels of decoded images: 3, or 1 for their luminance", {.min = 1, .max = 3});
  /// Whether samples without the target that the options name are an error; samples to predict need none.
  bool needs_target = true;
  std::optional<int64_t> classes = {};  ///< that masks may have; unset: any number
};

/// Decodes the members of a sample by the last part of their extension, in lower case.
///
/// `npy` becomes an array of its own dtype; `jpg`, `jpeg`, `png`, `tif`, `tiff` and `webp` an image, uint8 [channels,
/// height, width]; `cls` an integer, int64 []; `txt` an integer too, or else text; `bin` uint8 [bytes]. The options
/// select the members that become `input` and `target`; other members are named by their extension, without the `npy`
/// at its end: `7.attention_mask.npy` is `attention_mask`. Arrays with a name of their own are `input` only if the
/// options say so. A member that the options name as the mask becomes `mask`, int64 [height, width], of the size of
/// `input`. Text, and members with other extensions, are decoded only as `input` or `target`, as uint8 [bytes];
/// otherwise they are skipped, with one warning per extension.
class TarDecoder {
 public:
  using Values = std::vector<std::pair<std::string, at::Tensor>>;
  /// Throws levin::UsageError for options of masks that do not go together.
  explicit TarDecoder(TarDecoderOptions options);
  /// Returns the tensors by name, without a sample dimension; they may be views of the mapped file. Thread-safe. Throws
  /// levin::UsageError that names file, byte and member: see npy_tensor and decode_image; also for a `cls` that is not
  /// an integer, and for a sample without an input or without the target that the options name.
  Values decode(const TarSample& sample) const;
  /// Returns the first size of a field, which is an array or bytes, and decodes nothing else. Thread-safe. Throws
  /// levin::UsageError that begins with `option` for a sample without that field, and for one without a length.
  int64_t length_of(const TarSample& sample, const std::string& field, const std::string& option) const;

 private:
  struct Warned;

  bool has_masks() const { return !options_.mask.empty(); }
  at::Tensor mask_of(const TarSample& sample, const TarSample::Member& member) const;
  void check_mask(const TarSample& sample, const Values& values) const;
  std::string name_of(const TarSample::Member& member, const Values& values) const;
  at::Tensor tensor_of(const TarSample& sample, const TarSample::Member& member, bool asked) const;
  void tell_left_out(const TarSample& sample, const TarSample::Member& member) const;
  void check_complete(const TarSample& sample, const Values& values) const;

  TarDecoderOptions options_;
  ClassMaskOptions masks_ = {};
  std::shared_ptr<Warned> told_;  // shared by copies
};

}  // namespace levin::data
