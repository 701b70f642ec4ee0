#include <levin/core/state/find_state_dict.h>
#include <levin/program/cli/report.h>
#include <levin/program/commands/ckpt_diff.h>
#include <levin/program/commands/ckpt_file.h>
#include <levin/program/commands/commands.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/view_as_real.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <unordered_map>

namespace levin::cli {
namespace {

struct ValueDifference {
  double most = 0;    ///< the largest absolute difference; infinite if one of two values is NaN
  int64_t count = 0;  ///< the number of values that are not equal
};

/// Compares two chunks; NaNs count as equal.
ValueDifference difference_of_chunks(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor same = a.is_floating_point() ? a.eq(b).logical_or_(a.isnan().logical_and_(b.isnan())) : a.eq(b);
  const int64_t count = a.numel() - same.sum().item<int64_t>();
  if (count == 0) return {};
  const at::Tensor apart = a.sub(b).to(at::kDouble).abs_().masked_fill_(same, 0);
  return {apart.nan_to_num_(std::numeric_limits<double>::infinity()).max().item<double>(), count};
}

bool bytes_equal(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.is_contiguous() && b.is_contiguous() &&
         (a.numel() == 0 || std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0);
}

/// Compares tensors of the same shape, one chunk at a time.
ValueDifference difference(at::Tensor a, at::Tensor b) {
  if (bytes_equal(a, b)) return {};
  constexpr int64_t kChunk = 1 << 20;
  const bool is_exact = !(a.is_floating_point() || a.is_complex() || b.is_floating_point() || b.is_complex());
  const auto flat = [](const at::Tensor& tensor, bool complex) {
    // If checksums are not compared, a bool of a damaged file may hold more than 0 and 1.
    if (tensor.scalar_type() == at::kBool && !complex) return tensor.flatten().view(at::kByte);
    if (!complex) return tensor.flatten();
    return at::view_as_real(tensor.to(at::kComplexDouble).resolve_conj()).flatten();
  };
  const bool is_complex = a.is_complex() || b.is_complex();
  a = flat(a, is_complex);
  b = flat(b, is_complex);
  ValueDifference all;
  for (int64_t begin = 0; begin < a.numel(); begin += kChunk) {
    const int64_t length = std::min(kChunk, a.numel() - begin);
    const at::ScalarType type = is_exact ? at::kLong : at::kDouble;
    const ValueDifference part =
        difference_of_chunks(a.narrow(0, begin, length).to(type), b.narrow(0, begin, length).to(type));
    all.most = std::max(all.most, part.most);
    all.count += part.count;
  }
  return all;
}

bool numbers_differ(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) != std::isnan(b);
  return a != b && !(std::abs(a - b) <= tolerance);
}

bool is_number(const State& value) { return value.is_int() || value.is_float(); }

bool plain_values_differ(const State& a, const State& b, double tolerance) {
  if (a.is_int() && b.is_int() && tolerance == 0) return a.to_int() != b.to_int();
  if (is_number(a) && is_number(b)) return numbers_differ(a.to_double(), b.to_double(), tolerance);
  if (std::strcmp(a.kind(), b.kind()) != 0) return true;
  if (a.is_bool()) return a.to_bool() != b.to_bool();
  if (a.is_string()) return a.to_string() != b.to_string();
  if (a.is_bytes()) return a.to_bytes() != b.to_bytes();
  if (!a.is_list() && !a.is_tuple()) return false;  // none, and empty dicts
  if (a.size() != b.size()) return true;
  for (size_t i = 0; i < a.size(); ++i)
    if (plain_values_differ(a.items()[i], b.items()[i], tolerance)) return true;
  return false;
}

/// Describes how two tensors differ; empty if they do not.
std::string tensor_difference(const at::Tensor& a, const at::Tensor& b, double tolerance) {
  if (a.sizes() != b.sizes()) return "shape " + c10::str(a.sizes()) + " and " + c10::str(b.sizes());
  std::string text;
  if (a.scalar_type() != b.scalar_type()) text = "dtype " + dtype_text(a) + " and " + dtype_text(b);
  const ValueDifference found = difference(a, b);
  if (found.count == 0 || found.most <= tolerance) return text;
  return text + (text.empty() ? "" : "; ") + std::to_string(found.count) + " of " + std::to_string(a.numel()) +
         " values differ, by up to " + short_number(found.most);
}

std::string entry_difference(const State& a, const State& b, double tolerance) {
  if (a.is_tensor() && b.is_tensor()) return tensor_difference(a.to_tensor(), b.to_tensor(), tolerance);
  if (!a.is_tensor() && !b.is_tensor() && !plain_values_differ(a, b, tolerance)) return {};
  return value_text(a) + " and " + value_text(b);
}

std::unordered_map<std::string, const State*> by_path(const std::vector<CkptEntry>& entries) {
  std::unordered_map<std::string, const State*> map;
  for (const CkptEntry& entry : entries) map.emplace(entry.path, entry.value);
  return map;
}

}  // namespace

bool ckpt_diff(std::ostream& out, const std::filesystem::path& a, const std::filesystem::path& b, double tolerance) {
  const CkptFile file_a = read_ckpt_file(a, /*verify_checksums=*/false);
  const CkptFile file_b = read_ckpt_file(b, /*verify_checksums=*/false);
  const State *root_a = &file_a.state, *root_b = &file_b.state;
  const State *weights_a = find_state_dict(file_a.state), *weights_b = find_state_dict(file_b.state);
  if (!weights_a != !weights_b) {
    out << (weights_a ? b : a).string() << " holds weights alone: these are compared\n";
    (weights_a ? root_a : root_b) = weights_a ? weights_a : weights_b;
  }
  const std::vector<CkptEntry> entries_a = entries_of(*root_a), entries_b = entries_of(*root_b);
  const auto in_a = by_path(entries_a), in_b = by_path(entries_b);
  size_t differences = 0, all = entries_a.size();
  for (const CkptEntry& entry : entries_a) {
    const auto other = in_b.find(entry.path);
    const std::string text = other == in_b.end() ? "only in " + a.string() + ": " + value_text(*entry.value)
                                                 : entry_difference(*entry.value, *other->second, tolerance);
    if (text.empty()) continue;
    ++differences;
    out << entry.path << ": " << text << "\n";
  }
  for (const CkptEntry& entry : entries_b) {
    if (in_a.contains(entry.path)) continue;
    ++all;
    ++differences;
    out << entry.path << ": only in " << b.string() << ": " << value_text(*entry.value) << "\n";
  }
  if (differences == 0)
    out << "no difference in " << all << " values" << (tolerance > 0 ? " beyond " + short_number(tolerance) : "")
        << "\n";
  else
    out << differences << " of " << all << " values differ\n";
  return differences == 0;
}

namespace {

struct CkptDiffFlags {
  double tolerance = LEVIN_OPTION(tolerance, 0, "Values that are further apart than this differ", {.min = 0});
};

int run_ckpt_diff(const CkptDiffFlags& flags, const Words& words) {
  return ckpt_diff(std::cout, words[0], words[1], flags.tolerance) ? 0 : 1;
}

}  // namespace

Command ckpt_diff_command() {
  return make_command(
      {.name = "ckpt diff",
       .summary = "Compare two checkpoints or files of weights, by name and by value",
       .usage = "A B",
       .about = "Prints what differs: names, shapes, dtypes, and values. If one file holds weights alone, the "
                "other's weights are compared. The exit code is 1 if anything differs.",
       .least = 2,
       .most = 2},
      run_ckpt_diff);
}

}  // namespace levin::cli
