#include <levin/modules/program/operand.h>
#include <ATen/ScalarOps.h>
#include <ATen/core/List.h>
#include <levin/core/system/error.h>

#include <optional>
#include <utility>

namespace levin::program {
namespace {

/// A number as a tensor that does not take part in type promotion, as Python makes it for x * 2.
at::Tensor tensor_of(const c10::Scalar& number) {
  at::Tensor tensor = at::scalar_to_tensor(number);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

[[noreturn]] void misfit(const std::string& wanted) {
  throw UsageError("does not fit the operator, which takes a ", wanted);
}

int64_t as_integer(const NumberOrName& number) {
  if (const auto* value = std::get_if<int64_t>(&number)) return *value;
  misfit("list of whole numbers");
}

double as_real(const NumberOrName& number) {
  if (const auto* value = std::get_if<double>(&number)) return *value;
  if (const auto* value = std::get_if<int64_t>(&number)) return static_cast<double>(*value);
  misfit("list of numbers");
}

bool as_truth(const NumberOrName& number) {
  if (const auto* value = std::get_if<bool>(&number)) return *value;
  misfit("list of truth values");
}

/// The enum that an operator wants where its schema's plain type is int; LibTorch does not check its values.
std::optional<EnumValue::Of> enum_of(const c10::TypePtr& type) {
  if (const auto optional = type->cast<c10::OptionalType>()) return enum_of(optional->getElementType());
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return EnumValue::Of::Dtype;
    case c10::TypeKind::LayoutType:
      return EnumValue::Of::Layout;
    case c10::TypeKind::MemoryFormatType:
      return EnumValue::Of::MemoryFormat;
    default:
      return std::nullopt;
  }
}

}  // namespace

Operand::Operand(const c10::Argument& wanted, const Argument& given, const FindSlot& find) {
  const std::optional<EnumValue::Of> kind = enum_of(wanted.real_type());
  const auto* value = std::get_if<EnumValue>(&given);
  const bool fits = kind ? value != nullptr && value->of == *kind : value == nullptr;
  if (!fits && !std::holds_alternative<std::monostate>(given)) misfit(wanted.real_type()->str());
  set(wanted.type(), given, find);
}

Operand::Operand(const Argument& given, const FindSlot& find) {
  if (const auto* name = std::get_if<Name>(&given))
    set_value(Kind::Value, *name, find);
  else if (const auto* number = std::get_if<int64_t>(&given))
    constant = *number;
  else if (const auto* real = std::get_if<double>(&given))
    constant = *real;
  else if (const auto* truth = std::get_if<bool>(&given))
    constant = *truth;
  else
    misfit("number");
}

void Operand::set_value(Kind kind, const Name& name, const FindSlot& find) {
  kind_ = kind;
  items_.push_back({.slot = find(name)});
}

void Operand::set(const c10::TypePtr& type, const Argument& given, const FindSlot& find) {
  if (const auto optional = type->cast<c10::OptionalType>()) {
    if (!std::holds_alternative<std::monostate>(given)) set(optional->getElementType(), given, find);
    return;
  }
  if (const auto list = type->cast<c10::ListType>()) return set_list(list->getElementType(), given, find);
  const c10::TypeKind kind = type->kind();
  if (const auto* name = std::get_if<Name>(&given)) {
    if (kind == c10::TypeKind::TensorType) return set_value(Kind::NumberAsTensor, *name, find);
    if (kind == c10::TypeKind::IntType || kind == c10::TypeKind::FloatType || kind == c10::TypeKind::BoolType ||
        kind == c10::TypeKind::NumberType)
      return set_value(Kind::Value, *name, find);
    misfit(type->str());
  }
  const auto* integer = std::get_if<int64_t>(&given);
  const auto* real = std::get_if<double>(&given);
  const auto* truth = std::get_if<bool>(&given);
  switch (kind) {
    case c10::TypeKind::TensorType:
      if (integer != nullptr)
        constant = tensor_of(*integer);
      else if (real != nullptr)
        constant = tensor_of(*real);
      else if (truth != nullptr)
        constant = tensor_of(*truth);
      else
        break;
      return;
    case c10::TypeKind::IntType:
      if (integer != nullptr)
        constant = *integer;
      else if (truth != nullptr)
        constant = static_cast<int64_t>(*truth);
      else if (const auto* value = std::get_if<EnumValue>(&given))
        constant = value->value;
      else
        break;
      return;
    case c10::TypeKind::FloatType:
      if (real != nullptr)
        constant = *real;
      else if (integer != nullptr)
        constant = static_cast<double>(*integer);
      else
        break;
      return;
    case c10::TypeKind::BoolType:
      if (truth != nullptr)
        constant = *truth;
      else if (integer != nullptr && (*integer == 0 || *integer == 1))
        constant = *integer == 1;
      else
        break;
      return;
    case c10::TypeKind::NumberType:
      if (integer != nullptr)
        constant = *integer;
      else if (real != nullptr)
        constant = *real;
      else if (truth != nullptr)
        constant = *truth;
      else
        break;
      return;
    case c10::TypeKind::StringType:
      if (const auto* text = std::get_if<std::string>(&given))
        constant = *text;
      else
        break;
      return;
    case c10::TypeKind::DeviceObjType:
      if (const auto* device = std::get_if<c10::Device>(&given))
        constant = *device;
      else
        break;
      return;
    default:
      break;
  }
  misfit(type->str());
}

void Operand::set_list(const c10::TypePtr& element, const Argument& given, const FindSlot& find) {
  const auto* numbers = std::get_if<std::vector<NumberOrName>>(&given);
  const bool of_tensors = element->kind() == c10::TypeKind::TensorType;
  if (of_tensors || element->kind() == c10::TypeKind::OptionalType) {
    kind_ = of_tensors ? Kind::Tensors : Kind::OptionalTensors;
    if (const auto* names = std::get_if<std::vector<Name>>(&given)) {
      for (const Name& name : *names) items_.push_back({.slot = find(name)});
    } else if (const auto* optional = std::get_if<std::vector<std::optional<Name>>>(&given)) {
      for (const std::optional<Name>& name : *optional) {
        if (!name && of_tensors) misfit("list of tensors");
        items_.push_back(name ? Item{.slot = find(*name)} : Item{});
      }
    } else if (numbers == nullptr || !numbers->empty()) {
      misfit("list of tensors");
    }
    return;
  }
  std::vector<NumberOrName> one;
  if (const auto* integer = std::get_if<int64_t>(&given)) one = {*integer};
  if (numbers == nullptr) numbers = &one;
  bool has_names = false;
  for (const NumberOrName& number : *numbers) has_names = has_names || std::holds_alternative<Name>(number);
  switch (element->kind()) {
    case c10::TypeKind::IntType:
      kind_ = Kind::Integers;
      break;
    case c10::TypeKind::FloatType:
      kind_ = Kind::Reals;
      break;
    case c10::TypeKind::BoolType:
      kind_ = Kind::Truths;
      break;
    default:
      misfit("list of " + element->str());
  }
  if (numbers->empty() && !std::holds_alternative<std::vector<NumberOrName>>(given) &&
      !std::holds_alternative<std::vector<Name>>(given))
    misfit("list of " + element->str());
  for (const NumberOrName& number : *numbers) {
    if (const auto* name = std::get_if<Name>(&number))
      items_.push_back({.slot = find(*name)});
    else if (kind_ == Kind::Integers)
      items_.push_back({.constant = as_integer(number)});
    else if (kind_ == Kind::Reals)
      items_.push_back({.constant = as_real(number)});
    else
      items_.push_back({.constant = as_truth(number)});
  }
  if (has_names) return;
  std::vector<c10::IValue> no_values;
  constant = put_together(no_values);
  kind_ = Kind::Constant;
  items_.clear();
}

void Operand::for_each_slot_from_the_end(const std::function<void(Slot, bool& is_last_use)>& visit) {
  for (auto item = items_.rbegin(); item != items_.rend(); ++item)
    if (item->slot != kNoSlot) visit(item->slot, item->is_last_use);
}

c10::IValue Operand::put_together(std::vector<c10::IValue>& values) const {
  switch (kind_) {
    case Kind::NumberAsTensor: {
      c10::IValue value = take_slot(items_.front(), values);
      return value.isTensor() ? value : c10::IValue(tensor_of(value.toScalar()));
    }
    case Kind::Tensors: {
      c10::List<at::Tensor> list;
      list.reserve(items_.size());
      for (const Item& item : items_) list.push_back(value_of(item, values).toTensor());
      return list;
    }
    case Kind::OptionalTensors: {
      c10::List<std::optional<at::Tensor>> list;
      list.reserve(items_.size());
      for (const Item& item : items_)
        list.push_back(item.slot == kNoSlot ? std::nullopt : std::optional(take_slot(item, values).toTensor()));
      return list;
    }
    case Kind::Integers: {
      c10::List<int64_t> list;
      list.reserve(items_.size());
      for (const Item& item : items_) list.push_back(value_of(item, values).toInt());
      return list;
    }
    case Kind::Reals: {
      c10::List<double> list;
      for (const Item& item : items_) list.push_back(value_of(item, values).toScalar().toDouble());
      return list;
    }
    case Kind::Truths: {
      c10::List<bool> list;
      for (const Item& item : items_) list.push_back(value_of(item, values).toBool());
      return list;
    }
    case Kind::Constant:
      return constant;
    case Kind::Value:
      break;
  }
  return take_slot(items_.front(), values);
}

}  // namespace levin::program
