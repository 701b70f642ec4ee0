#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/datasets/readers/field_options.h>

#include <map>
#include <string>

namespace levin::data {

/// Returns the types that the option `dtypes` names. Throws levin::UsageError for a type that it cannot name.
std::map<std::string, at::ScalarType> field_types_of(const FieldOptions& options);

/// Returns the values of a field in another type. Throws levin::UsageError if a value has none: a fraction or a number
/// that is too large as an integer, and a number other than 0 and 1 as a bool.
at::Tensor convert_field(const at::Tensor& values, at::ScalarType type, const std::string& field);

}  // namespace levin::data
