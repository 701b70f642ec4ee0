#pragma once
#include <levin/data/dataset.h>
#include <levin/data/datasets/readers/csv_encoding.h>
#include <levin/data/datasets/readers/field_dataset.h>
#include <levin/data/tables/table_options.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

class BlockCache;
class Sampler;
class Table;
struct BlockRows;

/// Rows of a table as samples: in memory, or block by block where they do not fit there.
class TableDataset final : public Dataset {
 public:
  /// Takes the rows of each block that `rows` has. Throws levin::UsageError as encode_table and FieldDataset.
  TableDataset(std::shared_ptr<Table> table, std::vector<BlockRows> rows, CsvEncoding encoding,
               const TableFieldOptions& options);

  int64_t size() const override { return size_; }
  Batch get(int64_t index, Rng& rng) const override;
  void get_batch(const Indices& indices, Batch& out) const override;
  std::vector<std::string> class_names() const override;

  /// Returns whether all samples are in memory.
  bool is_in_memory() const { return whole_.has_value(); }
  const CsvEncoding& encoding() const;
  /// Returns the length of each sample's list in a field. Throws levin::UsageError, which names `option`, for another
  /// field, and for data that are not in memory.
  std::vector<int64_t> lengths(const std::string& field, const std::string& option) const;
  /// Returns the order of training for data that are not in memory.
  std::shared_ptr<const Sampler> block_sampler(int64_t batch_size) const;

 private:
  struct Parts;
  /// A block, and the samples [begin, end) that it has.
  struct Place {
    int64_t number = 0, begin = 0, end = 0;
  };
  Place block_with(int64_t index) const;
  FieldDataset gathered(const Indices& indices) const;

  std::shared_ptr<const Parts> parts_;
  TableFieldOptions options_;
  int64_t size_ = 0;
  std::optional<FieldDataset> whole_ = {};
};

}  // namespace levin::data
