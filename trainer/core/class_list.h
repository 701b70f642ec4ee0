#pragma once
#include <levin/trainer/core/option.h>

#include <deque>
#include <string>
#include <vector>

namespace levin {

/// One class that can be chosen by name.
struct ClassInfo {
  std::string name = {};
  /// One line for `levin list` and `--help`.
  std::string help = {};
  /// Its options; called when first needed, never while the program's statics are made.
  const Schema& (*schema)() = nullptr;
};

/// The classes of one kind that can be chosen by name: what Registry knows without knowing what they make.
class ClassList {
 public:
  /// `one` is one of them ("optimizer"), `many` the word of `levin list` ("optimizers").
  ClassList(std::string one, std::string many) : noun_(std::move(one)), listed_by_(std::move(many)) {}

  const std::string& noun() const { return noun_; }
  /// In the order of registration.
  const std::deque<ClassInfo>& classes() const { return classes_; }
  std::vector<std::string> names() const;
  const ClassInfo* find(const std::string& name) const;
  /// Throws UsageError "path: no optimizer 'X' (did you mean Y?); `levin list optimizers` shows them".
  const ClassInfo& at(const std::string& name, const std::string& path) const;

 protected:
  /// Returns the index, or classes().size() where the name is taken (see `raise_duplicate_registrations`).
  size_t add(ClassInfo info);

 private:
  std::string noun_, listed_by_;
  std::deque<ClassInfo> classes_ = {};  // a deque: infos keep their addresses
};

/// Throws UsageError for a class that was registered under a name already taken. Registration itself cannot throw: it
/// runs while the program's statics are made.
void raise_duplicate_registrations();

}  // namespace levin
