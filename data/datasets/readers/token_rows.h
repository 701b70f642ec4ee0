#pragma once
#include <levin/data/dataset.h>
#include <levin/data/datasets/readers/text_tokens.h>
#include <levin/data/datasets/readers/token_store.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace levin::data {

/// What a sample of tokens holds.
enum class TokenRowKind : uint8_t {
  Text,    ///< the tokens of a text, or of two texts in one sequence
  Tagged,  ///< tokens, and then as many classes, -100 for those that do not count
  Pair     ///< the tokens of two texts, each a sequence of its own
};

/// Samples of texts whose tokens are in memory. A batch has the rows of the longest sample, filled up with padding at
/// the end: `input` int64 [samples, longest], `attention_mask` int64 of the same shape, 0 for padding, and for texts
/// `token_type_ids` int64, 1 for the second text. Pairs have their second texts as `second_input` and
/// `second_attention_mask`. `target` is that of the samples, or the classes of tagged tokens, -100 in the padding.
class TokenRows final : public Dataset {
 public:
  using Encode = std::function<std::vector<TextTokens::Token>(int64_t sequence)>;
  struct Contents {
    TokenRowKind kind = TokenRowKind::Text;
    int64_t samples = 0;
    /// Returns the tokens of sample i, or, of pairs, of the texts 2 i and 2 i + 1. Called from several threads.
    Encode encode = {};
    int32_t pad_id = 0;
    at::Tensor target = {};  ///< [samples, ...]; undefined: none
    std::vector<std::string> class_names = {};
  };
  /// Makes the tokens. Throws what `encode` throws for the first sequence that fails.
  explicit TokenRows(Contents contents);

  int64_t size() const override { return contents_.samples; }
  Batch get(int64_t index, Rng& rng) const override;
  void get_batch(const Indices& indices, Batch& out) const override;
  std::vector<std::string> class_names() const override { return contents_.class_names; }

  /// Returns the tokens of each sample.
  std::vector<int64_t> lengths() const;

 private:
  void add_rows(const Indices& indices, const std::string& prefix, int64_t part, Batch& from, Batch& out) const;
  std::span<const TextTokens::Token> tokens_of(int64_t index, int64_t part) const;

  Contents contents_;
  std::shared_ptr<const TokenStore> tokens_;
};

}  // namespace levin::data
