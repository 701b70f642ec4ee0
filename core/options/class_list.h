#pragma once
#include <levin/core/options/option.h>

#include <deque>
#include <string>
#include <vector>

namespace levin {

/// One class that can be chosen by name.
struct ClassInfo {
  std::string name = {};
  /// One line of help for `levin list` and `--help`.
  std::string help = {};
  /// Returns the options of the class. Called on first use, never during static initialization.
  const Schema& (*schema)() = nullptr;
};

/// The classes of one kind that can be chosen by name: the part of Registry that does not depend on the type it makes.
class ClassList {
 public:
  /// `one` is the singular ("optimizer"), `many` the plural that `levin list` takes ("optimizers").
  ClassList(std::string one, std::string many) : noun_(std::move(one)), listed_by_(std::move(many)) {}

  const std::string& noun() const { return noun_; }
  /// Returns the classes in the order of registration.
  const std::deque<ClassInfo>& classes() const { return classes_; }
  std::vector<std::string> names() const;
  const ClassInfo* find(const std::string& name) const;
  /// Throws UsageError "path: no optimizer 'X' (did you mean Y?); `levin list optimizers` shows them".
  const ClassInfo& at(const std::string& name, const std::string& path) const;

 protected:
  /// Returns the new class's index, or classes().size() if the name is taken (see `raise_duplicate_registrations`).
  size_t add(ClassInfo info);

 private:
  std::string noun_, listed_by_;
  std::deque<ClassInfo> classes_ = {};  // a deque: infos keep their addresses
};

/// Throws UsageError if two classes were registered under the same name. Registration itself cannot throw, since it
/// runs during static initialization.
void raise_duplicate_registrations();

}  // namespace levin
