#pragma once
#include <levin/data/batch.h>
#include <levin/data/loader_options.h>

#include <string>
#include <vector>

namespace levin::data {

struct PadOptions {
  double value = 0;                            ///< value of the padding
  std::vector<std::string> names = {"input"};  ///< names of the tensors that are sequences
};

/// Collates samples with sequences of different lengths: `DataLoaderOptions{.collate = pad_to_longest()}`.
///
/// A sequence `x` [length, ...] becomes `x` [batch, longest, ...], padded at its end, and `x_lengths` int64 [batch].
/// Other tensors are stacked, lists are joined. Throws levin::Error if samples differ in more than the length or lack a
/// tensor in `names`.
/// Source: torch.nn.utils.rnn.pad_sequence.
Collate pad_to_longest(PadOptions options = {});

}  // namespace levin::data
