#include <levin/core/options/class_list.h>
#include <levin/core/system/error.h>

namespace levin {
namespace {

/// The error of the first duplicate registration; empty if there is none.
std::string& duplicate() {
  static std::string message;
  return message;
}

}  // namespace

std::vector<std::string> ClassList::names() const {
  std::vector<std::string> names;
  for (const ClassInfo& info : classes_) names.push_back(info.name);
  return names;
}

const ClassInfo* ClassList::find(const std::string& name) const {
  for (const ClassInfo& info : classes_)
    if (info.name == name) return &info;
  return nullptr;
}

const ClassInfo& ClassList::at(const std::string& name, const std::string& path) const {
  if (const ClassInfo* info = find(name)) return *info;
  throw UsageError(path, ": no ", noun_, " '", name, "'", did_you_mean(name, names()), "; `levin list ", listed_by_,
                   "` shows them");
}

size_t ClassList::add(ClassInfo info) {
  if (find(info.name)) {
    if (duplicate().empty()) duplicate() = "two classes are registered as " + noun_ + " '" + info.name + "'";
    return classes_.size();
  }
  classes_.push_back(std::move(info));
  return classes_.size() - 1;
}

void raise_duplicate_registrations() {
  if (!duplicate().empty()) throw UsageError(duplicate(), "; rename one of them");
}

}  // namespace levin
