#pragma once
#include <levin/trainer/core/option_type.h>

#include <concepts>
#include <initializer_list>
#include <string>
#include <vector>

namespace levin {

/// Which devices: `2` is a count, `{0, 3}`, "0,3" and "2," are device numbers, "auto" and -1 mean all, unset is one.
/// As PyTorch Lightning's `devices`. Throws UsageError for anything else.
class Devices {
 public:
  Devices() = default;
  // `int`, not `int64_t`: with the latter a literal 0 is as good a null `const char*` and the call is ambiguous.
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
  /// How many devices are asked for; `all` where all are, 1 where unset.
  int count(int all) const;
  /// The device numbers of a list; empty otherwise.
  const std::vector<int>& ids() const { return ids_; }
  /// "2", "0,3", "auto"; empty where unset.
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
