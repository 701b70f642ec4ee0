#include <levin/data/datasets/readers/tar_decoder.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/files/image_file.h>
#include <levin/data/files/npy_file.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>

namespace levin::data {
namespace {

enum class Kind { Array, Image, Number, Text, Bytes, Unknown };

Kind kind_of(std::string_view extension) {
  const size_t dot = extension.rfind('.');
  const std::string_view last = dot == extension.npos ? extension : extension.substr(dot + 1);
  if (last == "npy") return Kind::Array;
  constexpr std::array<std::string_view, 6> kImages = {"jpg", "jpeg", "png", "tif", "tiff", "webp"};
  if (std::ranges::find(kImages, last) != kImages.end()) return Kind::Image;
  if (last == "cls") return Kind::Number;
  if (last == "txt") return Kind::Text;
  return last == "bin" ? Kind::Bytes : Kind::Unknown;
}

std::string_view text_of(const at::Tensor& bytes) {
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<size_t>(bytes.numel())};
}

std::optional<int64_t> whole_number(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == text.npos) return {};
  text = text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
  int64_t value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || stop != text.data() + text.size()) return {};
  return value;
}

/// Returns the name of an array's field: "attention_mask" of "attention_mask.npy"; empty for other extensions.
std::string_view own_name(std::string_view extension) {
  constexpr std::string_view kEnding = ".npy";
  return extension.ends_with(kEnding) ? extension.substr(0, extension.size() - kEnding.size()) : std::string_view();
}

/// Returns whether an option names the extension, as it is or without the end of an array's.
bool is_named(const std::string& option, const std::string& extension) {
  return !option.empty() && (option == extension || option == own_name(extension));
}

bool has(const TarDecoder::Values& values, std::string_view name) {
  return std::ranges::count(values, name, [](const auto& value) { return std::string_view(value.first); }) > 0;
}

std::string in_lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace

/// The extensions that a warning was logged for.
struct TarDecoder::Warned {
  std::mutex mutex = {};
  std::set<std::string> extensions = {};
};

TarDecoder::TarDecoder(TarDecoderOptions options) : options_(std::move(options)), told_(std::make_shared<Warned>()) {
  options_.input = in_lower_case(options_.input);
  options_.target = in_lower_case(options_.target);
  options_.mask = in_lower_case(options_.mask);
  if (!has_masks() && (!options_.mask_colors.empty() || options_.ignore_index))
    throw UsageError(
        "data.mask: not set; it names the members whose pixels data.mask_colors and data.ignore_index describe");
  if (has_masks() && !options_.target.empty())
    throw UsageError("data.mask: masks become `target`; leave data.target out");
  masks_ = {.colours = parse_colours(options_.mask_colors, "data.mask_colors"),
            .ignored = options_.ignore_index,
            .classes = options_.classes};
}

at::Tensor TarDecoder::mask_of(const TarSample& sample, const TarSample::Member& member) const {
  const std::string place = sample.place(member);
  const Kind kind = kind_of(member.extension);
  if (kind == Kind::Image) return decode_class_mask(text_of(member.bytes), place, masks_);
  if (kind != Kind::Array) throw UsageError(place, ": a mask is an image or a .npy array");
  const at::Tensor array = npy_tensor(member.bytes, place, sample.file.get());
  if (array.dim() != 2 || !at::isIntegralType(array.scalar_type(), /*includeBool=*/true))
    throw UsageError(place, ": a mask of whole numbers [height, width] was expected, got ", array.scalar_type(), " ",
                     array.sizes());
  return checked_class_mask(array.to(at::kLong, /*non_blocking=*/false, /*copy=*/true).contiguous(), masks_, place);
}

void TarDecoder::check_mask(const TarSample& sample, const Values& values) const {
  const auto value = [&](std::string_view name) {
    const auto found = std::ranges::find_if(values, [&](const auto& one) { return one.first == name; });
    return found == values.end() ? at::Tensor() : found->second;
  };
  const at::Tensor mask = value("mask"), input = value("input");
  if (!mask.defined() || !input.defined()) return;
  if (input.dim() < 2 || input.sizes().slice(static_cast<size_t>(input.dim() - 2)) != mask.sizes())
    throw UsageError(*sample.shard, ": byte ", sample.members.front().offset, ": sample ", sample.key,
                     ": the mask has the size ", mask.sizes(), ", and its input ", input.sizes());
}

std::string TarDecoder::name_of(const TarSample::Member& member, const Values& values) const {
  const std::string& extension = member.extension;
  if (is_named(options_.mask, extension)) return "mask";
  if (is_named(options_.input, extension)) return "input";
  if (is_named(options_.target.empty() && !has_masks() ? "cls" : options_.target, extension)) return "target";
  const std::string_view own = own_name(extension);
  const Kind kind = kind_of(extension);
  const bool can_be_input = kind == Kind::Image || (kind == Kind::Array && own.empty());
  if (options_.input.empty() && can_be_input && !has(values, "input")) return "input";
  return own.empty() ? extension : std::string(own);
}

at::Tensor TarDecoder::tensor_of(const TarSample& sample, const TarSample::Member& member, bool asked) const {
  const Kind kind = kind_of(member.extension);
  if (kind == Kind::Array) return npy_tensor(member.bytes, sample.place(member), sample.file.get());
  if (kind == Kind::Image) {
    return decode_image(text_of(member.bytes), sample.place(member), {.channels = options_.channels});
  }
  if (kind == Kind::Number || kind == Kind::Text) {
    if (const auto value = whole_number(text_of(member.bytes))) {
      at::Tensor number = at::empty({}, at::TensorOptions(at::kLong));
      *number.mutable_data_ptr<int64_t>() = *value;
      return number;
    }
    if (kind == Kind::Number) {
      throw UsageError(sample.place(member), ": expected a whole number, got '", text_of(member.bytes).substr(0, 40),
                       "'");
    }
  }
  return asked || kind == Kind::Bytes ? member.bytes : at::Tensor();
}

TarDecoder::Values TarDecoder::decode(const TarSample& sample) const {
  Values values;
  for (const TarSample::Member& member : sample.members) {
    std::string name = name_of(member, values);
    const bool is_mask = has_masks() && name == "mask";
    at::Tensor tensor =
        is_mask ? mask_of(sample, member) : tensor_of(sample, member, name == "input" || name == "target");
    if (tensor.defined()) {
      if (has(values, name))
        throw UsageError(sample.place(member), ": the sample has another member that becomes '", name, "'");
      values.emplace_back(std::move(name), std::move(tensor));
    } else {
      tell_left_out(sample, member);
    }
  }
  check_complete(sample, values);
  if (has_masks()) check_mask(sample, values);
  return values;
}

int64_t TarDecoder::length_of(const TarSample& sample, const std::string& field, const std::string& option) const {
  Values earlier;
  std::string names;
  for (const TarSample::Member& member : sample.members) {
    const std::string name = name_of(member, earlier);
    if (name == field) {
      const at::Tensor value =
          kind_of(member.extension) == Kind::Image ? at::Tensor() : tensor_of(sample, member, true);
      if (value.defined() && value.dim() > 0) return value.size(0);
      throw UsageError(option, ": ", sample.place(member), " is no array with a length");
    }
    names += (names.empty() ? "" : ", ") + name;
    earlier.emplace_back(name, at::Tensor());
  }
  throw UsageError(option, ": ", *sample.shard, ": byte ", sample.members.front().offset, ": sample ", sample.key,
                   " has no field '", field, "'; it has ", names);
}

void TarDecoder::tell_left_out(const TarSample& sample, const TarSample::Member& member) const {
  const std::lock_guard lock(told_->mutex);
  if (!told_->extensions.insert(member.extension).second) return;
  console::warn(sample.place(member) + ": members of this kind are left out; those that become tensors are npy, jpg, " +
                "jpeg, png, tif, tiff, webp, cls, bin, and txt with a whole number");
}

void TarDecoder::check_complete(const TarSample& sample, const Values& values) const {
  const bool has_names = std::ranges::any_of(
      sample.members, [](const TarSample::Member& member) { return !own_name(member.extension).empty(); });
  const bool lacks_input = !has(values, "input") && !(options_.input.empty() && has_names);
  const std::string& of_target = has_masks() ? options_.mask : options_.target;
  const bool has_target = has(values, has_masks() ? "mask" : "target");
  if (!lacks_input && (of_target.empty() || !options_.needs_target || has_target)) return;
  const std::string& wanted = lacks_input ? options_.input : of_target;
  std::string extensions;
  for (const TarSample::Member& member : sample.members)
    extensions += (extensions.empty() ? "" : ", ") + member.extension;
  throw UsageError(*sample.shard, ": byte ", sample.members.front().offset, ": sample ", sample.key, " has no ",
                   wanted.empty() ? "image or array" : wanted, " for ", lacks_input ? "input" : "target", "; it has ",
                   extensions);
}

}  // namespace levin::data
