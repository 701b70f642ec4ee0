#pragma once
#include <levin/data/batch.h>
#include <levin/data/loader_options.h>

#include <string>
#include <vector>

namespace levin::data {

struct PadOptions {
  double value = 0;                            ///< what sequences are filled up with
  std::vector<std::string> names = {"input"};  ///< of the tensors that are sequences
};

/// Puts samples with sequences of different lengths together: `DataLoaderOptions{.collate = pad_to_longest()}`.
///
/// A sequence `x` [length, ...] becomes `x` [batch, longest, ...], filled up at its end, and `x_lengths` int64 [batch].
/// Other tensors are stacked, lists are joined. Throws levin::Error where samples differ beyond the length, and where
/// they have no tensor of a name.
/// Source: torch.nn.utils.rnn.pad_sequence.
Collate pad_to_longest(PadOptions options = {});

}  // namespace levin::data
