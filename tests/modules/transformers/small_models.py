"""Small random models of transformers, one for each family and for what its config.json can switch on."""

import json

import torch
import transformers
from safetensors.torch import load_file, save_file

VOCABULARY = 131
# No size divides another by chance: heads of 16 numbers, 2 of 4 with keys and values.
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 53,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 3,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GPT2 = {"vocab_size": VOCABULARY, "n_positions": 64, "n_embd": 48, "n_layer": 3, "n_head": 4, "resid_pdrop": 0, "embd_pdrop": 0,
        "attn_pdrop": 0, "bos_token_id": 1, "eos_token_id": 2}


def rope(**parameters):
    return {"rope_parameters": {"rope_theta": 10000.0, **parameters}}


LONG_FACTORS = [1.0 + 0.3 * i for i in range(8)]
SHORT_FACTORS = [1.0 + 0.1 * i for i in range(8)]

# name: model type, options beside the sizes
CASES = {
    "gpt2": ("gpt2", GPT2),
    "gpt2_scaled": ("gpt2", {**GPT2, "n_inner": 37, "scale_attn_by_inverse_layer_idx": True, "activation_function": "relu",
                             "tie_word_embeddings": False}),
    "llama": ("llama", {}),
    "llama_biased": ("llama", {"attention_bias": True, "mlp_bias": True, "head_dim": 10, "tie_word_embeddings": True,
                               "hidden_act": "gelu"}),
    "llama_linear": ("llama", rope(rope_type="linear", factor=2.5)),
    "llama_dynamic": ("llama", {**rope(rope_type="dynamic", factor=3.0), "max_position_embeddings": 16}),
    "llama_llama3": ("llama", rope(rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                   original_max_position_embeddings=16)),
    "llama_yarn": ("llama", rope(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)),
    "llama_yarn_scales": ("llama", rope(rope_type="yarn", factor=4.0, original_max_position_embeddings=16, mscale=1.3,
                                        mscale_all_dim=0.7, beta_fast=20.0, beta_slow=2.0, truncate=False)),
    "mistral": ("mistral", {"sliding_window": 5, "head_dim": 14}),
    "mistral_full": ("mistral", {"sliding_window": None}),
    "qwen2": ("qwen2", {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1, "num_key_value_heads": 4}),
    "qwen2_full": ("qwen2", {}),
    "qwen3": ("qwen3", {"head_dim": 12, "attention_bias": True}),
    "gemma": ("gemma", {"head_dim": 20, "hidden_size": 40}),
    "gemma2": ("gemma2", {"head_dim": 18, "sliding_window": 5, "query_pre_attn_scalar": 24, "attn_logit_softcapping": 3.0,
                          "final_logit_softcapping": 5.0}),
    "gemma2_uncapped": ("gemma2", {"head_dim": 18, "sliding_window": 4, "attn_logit_softcapping": None,
                                   "final_logit_softcapping": None}),
    "gemma3_text": ("gemma3_text", {
        "head_dim": 16, "sliding_window": 5, "query_pre_attn_scalar": 20, "num_hidden_layers": 4,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
        "rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 50000.0},
                            "sliding_attention": {"rope_type": "default", "rope_theta": 1000.0}},
        "final_logit_softcapping": 4.0}),
    "phi": ("phi", {"qk_layernorm": True}),
    "phi_grouped": ("phi", {**rope(partial_rotary_factor=0.25, rope_type="default"), "hidden_act": "gelu"}),
    "phi3": ("phi3", {"sliding_window": 6}),
    "phi3_longrope": ("phi3", {
        **rope(rope_type="longrope", short_factor=SHORT_FACTORS, long_factor=LONG_FACTORS, original_max_position_embeddings=16),
        "original_max_position_embeddings": 16}),
    "smollm3": ("smollm3", {"no_rope_layers": [1, 0, 1]}),
    "smollm3_windows": ("smollm3", {"no_rope_layer_interval": 2, "use_sliding_window": True, "sliding_window": 5}),
    "stablelm": ("stablelm", {"use_qkv_bias": True}),
    "stablelm_parallel": ("stablelm", {"use_parallel_residual": True, "tie_word_embeddings": True}),
    "gpt_neox": ("gpt_neox", {}),
    "gpt_neox_sequential": ("gpt_neox", {"use_parallel_residual": False, "attention_bias": False}),
    "olmo2": ("olmo2", {}),
    "granite": ("granite", {"embedding_multiplier": 3.0, "logits_scaling": 2.0, "residual_multiplier": 0.7,
                            "attention_multiplier": 0.2}),
    "starcoder2": ("starcoder2", {"sliding_window": 7}),
}


def make_model(name, seed, spread=0.2):
    """Returns a model whose weights are so large that each part of it shows in the logits."""
    model_type, options = CASES[name]
    sizes = {} if model_type == "gpt2" else SIZES
    config = transformers.AutoConfig.for_model(model_type, **{**sizes, **options})
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator) * spread
            is_norm = parameter.dim() == 1 and key.endswith("weight") and not model_type.startswith("gemma")
            parameter.copy_(1 + noise if is_norm else noise)
    return model.eval()


# name: a case, and what becomes of its folder: config.json as versions before 5 have written it, names of a bare decoder
OLD = {
    "llama_old": ("llama_linear", {"rope_theta": 5000.0, "rope_scaling": {"type": "linear", "factor": 2.5}}),
    "llama_old_llama3": ("llama_llama3", {"rope_theta": 20000.0, "rope_scaling": {
        "rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16}}),
    "qwen2_old": ("qwen2", {"rope_theta": 30000.0, "layer_types": None}),
    "gemma3_old": ("gemma3_text", {"rope_theta": 40000.0, "rope_local_base_freq": 2000.0, "layer_types": None,
                                   "sliding_window_pattern": 3, "rope_scaling": {"rope_type": "linear", "factor": 4.0}}),
    "gemma_old": ("gemma", {"rope_theta": 3000.0, "hidden_act": "gelu", "hidden_activation": None}),
    "gpt_neox_old": ("gpt_neox", {"rotary_pct": 0.5, "rotary_emb_base": 2000}),
    "phi_old": ("phi", {"partial_rotary_factor": 0.25, "rope_theta": 700.0}),
    "phi3_old": ("phi3_longrope", {"rope_theta": 600.0, "rope_scaling": {
        "type": "longrope", "short_factor": SHORT_FACTORS, "long_factor": LONG_FACTORS}}),
    "gpt2_bare": ("gpt2", "transformer."),
    "llama_bare": ("llama_biased", "model."),
}


def rewrite(folder, change):
    """Changes a saved model: its config.json, or takes a prefix from the names of its tensors."""
    if isinstance(change, str):
        file = folder / "model.safetensors"
        save_file({name.removeprefix(change): tensor for name, tensor in load_file(file).items()}, file, {"format": "pt"})
        return
    path = folder / "config.json"
    config = json.loads(path.read_text())
    del config["rope_parameters"]
    config["torch_dtype"] = config.pop("dtype")
    path.write_text(json.dumps({**config, **change}, indent=2))
