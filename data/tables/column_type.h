#pragma once
#include <c10/core/ScalarType.h>
#include <levin/data/tables/module_interface.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The formats of the Arrow C data interface. Source: https://arrow.apache.org/docs/format/CDataInterface.html
namespace levin::data {

bool is_text_format(std::string_view format);
/// Returns the length of lists that all have one: "+w:3".
std::optional<int64_t> fixed_length(std::string_view format);
/// Returns the type of numbers; of dates and times that of the whole numbers that count their units.
std::optional<at::ScalarType> number_type(std::string_view format);
/// Returns the digits behind the point of a decimal number of 128 bits: "d:10,2".
std::optional<int> decimal_scale(std::string_view format);

/// Returns what is wrong with a type, for a message: it is neither a number, a bool, a text, nor lists of these. Empty
/// if nothing is.
std::string unreadable_type(const ColumnSchema& schema);

}  // namespace levin::data
