#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>
#include <vector>

namespace levin {
namespace data {

/// How samples are put into rows of one length.
enum class Packing : uint8_t {
  None,     ///< each sample is a row of its own length
  BestFit,  ///< from the longest to the shortest, each into the fullest row that has room for it
  InOrder   ///< one after another; a sample that does not fit begins the next row
};

}  // namespace data

template <>
inline constexpr auto kWords<data::Packing> = words_of<data::Packing>(
    {{"none", data::Packing::None}, {"best_fit", data::Packing::BestFit}, {"in_order", data::Packing::InOrder}});

namespace data {

/// Which samples stand in each row, in order.
struct PackedRows {
  std::vector<int64_t> samples = {};  ///< of all rows, one after another
  std::vector<int64_t> ends = {};     ///< of each row in `samples`

  int64_t size() const { return static_cast<int64_t>(ends.size()); }
};

/// Packs samples of these lengths, each from 1 to `row_length`. Rows are ordered by their first sample. Source:
/// best-fit decreasing, as in Ding et al., "Fewer Truncations Improve Language Modeling", section 3.
PackedRows pack_rows(const std::vector<int64_t>& lengths, int64_t row_length, Packing packing);

}  // namespace data
}  // namespace levin
