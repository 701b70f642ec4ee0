#pragma once
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <levin/modules/program/exported_program.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace levin::program {

/// A value while a program runs, by its number.
using Slot = int32_t;
constexpr Slot kNoSlot = -1;

/// Finds the slot of a value that was made before. Throws levin::UsageError if there is none.
using FindSlot = std::function<Slot(const Name&)>;

/// An argument of an operator: a constant, a value, or a list that is put together from both.
class Operand {
 public:
  /// An argument of the type that the operator's schema wants. Throws levin::UsageError if the program's argument does
  /// not fit.
  Operand(const c10::Argument& wanted, const Argument& given, const FindSlot& find);
  /// An argument of a function of numbers.
  Operand(const Argument& given, const FindSlot& find);
  explicit Operand(c10::IValue constant_) : constant(std::move(constant_)) {}

  /// Calls `visit` with each slot that the operand reads, the last one first, and whether this is its last use.
  void for_each_slot_from_the_end(const std::function<void(Slot, bool& is_last_use)>& visit);
  bool is_constant() const { return kind_ == Kind::Constant; }
  /// Returns the argument; a value whose last use this is leaves `values`.
  c10::IValue take(std::vector<c10::IValue>& values) const {
    if (kind_ == Kind::Constant) return constant;
    if (kind_ == Kind::Value) return take_slot(items_.front(), values);
    return put_together(values);
  }

  c10::IValue constant;  ///< of a constant

 private:
  enum class Kind { Constant, Value, NumberAsTensor, Tensors, OptionalTensors, Integers, Reals, Truths };
  struct Item {
    Slot slot = kNoSlot;
    bool is_last_use = false;
    c10::IValue constant = {};
  };

  static c10::IValue take_slot(const Item& item, std::vector<c10::IValue>& values) {
    auto& value = values[static_cast<size_t>(item.slot)];
    return item.is_last_use ? std::move(value) : value;
  }
  static c10::IValue value_of(const Item& item, std::vector<c10::IValue>& values) {
    return item.slot == kNoSlot ? item.constant : take_slot(item, values);
  }
  c10::IValue put_together(std::vector<c10::IValue>& values) const;
  void set(const c10::TypePtr& type, const Argument& given, const FindSlot& find);
  void set_list(const c10::TypePtr& element, const Argument& given, const FindSlot& find);
  void set_value(Kind kind, const Name& name, const FindSlot& find);

  Kind kind_ = Kind::Constant;
  std::vector<Item> items_ = {};
};

}  // namespace levin::program
