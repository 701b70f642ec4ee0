#include <levin/core/system/warnings.h>
#include <levin/core/system/console.h>

#include <algorithm>
#include <utility>

namespace levin::console {
namespace {

thread_local WarningScope* t_scope = nullptr;

}  // namespace

void warn(const std::string& message) {
  const std::shared_ptr<WarningList> list = WarningScope::list();
  if (list) list->add(message);
  if (!list || list->prints()) print_warning(message);
}

void WarningList::add(const std::string& message) {
  const std::lock_guard lock(mutex_);
  const bool is_known = std::find(messages_.begin(), messages_.end(), message) != messages_.end();
  if (!is_known && messages_.size() < kMost) messages_.push_back(message);
}

std::vector<std::string> WarningList::messages() const {
  const std::lock_guard lock(mutex_);
  return messages_;
}

WarningScope::WarningScope(std::shared_ptr<WarningList> list)
    : list_(std::move(list)), outer_(std::exchange(t_scope, this)) {
  if (list_ && !list_->prints()) handled_.emplace(&handler_.emplace(*list_));
}

WarningScope::~WarningScope() { t_scope = outer_; }

std::shared_ptr<WarningList> WarningScope::list() { return t_scope != nullptr ? t_scope->list_ : nullptr; }

}  // namespace levin::console
