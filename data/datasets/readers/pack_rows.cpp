#include <levin/data/datasets/readers/pack_rows.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace levin::data {
namespace {

using RowList = std::vector<std::vector<int64_t>>;

RowList rows_in_order(const std::vector<int64_t>& lengths, int64_t row_length) {
  RowList rows;
  int64_t room = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (rows.empty() || lengths[i] > room) {
      rows.emplace_back();
      room = row_length;
    }
    rows.back().push_back(static_cast<int64_t>(i));
    room -= lengths[i];
  }
  return rows;
}

RowList rows_by_best_fit(const std::vector<int64_t>& lengths, int64_t row_length) {
  std::vector<int64_t> longest_first(lengths.size());
  std::iota(longest_first.begin(), longest_first.end(), 0);
  std::ranges::stable_sort(longest_first, std::greater(), [&](int64_t i) { return lengths[static_cast<size_t>(i)]; });
  RowList rows;
  std::map<int64_t, std::vector<size_t>> rows_with_room;  // by the tokens that they have room for
  for (const int64_t sample : longest_first) {
    const int64_t length = lengths[static_cast<size_t>(sample)];
    const auto found = rows_with_room.lower_bound(length);
    int64_t room = row_length;
    size_t row = rows.size();
    if (found == rows_with_room.end()) {
      rows.emplace_back();
    } else {
      room = found->first;
      row = found->second.back();
      found->second.pop_back();
      if (found->second.empty()) rows_with_room.erase(found);
    }
    rows[row].push_back(sample);
    if (room > length) rows_with_room[room - length].push_back(row);
  }
  for (std::vector<int64_t>& row : rows) std::ranges::sort(row);
  std::ranges::sort(rows, {}, [](const std::vector<int64_t>& row) { return row.front(); });
  return rows;
}

}  // namespace

PackedRows pack_rows(const std::vector<int64_t>& lengths, int64_t row_length, Packing packing) {
  for (const int64_t length : lengths)
    if (length < 1 || length > row_length) throw Error("pack_rows: a sample of ", length, " in rows of ", row_length);
  PackedRows packed;
  const bool in_order = packing == Packing::InOrder;
  for (const auto& row : in_order ? rows_in_order(lengths, row_length) : rows_by_best_fit(lengths, row_length)) {
    packed.samples.insert(packed.samples.end(), row.begin(), row.end());
    packed.ends.push_back(static_cast<int64_t>(packed.samples.size()));
  }
  return packed;
}

}  // namespace levin::data
