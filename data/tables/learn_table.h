#pragma once
#include <levin/data/datasets/readers/csv_encoding.h>
#include <levin/data/tables/table.h>

#include <vector>

namespace levin::data {

/// Learns, of the rows of `train`, means and deviations of the columns of `input` (0 and 1 if the options need none),
/// and of those of `all` the vocabulary of each column of texts; of `target`, the classes. Codes follow sorted_words.
/// Throws levin::UsageError for a column of `input` without any value if its mean is needed.
CsvEncoding learn_table(const Table& table, const std::vector<BlockRows>& train, const std::vector<BlockRows>& all,
                        const TableFieldOptions& options);

}  // namespace levin::data
