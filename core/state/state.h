#pragma once
#include <ATen/core/Tensor.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace levin {

/// A state tree: the plain value that every `state_dict()` returns and every checkpoint contains.
///
/// A value is nothing, a bool, an integer, a float, text, bytes, a tensor, a list, a tuple or a dict (keys in insertion
/// order; text or integers, as in Python's state dicts). It has value semantics, except that copies of a tensor share
/// its storage. Reading a value as another kind throws levin::Error that names both kinds.
class State {
 public:
  using Key = std::variant<std::string, int64_t>;
  using List = std::vector<State>;
  struct Tuple {
    List items = {};
  };
  struct Bytes {
    std::string data = {};
  };
  using Item = std::pair<Key, State>;
  using Dict = std::vector<Item>;

  static constexpr int64_t kMaxDepth = 500;  ///< values nested deeper are neither written to files nor read

  // All of these are out of line. Inline, they would instantiate the variant in each file that includes this header,
  // and g++ 12 would warn of uninitialized strings at every literal tree.
  State();
  State(const State& other);
  State(State&& other) noexcept;
  State& operator=(const State& other);
  State& operator=(State&& other) noexcept;
  ~State();

  State(bool value);
  State(int64_t value);
  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, int64_t>)
  State(T value) : State(static_cast<int64_t>(value)) {}
  State(double value);
  State(const char* value);
  State(std::string value);
  State(std::string_view value);
  State(Bytes value);
  State(at::Tensor value);
  State(List value);
  State(Tuple value);

  /// Returns an empty dict; `State::dict({{"lr", 0.1}, {"params", State::list()}})` fills it.
  static State dict(std::initializer_list<Item> items = {});
  static State list(List items = {});

  bool is_none() const;
  bool is_bool() const;
  bool is_int() const;
  bool is_float() const;
  bool is_string() const;
  bool is_bytes() const;
  bool is_tensor() const;
  bool is_list() const;
  bool is_tuple() const;
  bool is_dict() const;
  /// "none", "bool", "int", "float", "string", "bytes", "tensor", "list", "tuple" or "dict".
  const char* kind() const;

  bool to_bool() const;
  int64_t to_int() const;
  /// Also accepts an int.
  double to_double() const;
  const std::string& to_string() const&;
  std::string to_string() && { return std::as_const(*this).to_string(); }
  const std::string& to_bytes() const&;
  std::string to_bytes() && { return std::as_const(*this).to_bytes(); }
  const at::Tensor& to_tensor() const;
  /// Returns the items of a list or of a tuple.
  const List& items() const&;
  List& items() &;
  List items() && { return std::move(items()); }
  const Dict& to_dict() const&;
  Dict& to_dict() &;
  Dict to_dict() && { return std::move(to_dict()); }

  /// Returns the value under `key`, or nullptr if the dict has none.
  const State* find(const Key& key) const;
  /// Returns the value under `key`; throws levin::Error that names the key and the existing keys.
  const State& at(const Key& key) const;
  /// Returns the value under `key`, inserted as nothing if the dict has none. Nothing itself becomes a dict first.
  State& operator[](const Key& key);
  bool contains(const Key& key) const { return find(key) != nullptr; }
  /// Appends to a list. Nothing itself becomes a list first.
  void push_back(State value);
  /// Returns the number of items of a list, tuple or dict.
  size_t size() const;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Bytes, at::Tensor, List, Tuple, Dict> value_ = {};
};

/// Returns `key` as text: `epoch`, `0`.
std::string to_text(const State::Key& key);

}  // namespace levin
