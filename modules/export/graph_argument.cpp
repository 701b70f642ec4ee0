#include <levin/modules/export/graph_argument.h>
#include <levin/core/system/error.h>

#include <optional>
#include <utility>

namespace levin::program {
namespace {

/// The type behind an optional one.
c10::TypePtr inner(const c10::TypePtr& type) {
  const auto optional = type == nullptr ? nullptr : type->cast<c10::OptionalType>();
  return optional ? optional->getElementType() : type;
}

}  // namespace

Argument number_argument(int64_t value, const c10::TypePtr& type) {
  switch (const c10::TypePtr plain = inner(type); plain == nullptr ? c10::TypeKind::IntType : plain->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return EnumValue{value, EnumValue::Of::Dtype};
    case c10::TypeKind::LayoutType:
      if (value != static_cast<int64_t>(at::kStrided)) throw UsageError("makes a sparse tensor");
      return EnumValue{value, EnumValue::Of::Layout};
    case c10::TypeKind::MemoryFormatType:
      return EnumValue{value, EnumValue::Of::MemoryFormat};
    case c10::TypeKind::FloatType:
      return static_cast<double>(value);
    default:
      return value;
  }
}

Argument list_argument(const std::vector<Argument>& items, const c10::TypePtr& type) {
  const c10::TypePtr plain = inner(type);
  const auto list_type = plain == nullptr ? nullptr : plain->cast<c10::ListType>();
  const bool takes_none = list_type && list_type->getElementType()->kind() == c10::TypeKind::OptionalType;
  const bool takes_tensors = list_type && list_type->getElementType()->kind() == c10::TypeKind::TensorType;
  const auto is_tensor = [](const Argument& item) { return std::holds_alternative<Name>(item); };
  if (takes_none) {
    std::vector<std::optional<Name>> names;
    for (const Argument& item : items)
      names.push_back(is_tensor(item) ? std::optional(std::get<Name>(item)) : std::nullopt);
    return names;
  }
  if (takes_tensors || (!items.empty() && is_tensor(items.front()))) {
    std::vector<Name> names;
    for (const Argument& item : items) names.push_back(std::get<Name>(item));
    return names;
  }
  std::vector<NumberOrName> numbers;
  for (const Argument& item : items) {
    if (const auto* whole = std::get_if<int64_t>(&item))
      numbers.emplace_back(*whole);
    else if (const auto* real = std::get_if<double>(&item))
      numbers.emplace_back(*real);
    else if (const auto* truth = std::get_if<bool>(&item))
      numbers.emplace_back(*truth);
    else
      throw UsageError("has a list of other things than numbers and tensors");
  }
  return numbers;
}

}  // namespace levin::program
