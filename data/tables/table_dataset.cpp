#include <levin/data/tables/table_dataset.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>
#include <levin/data/tables/block_cache.h>
#include <levin/data/tables/block_sampler.h>
#include <levin/data/tables/encode_table.h>
#include <levin/data/tables/table.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

namespace levin::data {
namespace {

/// Puts tensors [rows, ...] one after another, and forgets each when it is copied.
at::Tensor joined_rows(std::vector<at::Tensor> parts) {
  if (parts.size() == 1) return parts.front();
  int64_t rows = 0;
  for (const at::Tensor& part : parts) rows += part.size(0);
  at::DimVector sizes(parts.front().sizes());
  sizes.front() = rows;
  at::Tensor all = at::empty(sizes, parts.front().options());
  auto* to = static_cast<std::byte*>(all.mutable_data_ptr());
  for (at::Tensor& part : parts) {
    const at::Tensor own = part.contiguous();
    if (own.nbytes() > 0) std::memcpy(to, own.const_data_ptr(), own.nbytes());
    to += own.nbytes();
    part.reset();
  }
  return all;
}

/// The fields of all blocks, one block after another.
ArrayFields joined_blocks(std::vector<ArrayFields> blocks) {
  ArrayFields all;
  for (const std::string& name : blocks.front().fixed.names()) {
    std::vector<at::Tensor> parts;
    for (const ArrayFields& block : blocks) parts.push_back(block.fixed[name]);
    all.fixed.set(name, joined_rows(std::move(parts)));
  }
  for (size_t i = 0; i < blocks.front().varying.size(); ++i) {
    VaryingField field{.name = blocks.front().varying[i].name};
    std::vector<at::Tensor> parts;
    int64_t before = 0;
    for (ArrayFields& block : blocks) {
      for (const int64_t end : block.varying[i].ends) field.ends.push_back(before + end);
      before += block.varying[i].values.size(0);
      parts.push_back(std::move(block.varying[i].values));
    }
    field.values = joined_rows(std::move(parts));
    all.varying.push_back(std::move(field));
  }
  return all;
}

/// Consecutive rows of a block that stand one after another in a batch.
struct Run {
  const FieldDataset* block = nullptr;
  int64_t row = 0, count = 0;
};

at::Tensor gathered_rows(const std::vector<Run>& runs, int64_t samples, const std::string& name) {
  const at::Tensor& first = runs.front().block->tensors()[name];
  at::DimVector sizes(first.sizes());
  sizes.front() = samples;
  at::Tensor all = at::empty(sizes, first.options());
  const size_t bytes = all.nbytes() / static_cast<size_t>(samples);
  auto* to = static_cast<std::byte*>(all.mutable_data_ptr());
  const FieldDataset* block = nullptr;
  const std::byte* from = nullptr;
  for (const Run& run : runs) {
    if (run.block != block) from = static_cast<const std::byte*>((block = run.block)->tensors()[name].const_data_ptr());
    const size_t copied = static_cast<size_t>(run.count) * bytes;
    if (copied > 0) std::memcpy(to, from + static_cast<size_t>(run.row) * bytes, copied);
    to += copied;
  }
  return all;
}

VaryingField gathered_lists(const std::vector<Run>& runs, size_t field) {
  VaryingField all{.name = runs.front().block->varying()[field].name};
  std::vector<at::Tensor> parts;
  int64_t end = 0;
  for (const Run& run : runs) {
    const VaryingField& own = run.block->varying()[field];
    const auto row = static_cast<size_t>(run.row);
    const int64_t begin = row == 0 ? 0 : own.ends[row - 1];
    for (size_t i = row; i < row + static_cast<size_t>(run.count); ++i) all.ends.push_back(end + own.ends[i] - begin);
    parts.push_back(own.values.narrow(0, begin, all.ends.back() - end));
    end = all.ends.back();
  }
  all.values = joined_rows(std::move(parts));
  return all;
}

}  // namespace

/// What does not change while samples are read.
struct TableDataset::Parts {
  std::shared_ptr<Table> table = {};
  std::vector<BlockRows> rows = {};
  std::vector<int64_t> ends = {};  ///< samples up to and with each block
  CsvEncoding encoding = {};
  std::unique_ptr<BlockCache> cache = {};
};

TableDataset::TableDataset(std::shared_ptr<Table> table, std::vector<BlockRows> rows, CsvEncoding encoding,
                           const TableFieldOptions& options)
    : options_(options) {
  auto parts = std::make_shared<Parts>();
  parts->table = std::move(table);
  parts->rows = std::move(rows);
  parts->encoding = std::move(encoding);
  for (const BlockRows& block : parts->rows) parts->ends.push_back(size_ += block.size());
  if (size_ == 0) throw UsageError(parts->table->name(), ": no row is left; see data.where and data.missing");
  const auto encode = [shared = parts.get(), options](int64_t number) {
    return encode_table(*shared->table, number, shared->rows[static_cast<size_t>(number)], shared->encoding, options);
  };
  if (parts->table->fits_memory()) {
    std::vector<ArrayFields> blocks;
    for (int64_t number = 0; number < parts->table->block_count(); ++number) blocks.push_back(encode(number));
    ArrayFields all = joined_blocks(std::move(blocks));
    whole_.emplace(std::move(all.fixed), std::move(all.varying), options.field_options, parts->encoding.class_names);
  } else {
    const auto read = [encode, options, names = parts->encoding.class_names](int64_t number) {
      ArrayFields block = encode(number);
      return FieldDataset(std::move(block.fixed), std::move(block.varying), options.field_options, names);
    };
    const Table& source = *parts->table;
    parts->cache = std::make_unique<BlockCache>(read, source.block_count(), source.most_bytes());
  }
  parts_ = std::move(parts);
}

const CsvEncoding& TableDataset::encoding() const { return parts_->encoding; }

std::vector<std::string> TableDataset::class_names() const { return parts_->encoding.class_names; }

TableDataset::Place TableDataset::block_with(int64_t index) const {
  if (index < 0 || index >= size_)
    throw Error("sample ", index, " was asked for, but the dataset has ", size_, "; the sampler is of other data");
  const auto number = std::ranges::upper_bound(parts_->ends, index) - parts_->ends.begin();
  return {.number = number,
          .begin = number == 0 ? 0 : parts_->ends[static_cast<size_t>(number) - 1],
          .end = parts_->ends[static_cast<size_t>(number)]};
}

FieldDataset TableDataset::gathered(const Indices& indices) const {
  std::map<int64_t, BlockCache::Block> blocks;
  std::vector<Run> runs;
  Place last;
  for (const int64_t index : indices) {
    const bool follows = !runs.empty() && index == last.begin + runs.back().row + runs.back().count && index < last.end;
    if (follows) {
      ++runs.back().count;
      continue;
    }
    last = block_with(index);
    BlockCache::Block& block = blocks[last.number];
    if (!block) block = parts_->cache->get(last.number);
    runs.push_back({block.get(), index - last.begin, 1});
  }
  Batch fixed;
  for (const std::string& name : runs.front().block->tensors().names())
    fixed.set(name, gathered_rows(runs, indices.size(), name));
  std::vector<VaryingField> varying;
  for (size_t i = 0; i < runs.front().block->varying().size(); ++i) varying.push_back(gathered_lists(runs, i));
  return {std::move(fixed), std::move(varying), options_.field_options, parts_->encoding.class_names};
}

Batch TableDataset::get(int64_t index, Rng& rng) const {
  return whole_ ? whole_->get(index, rng) : gathered(Indices(index, 1)).get(0, rng);
}

void TableDataset::get_batch(const Indices& indices, Batch& out) const {
  if (whole_) return whole_->get_batch(indices, out);
  const Place block = block_with(indices[0]);
  const bool is_one = std::all_of(indices.begin(), indices.end(),
                                  [&](int64_t index) { return index >= block.begin && index < block.end; });
  if (!is_one) return gathered(indices).get_batch(Indices(0, indices.size()), out);
  Indices rows(indices.start() - block.begin, indices.size());
  if (!indices.is_range())
    std::ranges::transform(indices.begin(), indices.end(), rows.resize(indices.size()).begin(),
                           [&](int64_t index) { return index - block.begin; });
  parts_->cache->get(block.number)->get_batch(rows, out);
}

std::vector<int64_t> TableDataset::lengths(const std::string& field, const std::string& option) const {
  if (!whole_)
    throw UsageError(option, ": the data are larger than data.memory_gb ", options_.memory_gb,
                     ", so the lengths of all samples are not known; raise it");
  return whole_->lengths(field, option);
}

std::shared_ptr<const Sampler> TableDataset::block_sampler(int64_t batch_size) const {
  std::vector<int64_t> sizes;
  for (const BlockRows& block : parts_->rows) sizes.push_back(block.size());
  const Table& table = *parts_->table;
  const BlockLanes lanes = lanes_for(table.block_count(), table.largest_block(), table.most_bytes());
  return std::make_shared<const BlockSampler>(std::move(sizes), batch_size, lanes.lanes, lanes.group);
}

}  // namespace levin::data
