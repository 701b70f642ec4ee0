#include <levin/data/batch_fields.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>

#include <algorithm>

namespace levin::detail {

std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> names(1);
  for (const char c : list) {
    if (c == ',')
      names.emplace_back();
    else if (c != ' ' && c != '\n' && c != '\t')
      names.back() += c;
  }
  return names;
}

int64_t rows_of(const std::vector<const at::Tensor*>& tensors) {
  const auto first = std::ranges::find_if(tensors, [](const at::Tensor* tensor) { return tensor->defined(); });
  if (first == tensors.end()) return 0;
  return (*first)->dim() == 0 ? 1 : (*first)->size(0);
}

at::Tensor cat_rows(const std::vector<at::Tensor>& tensors) { return at::cat(tensors); }
at::Tensor stack_rows(const std::vector<at::Tensor>& tensors) { return at::stack(tensors); }

}  // namespace levin::detail
