#pragma once
#include <levin/modules/transformers/config_fields.h>
#include <levin/modules/transformers/decoder_config.h>
#include <levin/modules/transformers/read_rope.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin::nn {

/// What holds for a family where its file says nothing.
struct FamilyDefaults {
  std::string activation_field = "hidden_act", activation = "silu";
  std::string norm_field = "rms_norm_eps";
  double norm_eps = 1e-6;
  std::optional<int64_t> key_value_heads = {};  ///< unset: as many as attention heads
  bool has_head_size = true;                    ///< the file may say another than hidden_size / num_attention_heads
  std::optional<int64_t> head_size = {};        ///< unset: that
  std::optional<int64_t> padding_token = {};
  bool tied_head = false;
};

/// Reads what most families have in common: sizes, activation, norm, tied head, dropout of the attention, with the
/// parts that Llama has. Each layer attends to all tokens before, and has no rope.
DecoderConfig read_common(ConfigFields& fields, const FamilyDefaults& defaults);

/// Gives all layers one rope, as `read_rope` reads it.
void add_rope(DecoderConfig& config, ConfigFields& fields, const RopeDefaults& defaults,
              const std::vector<std::string>& ignored);

/// Gives all layers the same window, or none.
void set_window(DecoderConfig& config, std::optional<int64_t> window);
/// Gives the layers that are "sliding_attention" the window. `types`: one for each layer, "full_attention" the others.
/// Throws levin::UsageError for other words, another number of them, and if a window is needed and there is none.
void set_windows(DecoderConfig& config, const ConfigFields& fields, const std::vector<std::string>& types,
                 std::optional<int64_t> window);

/// Returns the activation of a name; throws levin::UsageError for one that levin does not compute.
Activation read_activation(ConfigFields& fields, const std::string& name, const std::string& otherwise);

}  // namespace levin::nn
