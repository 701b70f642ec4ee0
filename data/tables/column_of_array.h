#pragma once
#include <levin/data/tables/module_interface.h>
#include <levin/data/tables/table_source.h>

#include <memory>

namespace levin::data {

/// Converts a column. Numbers without gaps stay in the array's memory, whose `owner` they keep. Throws
/// levin::UsageError, whose text is what is wrong with the column, for lists of different lengths inside of others.
TableColumn column_of_array(const ColumnSchema& schema, const ColumnArray& array, std::shared_ptr<const void> owner);

}  // namespace levin::data
