#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/util/Exception.h>
#include <levin/core/run/hiding.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace levin {

class Batch;

/// A user's own batch: a struct with `int64_t size() const`, the number of its samples, and `B to(c10::Device) const`
/// or `B to(c10::Device, bool non_blocking) const`.
///
/// Optional members:
/// - `B pin_memory() const`
/// - `B to(at::ScalarType) const`, for runs in another precision
/// - `B narrow(int64_t start, int64_t length) const`, samples [start, start + length), and
///   `static B gather(const std::vector<B>&)`: several devices need both
/// - `static B stack(const std::vector<B>&)`, which makes a batch of the single samples that a dataset's `get` returns
template <class B>
concept OwnBatch = !std::same_as<B, Batch> && requires(const B& batch) {
  { batch.size() } -> std::convertible_to<int64_t>;
} && (requires(const B& batch, c10::Device device) {
  { batch.to(device) } -> std::convertible_to<B>;
} || requires(const B& batch, c10::Device device) {
  { batch.to(device, true) } -> std::convertible_to<B>;
});

namespace detail {

/// Fails to compile, with a message that names the missing member, if `B` cannot be a batch.
template <class B>
constexpr void check_own_batch() {
  static_assert(
      requires(const B& batch) {
        { batch.size() } -> std::convertible_to<int64_t>;
      }, "levin: a struct that is a batch needs `int64_t size() const`, the number of its samples");
  static_assert(
      requires(const B& batch, c10::Device device) {
        { batch.to(device) } -> std::convertible_to<B>;
      } ||
          requires(const B& batch, c10::Device device) {
            { batch.to(device, true) } -> std::convertible_to<B>;
          },
      "levin: a struct that is a batch needs `B to(c10::Device device) const`, itself with its tensors on the device");
}

/// A struct that may be meant as a batch but lacks a required member.
template <class B>
concept AlmostBatch = std::is_class_v<B> && std::is_aggregate_v<B> && !OwnBatch<B> &&
                      !std::convertible_to<B, at::Tensor> && !requires { typename B::value_type; };

}  // namespace detail

/// The data that a step receives: named tensors whose dimension 0 counts the samples, or a user's own struct.
///
/// `input` and `target` are the usual names. A name can also hold a list with one Batch per sample (the boxes of each
/// image, for example). A Batch copies as a handle: copies share their tensors.
class Batch {
 public:
  using List = std::vector<Batch>;
  struct Value {
    Value(at::Tensor t) : tensor(std::move(t)) {}
    Value(List items) : list(std::move(items)), is_list(true) {}
    at::Tensor tensor = {};
    List list = {};
    bool is_list = false;
  };
  using Item = std::pair<std::string, Value>;

  Batch() = default;
  /// `input` [samples, ...] and `target` [samples, ...]; an undefined `target` means that there is none.
  Batch(at::Tensor input, at::Tensor target = {}) : input_(std::move(input)), target_(std::move(target)) {}
  /// Named tensors and lists: `Batch({{"ids", ids}, {"mask", mask}})`. A name given twice throws levin::Error.
  Batch(std::initializer_list<Item> items) : Batch(std::vector<Item>(items)) {}
  explicit Batch(std::vector<Item> items);
  /// Holds a user's own struct; `as<B>()` returns it.
  template <OwnBatch B>
  Batch(B own);
  /// Fails to compile: the struct lacks a member that a batch needs.
  template <detail::AlmostBatch B>
  Batch(B) {
    detail::check_own_batch<B>();
  }

  /// Returns the tensor named `input`. Throws levin::Error that names what the batch holds instead.
  const at::Tensor& input() const {
    if (C10_LIKELY(input_.defined())) return input_;
    throw_absent("input");
  }
  /// Returns the tensor named `target`; throws as `input()`.
  const at::Tensor& target() const {
    if (C10_LIKELY(target_.defined())) return target_;
    throw_absent("target");
  }
  /// Returns the tensor of this name; throws as `input()`.
  const at::Tensor& operator[](std::string_view name) const;
  /// Returns the list of this name, one Batch per sample; throws as `input()`.
  const List& list(std::string_view name) const;
  /// Returns whether there is a tensor or a list of this name.
  bool contains(std::string_view name) const { return find(name) || find_list(name); }
  bool is_list(std::string_view name) const { return find_list(name) != nullptr; }
  /// Adds or replaces a tensor; other copies of this batch keep theirs.
  void set(std::string_view name, at::Tensor tensor);
  /// Returns a contiguous CPU tensor to write into, with undefined values: the tensor of this name, moved out of the
  /// batch, if it has this dtype, enough memory and no other owner; otherwise a new tensor.
  ///
  /// For Dataset::get_batch, whose `out` may be an earlier batch, so that batches reuse its memory.
  at::Tensor take_buffer(std::string_view name, at::IntArrayRef sizes, at::ScalarType dtype);
  /// Returns the names of tensors and lists: input, target, then the others in the order given.
  std::vector<std::string> names() const;
  /// Calls `visit(std::string_view name, const at::Tensor* tensor)` for each name in this order; a list has no tensor.
  template <class Visit>
  void visit(const Visit& visit) const;

  /// Returns the user's own struct; throws levin::Error if the batch holds tensors or another struct.
  template <class B>
  const B& as() const;
  /// Returns the user's own struct, or null if the batch holds something else.
  template <class B>
  const B* get_if() const;
  /// Returns whether the batch holds a user's own struct.
  bool is_own() const { return own_ != nullptr; }
  bool empty() const { return !input_.defined() && !target_.defined() && !named_ && !own_; }

  /// Returns the number of samples: dimension 0 of the first tensor (1 for a scalar), or the length of the first list.
  int64_t size() const;

  /// Returns the batch on `device`; tensors that are already there are shared, not copied.
  Batch to(c10::Device device, bool non_blocking = false) const&;
  Batch to(c10::Device device, bool non_blocking = false) &&;
  /// Returns the batch with its floating-point tensors in `dtype`, as torch::nn::Module::to does; tensors that have the
  /// dtype are shared. A struct without `to(at::ScalarType)` stays as it is.
  Batch to(at::ScalarType dtype) const;
  /// Returns the batch in page-locked memory; throws c10::Error without an accelerator. A struct without `pin_memory()`
  /// stays as it is.
  Batch pin_memory() const;
  /// Returns the batch with its 4-dimensional tensors [N, C, H, W] in the memory format channels_last and its
  /// 5-dimensional ones in channels_last_3d; tensors already in that format are shared. User structs stay as they are.
  Batch channels_last() const;
  /// Returns samples [start, start + length), as views. Throws levin::Error if a tensor has another number of rows.
  Batch narrow(int64_t start, int64_t length) const;
  /// Returns the batch with copies of its tensors. Throws levin::Error for a user's own struct.
  Batch clone() const;
  /// Returns copies of the samples with these indices, int64 [n] on the device of the tensors. Throws levin::Error for
  /// a user's own struct.
  Batch index_select(const at::Tensor& indices) const;
  /// Returns at most `chunks` parts of nearly equal size, in order, as torch::chunk does.
  std::vector<Batch> chunk(int64_t chunks) const;
  /// Joins the samples of all batches in order into one batch on `device`. All batches must hold the same names.
  static Batch gather(const std::vector<Batch>& batches, c10::Device device);
  /// Stacks single samples, which have no sample dimension, to a batch. All samples must hold the same names and
  /// shapes; user structs are stacked by their `static B stack(const std::vector<B>&)`.
  static Batch stack(const std::vector<Batch>& samples);

 private:
  /// Type erasure for a user's struct.
  struct Own {
    virtual ~Own() = default;
    virtual const std::type_info& type() const = 0;
    virtual int64_t size() const = 0;
    virtual Batch to(c10::Device device, bool non_blocking) const = 0;
    virtual Batch to(at::ScalarType dtype) const = 0;
    virtual Batch pin_memory() const = 0;
    virtual Batch narrow(int64_t start, int64_t length) const = 0;
    virtual Batch gather(const std::vector<Batch>& batches) const = 0;
    virtual Batch stack(const std::vector<Batch>& samples) const = 0;
  };
  template <class B>
  struct OwnOf;

  [[noreturn]] void throw_absent(std::string_view name) const;
  [[noreturn]] void throw_not_a(const std::type_info& wanted) const;
  [[noreturn]] static void throw_own_lacks(const std::type_info& type, const char* member);
  std::string contents() const;
  const at::Tensor* find(std::string_view name) const;
  const List* find_list(std::string_view name) const;
  bool is_on(c10::Device device) const;
  template <class OfTensor, class OfList>
  Batch map(const OfTensor& of_tensor, const OfList& of_list) const;
  template <class Join>
  static Batch join(const std::vector<Batch>& parts, const Join& join_tensors);

  at::Tensor input_ = {}, target_ = {};
  std::shared_ptr<std::vector<Item>> named_ = {};  // never changed while another batch shares it
  std::shared_ptr<const Own> own_ = {};
};

template <class B>
struct Batch::OwnOf final : Batch::Own {
  explicit OwnOf(B own) : value(std::move(own)) {}
  const std::type_info& type() const override { return typeid(B); }
  int64_t size() const override { return value.size(); }
  Batch to(c10::Device device, [[maybe_unused]] bool non_blocking) const override {
    if constexpr (requires { B(value.to(device, non_blocking)); }) {
      return Batch(B(value.to(device, non_blocking)));
    } else {
      return Batch(B(value.to(device)));
    }
  }
  Batch to([[maybe_unused]] at::ScalarType dtype) const override {
    if constexpr (requires { B(value.to(dtype)); }) {
      return Batch(B(value.to(dtype)));
    } else {
      return Batch(value);
    }
  }
  Batch pin_memory() const override {
    if constexpr (requires { B(value.pin_memory()); }) {
      return Batch(B(value.pin_memory()));
    } else {
      return Batch(value);
    }
  }
  Batch narrow([[maybe_unused]] int64_t start, [[maybe_unused]] int64_t length) const override {
    if constexpr (requires { B(value.narrow(start, length)); }) {
      return Batch(B(value.narrow(start, length)));
    } else {
      throw_own_lacks(typeid(B), "narrow(int64_t start, int64_t length) const");
    }
  }
  Batch gather([[maybe_unused]] const std::vector<Batch>& batches) const override {
    if constexpr (requires(const std::vector<B>& values) { B(B::gather(values)); }) {
      return Batch(B(B::gather(all(batches))));
    } else {
      throw_own_lacks(typeid(B), "static gather(const std::vector&)");
    }
  }
  Batch stack([[maybe_unused]] const std::vector<Batch>& samples) const override {
    if constexpr (requires(const std::vector<B>& values) { B(B::stack(values)); }) {
      return Batch(B(B::stack(all(samples))));
    } else {
      throw_own_lacks(typeid(B), "static stack(const std::vector&)");
    }
  }
  static std::vector<B> all(const std::vector<Batch>& batches) {
    std::vector<B> values;
    for (const Batch& batch : batches) values.push_back(batch.as<B>());
    return values;
  }
  B value;
};

template <OwnBatch B>
Batch::Batch(B own) : own_(std::make_shared<OwnOf<B>>(std::move(own))) {}

template <class Visit>
void Batch::visit(const Visit& visit) const {
  if (input_.defined()) visit(std::string_view("input"), &input_);
  if (target_.defined()) visit(std::string_view("target"), &target_);
  if (!named_) return;
  for (const auto& [name, value] : *named_) visit(std::string_view(name), value.is_list ? nullptr : &value.tensor);
}

template <class B>
const B* Batch::get_if() const {
  if (!own_ || own_->type() != typeid(B)) return nullptr;
  return &static_cast<const OwnOf<B>&>(*own_).value;
}

template <class B>
const B& Batch::as() const {
  detail::check_own_batch<B>();
  if (!own_ || own_->type() != typeid(B)) throw_not_a(typeid(B));
  return static_cast<const OwnOf<B>&>(*own_).value;
}

}  // namespace levin
