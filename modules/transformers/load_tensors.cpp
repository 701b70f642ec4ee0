#include <levin/modules/transformers/load_tensors.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/system/error.h>
#include <levin/modules/adapters/late_weights.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

namespace levin::nn {
namespace {

/// Buffers that older versions of transformers have written, and that follow from config.json.
constexpr std::array<std::string_view, 7> kOldBuffers = {".rotary_emb.inv_freq",     ".attn.bias",
                                                         ".attn.masked_bias",        ".attention.bias",
                                                         ".attention.masked_bias",   "embeddings.position_ids",
                                                         "embeddings.token_type_ids"};

bool is_old_buffer(const std::string& name) {
  return std::ranges::any_of(kOldBuffers, [&](std::string_view end) { return name.ends_with(end); });
}

/// Takes the whole pages of a tensor of a mapped file from this process's memory; the system reads them again if they
/// are used.
void release_pages(const at::Tensor& mapped) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(mapped.const_data_ptr());
  const uintptr_t begin = (first + page - 1) / page * page, end = (first + mapped.nbytes()) / page * page;
  if (end > begin) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

std::string first_names(const std::vector<std::string>& names) {
  constexpr size_t kShown = 10;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > kShown ? text + " and " + std::to_string(names.size() - kShown) + " more" : text;
}

std::string line_of_names(const char* what, const std::vector<std::string>& names) {
  return names.empty() ? "" : std::string("\n  ") + what + ": " + first_names(names);
}

bool is_weight_dtype(at::ScalarType dtype) {
  return dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kHalf || dtype == at::kDouble;
}

void check_weight_count(double least, const PretrainedTensors& tensors, const std::filesystem::path& folder) {
  double in_files = 0;
  for (const auto& [key, tensor] : tensors) in_files += static_cast<double>(tensor.numel());
  if (least > 4 * in_files + 1e6)
    throw UsageError(folder.string(), ": the sizes in config.json give ", least, " weights, and the files have ",
                     in_files);
}

at::ScalarType dtype_of_pretrained(const PretrainedTensors& tensors, const std::filesystem::path& folder) {
  const std::pair<const std::string, at::Tensor>* first = nullptr;
  for (const auto& item : tensors) {
    if (is_old_buffer(item.first) || !is_weight_dtype(item.second.scalar_type())) continue;
    if (first == nullptr) first = &item;
    if (item.second.scalar_type() != first->second.scalar_type())
      throw UsageError(folder.string(), ": has weights of several dtypes: ", first->first, " is ",
                       first->second.scalar_type(), ", ", item.first, " is ", item.second.scalar_type(),
                       "; set model.dtype to float32");
  }
  if (first == nullptr) throw UsageError(folder.string(), ": has no weights of a floating dtype");
  return first->second.scalar_type();
}

TensorReport load_tensors(torch::nn::Module& module, const PretrainedTensors& tensors, const TensorRules& rules,
                          const std::filesystem::path& folder) {
  std::vector<std::string> missing, unexpected, mismatched;
  std::set<std::string> known;
  struct Copy {
    at::Tensor parameter, target, source;
  };
  std::vector<Copy> copies;
  TensorReport report;
  for (const auto& item : module.named_parameters()) {
    known.insert(item.key());
    const bool may_be_new = rules.may_be_new && rules.may_be_new(item.key());
    const auto found = tensors.find(item.key());
    if (found == tensors.end()) {
      (may_be_new ? report.kept : missing).push_back(item.key());
      continue;
    }
    const at::Tensor own = item.value().detach();
    const at::Tensor target = rules.as_in_files ? rules.as_in_files(own, item.key()) : own;
    const at::Tensor& source = found->second;
    if (target.sizes() == source.sizes() && is_weight_dtype(source.scalar_type()))
      copies.push_back({item.value(), target, source});
    else if (may_be_new && rules.replaces)
      report.kept.push_back(item.key());
    else
      mismatched.push_back(
          c10::str(item.key(), " (is ", source.sizes(), " of ", source.scalar_type(), ", needs ", target.sizes(), ")"));
  }
  for (const auto& [name, tensor] : tensors) {
    if (known.contains(name) || is_old_buffer(name)) continue;
    (rules.is_left && rules.is_left(name) ? report.left : unexpected).push_back(name);
  }
  if (!missing.empty() || !unexpected.empty() || !mismatched.empty())
    throw UsageError(folder.string(), ": the weights do not fit a ", rules.family,
                     " of the sizes in config.json:", line_of_names("missing", missing),
                     line_of_names("unexpected", unexpected), line_of_names("mismatched", mismatched));
  const at::NoGradGuard no_grad;
  for (auto& [parameter, target, source] : copies) {
    if (adapters::LateWeights* const late = adapters::LateWeights::current())
      late->add(parameter, [target = target, source = source] {
        target.copy_(source);
        release_pages(source);
      });
    else
      target.copy_(source);
  }
  return report;
}

}  // namespace levin::nn
