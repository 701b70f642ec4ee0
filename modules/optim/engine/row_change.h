#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <mutex>
#include <vector>

namespace levin::optim::detail {

/// A change of the rows of one parameter: what becomes of tensors that have a row for each of its rows.
struct RowChange {
  enum class Kind { Keep, Append, ReplaceValue, ReplaceAll };

  Kind kind;
  at::Tensor rows = {};    ///< Keep: the numbers of the rows, int64 [k]
  at::Tensor values = {};  ///< Append: the new rows; otherwise the new value

  /// Returns whether the change needs the state that new rows begin with, one for each row of `values`.
  bool needs_first_state() const { return kind == Kind::Append || kind == Kind::ReplaceAll; }
  /// Returns the new value of the parameter, or of a copy of it in another dtype.
  at::Tensor of_value(const at::Tensor& value) const;
  /// Returns the new average of the parameter's values.
  at::Tensor of_average(const at::Tensor& average) const;
  /// Returns the new state, given the state that new rows begin with; undefined means 0.
  at::Tensor of_state(const at::Tensor& state, const at::Tensor& first) const;
  /// Returns the new gradient; undefined if there is none.
  at::Tensor of_gradient(const at::Tensor& gradient) const;
};

/// What a change does, collected before anything happens, since collecting may throw.
struct RowCommit {
  std::vector<std::function<void()>> actions = {};
  std::vector<at::Tensor> copies = {};  ///< other tensors that the change concerns too, as master weights
  bool has_optimizer = false;           ///< an optimizer steps the parameter
};

/// While a lock lives, no other thread changes rows. Hold one while tensors of an owner of a subscription are
/// exchanged.
class RowLock {
 public:
  RowLock();

 private:
  std::unique_lock<std::mutex> lock_;
};

/// Makes an object take part in changes of rows while the subscription lives. The owner has two functions:
///     bool has_rows_of(const at::Tensor& parameter) const;
///     void prepare(const at::Tensor& parameter, const RowChange& change, RowCommit& commit);
/// Declare it as the owner's last member. `has_rows_of` is called by any thread that changes rows, hence an owner is
/// moved under a RowLock.
class RowSubscription {
 public:
  template <class Owner>
  explicit RowSubscription(Owner& owner) : RowSubscription(owner, RowLock()) {}
  template <class Owner>
  RowSubscription(Owner& owner, const RowLock& /*lock*/)
      : entry_{&owner,
               [](const void* self, const at::Tensor& parameter) {
                 return static_cast<const Owner*>(self)->has_rows_of(parameter);
               },
               [](void* self, const at::Tensor& parameter, const RowChange& change, RowCommit& commit) {
                 static_cast<Owner*>(self)->prepare(parameter, change, commit);
               }} {
    all().push_back(&entry_);
  }
  ~RowSubscription();
  RowSubscription(const RowSubscription&) = delete;
  RowSubscription& operator=(const RowSubscription&) = delete;

 private:
  friend void change_rows(const at::Tensor& parameter, const RowChange& change, bool needs_optimizer);
  struct Entry {
    void* owner;
    bool (*has_rows_of)(const void* owner, const at::Tensor& parameter);
    void (*prepare)(void* owner, const at::Tensor& parameter, const RowChange& change, RowCommit& commit);
  };
  static std::vector<const Entry*>& all();

  const Entry entry_;
};

/// Makes the change to the parameter and to all that follows it. If `needs_optimizer` is set, throws levin::UsageError
/// if no optimizer steps the parameter.
void change_rows(const at::Tensor& parameter, const RowChange& change, bool needs_optimizer = true);

}  // namespace levin::optim::detail
