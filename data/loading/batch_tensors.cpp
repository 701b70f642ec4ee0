#include <levin/data/loading/batch_tensors.h>

namespace levin {
namespace {

void visit_tensors(const Batch& batch, const std::string& prefix,
                   c10::function_ref<void(const std::string& name, const at::Tensor&)> visit) {
  if (batch.is_own()) return;
  for (const std::string& name : batch.names()) {
    if (!batch.is_list(name)) {
      visit(prefix + name, batch[name]);
      continue;
    }
    const Batch::List& items = batch.list(name);
    for (size_t i = 0; i < items.size(); ++i)
      visit_tensors(items[i], prefix + name + "[" + std::to_string(i) + "].", visit);
  }
}

}  // namespace

void for_each_tensor(const Batch& batch, c10::function_ref<void(const std::string& name, const at::Tensor&)> visit) {
  visit_tensors(batch, "", visit);
}

}  // namespace levin
