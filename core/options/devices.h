#pragma once
#include <levin/core/options/option_type.h>

#include <concepts>
#include <initializer_list>
#include <string>
#include <vector>

namespace levin {

/// The devices of a run, as PyTorch Lightning's `devices`: `2` is a count, `{0, 3}`, "0,3" and "2," are device numbers,
/// "auto" and -1 mean all, unset means one. Throws UsageError for anything else.
class Devices {
 public:
  Devices() = default;
  // `int`, not `int64_t`: with int64_t a literal 0 would convert equally well to a null `const char*`, which is
  // ambiguous.
  Devices(int count);
  Devices(const char* text) : Devices(std::string(text)) {}
  Devices(const std::string& text);
  Devices(std::initializer_list<int> ids) : Devices(std::vector<int>(ids)) {}
  Devices(std::vector<int> ids);
  Devices(std::same_as<bool> auto) = delete;
  Devices(std::floating_point auto) = delete;

  bool is_set() const { return kind_ != Kind::Unset; }
  bool is_all() const { return kind_ == Kind::All; }
  bool is_list() const { return kind_ == Kind::List; }
  /// Returns the number of devices asked for: `all` if all are, 1 if unset.
  int count(int all) const;
  /// Returns the device numbers of a list; empty otherwise.
  const std::vector<int>& ids() const { return ids_; }
  /// Returns "2", "0,3" or "auto"; empty if unset.
  std::string to_text() const;
  bool operator==(const Devices&) const = default;

 private:
  enum class Kind { Unset, All, Count, List };
  Kind kind_ = Kind::Unset;
  int count_ = 0;
  std::vector<int> ids_ = {};
};

LEVIN_DECLARE_OPTION_TYPE(Devices);

}  // namespace levin
