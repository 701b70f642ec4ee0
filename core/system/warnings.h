#pragma once
#include <c10/util/Exception.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace levin::console {

/// Warnings of a run, from any of its threads: each once, and at most the first kMost.
class WarningList {
 public:
  static constexpr size_t kMost = 100;

  /// `prints`: each warning is printed as well.
  explicit WarningList(bool prints) : prints_(prints) {}

  void add(const std::string& message);
  bool prints() const { return prints_; }
  std::vector<std::string> messages() const;

 private:
  const bool prints_;
  mutable std::mutex mutex_ = {};
  std::vector<std::string> messages_ = {};
};

/// While it lives, warnings of this thread are added to a list; those of LibTorch too, if the list does not print.
class WarningScope {
 public:
  /// Null: warnings are printed alone.
  explicit WarningScope(std::shared_ptr<WarningList> list);
  ~WarningScope();
  WarningScope(const WarningScope&) = delete;
  WarningScope& operator=(const WarningScope&) = delete;

  /// Returns the list of this thread, to hand it on to a thread that works for it; null without one.
  static std::shared_ptr<WarningList> list();

 private:
  /// LibTorch's warnings (TORCH_WARN) go to a list.
  class ToList final : public c10::WarningHandler {
   public:
    explicit ToList(WarningList& list) : list_(list) {}
    void process(const c10::Warning& warning) override { list_.add("LibTorch: " + warning.msg()); }

   private:
    WarningList& list_;
  };

  std::shared_ptr<WarningList> list_;
  WarningScope* const outer_;
  std::optional<ToList> handler_ = {};
  std::optional<c10::WarningUtils::WarningHandlerGuard> handled_ = {};
};

}  // namespace levin::console
