"""A folder as transformers writes it, without transformers: a small llama, and a tokenizer whose tokens are bytes."""

import json

import numpy
import safetensors.numpy

LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 257, "hidden_size": 8, "intermediate_size": 16,
         "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 2048,
         "rms_norm_eps": 1e-6, "hidden_act": "silu", "tie_word_embeddings": False, "eos_token_id": 256}


def byte_names():
    """The characters that stand for the 256 bytes in vocabularies of byte-level BPE."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def write_llama(folder, more=None):
    """A small model for transformers, with a tokenizer whose tokens are bytes; `more` is added to its config.json."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**LLAMA, **(more or {})}))
    sizes = {"self_attn.q_proj": (8, 8), "self_attn.k_proj": (4, 8), "self_attn.v_proj": (4, 8), "self_attn.o_proj": (8, 8),
             "mlp.gate_proj": (16, 8), "mlp.up_proj": (16, 8), "mlp.down_proj": (8, 16), "input_layernorm": (8,),
             "post_attention_layernorm": (8,)}
    sizes = {f"model.layers.0.{name}.weight": size for name, size in sizes.items()}
    sizes |= {"model.embed_tokens.weight": (257, 8), "model.norm.weight": (8,), "lm_head.weight": (257, 8)}
    random = numpy.random.default_rng(1)
    safetensors.numpy.save_file({name: random.normal(size=size).astype(numpy.float32) for name, size in sizes.items()},
                                folder / "model.safetensors", {"format": "pt"})
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    end = {"id": 256, "content": "<eos>", "special": True, "single_word": False, "lstrip": False, "rstrip": False,
           "normalized": False}
    model = {"type": "BPE", "vocab": {name: byte for byte, name in enumerate(byte_names())}, "merges": []}
    (folder / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": [end], "normalizer": None,
                                                       "pre_tokenizer": level, "post_processor": None, "decoder": level,
                                                       "model": model}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<eos>"}))
