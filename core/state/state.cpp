#include <levin/core/state/state.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace levin {
namespace {

constexpr const char* kKinds[] = {"none", "bool", "int", "float", "string", "bytes", "tensor", "list", "tuple", "dict"};

[[noreturn]] void wrong_kind(const char* expected, const State& value) {
  throw Error("state: expected a ", expected, ", found a ", value.kind());
}

template <class T, class Variant>
auto& get(Variant& value, const char* expected, const State& self) {
  if (auto* held = std::get_if<T>(&value)) return *held;
  wrong_kind(expected, self);
}

std::string known_keys(const State::Dict& dict) {
  constexpr size_t kShown = 12;
  std::string text;
  for (size_t i = 0; i < std::min(dict.size(), kShown); ++i) text += (i ? ", " : "") + to_text(dict[i].first);
  return dict.size() > kShown ? text + ", ..." : text;
}

}  // namespace

State::State() = default;
State::State(const State& other) = default;
State::State(State&& other) noexcept = default;
State& State::operator=(const State& other) = default;
State& State::operator=(State&& other) noexcept = default;
State::~State() = default;

State::State(bool value) : value_(value) {}
State::State(int64_t value) : value_(value) {}
State::State(double value) : value_(value) {}
State::State(const char* value) : value_(std::string(value)) {}
State::State(std::string value) : value_(std::move(value)) {}
State::State(std::string_view value) : value_(std::string(value)) {}
State::State(Bytes value) : value_(std::move(value)) {}
State::State(at::Tensor value) : value_(std::move(value)) {}
State::State(List value) : value_(std::move(value)) {}
State::State(Tuple value) : value_(std::move(value)) {}

State State::dict(std::initializer_list<Item> items) {
  State state;
  state.value_ = Dict(items);
  return state;
}

State State::list(List items) { return State(std::move(items)); }

bool State::is_none() const { return std::holds_alternative<std::monostate>(value_); }
bool State::is_bool() const { return std::holds_alternative<bool>(value_); }
bool State::is_int() const { return std::holds_alternative<int64_t>(value_); }
bool State::is_float() const { return std::holds_alternative<double>(value_); }
bool State::is_string() const { return std::holds_alternative<std::string>(value_); }
bool State::is_bytes() const { return std::holds_alternative<Bytes>(value_); }
bool State::is_tensor() const { return std::holds_alternative<at::Tensor>(value_); }
bool State::is_list() const { return std::holds_alternative<List>(value_); }
bool State::is_tuple() const { return std::holds_alternative<Tuple>(value_); }
bool State::is_dict() const { return std::holds_alternative<Dict>(value_); }

const char* State::kind() const { return kKinds[value_.index()]; }

bool State::to_bool() const { return get<bool>(value_, "bool", *this); }
int64_t State::to_int() const { return get<int64_t>(value_, "int", *this); }
double State::to_double() const {
  if (is_int()) return static_cast<double>(std::get<int64_t>(value_));
  return get<double>(value_, "float", *this);
}
const std::string& State::to_string() const& { return get<std::string>(value_, "string", *this); }
const std::string& State::to_bytes() const& { return get<Bytes>(value_, "bytes", *this).data; }
const at::Tensor& State::to_tensor() const { return get<at::Tensor>(value_, "tensor", *this); }

const State::List& State::items() const& {
  if (auto* tuple = std::get_if<Tuple>(&value_)) return tuple->items;
  return get<List>(value_, "list", *this);
}
State::List& State::items() & { return const_cast<List&>(std::as_const(*this).items()); }

const State::Dict& State::to_dict() const& { return get<Dict>(value_, "dict", *this); }
State::Dict& State::to_dict() & { return get<Dict>(value_, "dict", *this); }

const State* State::find(const Key& key) const {
  for (const Item& item : to_dict())
    if (item.first == key) return &item.second;
  return nullptr;
}

const State& State::at(const Key& key) const {
  if (const State* value = find(key)) return *value;
  throw Error("state: no key '", to_text(key), "'; there are: ", known_keys(to_dict()));
}

State& State::operator[](const Key& key) {
  if (is_none()) value_ = Dict{};
  if (const State* value = find(key)) return const_cast<State&>(*value);
  return to_dict().emplace_back(key, State()).second;
}

void State::push_back(State value) {
  if (is_none()) value_ = List{};
  items().push_back(std::move(value));
}

size_t State::size() const { return is_dict() ? to_dict().size() : items().size(); }

std::string to_text(const State::Key& key) {
  if (auto* number = std::get_if<int64_t>(&key)) return std::to_string(*number);
  return std::get<std::string>(key);
}

}  // namespace levin
