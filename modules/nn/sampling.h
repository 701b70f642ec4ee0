#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace levin::nn {

/// How a language model continues a text.
struct GenerateOptions {
  double temperature = 1;  ///< divides the logits: below 1 favors likely tokens; 0: always the most likely token
  std::optional<int64_t> top_k = {};  ///< sample from the k most likely tokens only
  std::optional<double> top_p = {};   ///< sample from the most likely tokens only that together have this probability
  /// A row ends with the first of these that it draws; CausalLM, unset: those of generation_config.json.
  std::optional<std::vector<int64_t>> stop_tokens = {};
  /// Fills the rows that have ended; unset: that of generation_config.json, or the first stop token.
  std::optional<int64_t> pad_token = {};
  std::optional<at::Generator> generator = {};  ///< on the module's device; unset: the default generator
};

/// Throws levin::UsageError for a prompt that is not [batch, time] with at least one token, and for options out of
/// their range.
void check_generation(const at::Tensor& prompt, const GenerateOptions& options);

/// Samples one token [batch, 1], int64, for each row of `logits` [batch, vocabulary]. The order is temperature, top_k,
/// top_p. Source of top_p: Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration".
at::Tensor draw_tokens(const at::Tensor& logits, const GenerateOptions& options);

/// Ends the rows that have drawn a stop token. Without stop tokens no row ends.
class RowEnds {
 public:
  explicit RowEnds(const GenerateOptions& options);
  /// Returns `tokens` [batch, 1] with those of ended rows replaced by the pad token, and notes which rows end now.
  at::Tensor padded(const at::Tensor& tokens);
  /// Returns whether all rows have ended. On a GPU this waits for the device.
  bool all() const;

 private:
  std::vector<int64_t> stops_ = {};
  int64_t pad_ = 0;
  at::Tensor ended_ = {};  ///< [batch, 1], bool
};

}  // namespace levin::nn
