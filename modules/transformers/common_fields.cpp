#include <levin/modules/transformers/common_fields.h>

namespace levin::nn {
namespace {

/// What no family computes with: names, tokens, defaults of generation, and what versions of transformers have written
/// down beside.
constexpr const char* kWithoutEffect =
    "model_type architectures transformers_version torch_dtype dtype use_cache _name_or_path name_or_path auto_map "
    "initializer_range finetuning_task task_specific_params tokenizer_class "
    "return_dict output_hidden_states output_attentions torchscript use_bfloat16 tf_legacy_loss _commit_hash "
    "_attn_implementation attn_implementation _attn_implementation_autoset _flash_attn_2_enabled "
    "gradient_checkpointing "
    "bos_token_id eos_token_id sep_token_id decoder_start_token_id forced_bos_token_id forced_eos_token_id prefix "
    "suppress_tokens begin_suppress_tokens bad_words_ids exponential_decay_length_penalty max_length min_length "
    "do_sample early_stopping num_beams num_beam_groups diversity_penalty temperature top_k top_p typical_p "
    "repetition_penalty length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size num_return_sequences "
    "output_scores return_dict_in_generate remove_invalid_values cache_implementation "
    "pretraining_tp unsloth_version unsloth_fixed";

}  // namespace

void read_common_fields(ConfigFields& fields) {
  fields.skip(kWithoutEffect);
  if (fields.find("quantization_config") != nullptr)
    fields.fail("quantization_config", "levin reads no quantized weights; save the model with weights of 16 or 32 bit");
  fields.require("is_encoder_decoder", false);
  fields.require("add_cross_attention", false);
  fields.require("cross_attention_hidden_size", nullptr);
  fields.require("tie_encoder_decoder", false);
  fields.require("chunk_size_feed_forward", 0);
  fields.require("pruned_heads", ConfigFields::Json::object());
}

}  // namespace levin::nn
