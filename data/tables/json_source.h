#pragma once
#include <levin/data/tables/table_source.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace levin::data {

/// Opens files of JSON lines, plain or compressed, as one table. The first lines tell the columns and their types.
///
/// `floating` tells, of all columns, those whose whole numbers are read as float64, since others may have fractions:
/// for each 0 no, 1 of single numbers, 2 of lists too. Throws levin::UsageError that names file and line.
std::unique_ptr<TableSource> open_json_lines(
    const std::vector<std::string>& files,
    const std::function<std::vector<int>(const std::vector<std::string>& columns)>& floating);

}  // namespace levin::data
