"""A folder as transformers writes it, without transformers: a small BERT without a head, and a tokenizer of words."""

import json

import numpy
import safetensors.numpy

BERT = {"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 64, "hidden_size": 8, "intermediate_size": 16,
        "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 32, "type_vocab_size": 2,
        "hidden_act": "gelu", "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "pad_token_id": 0}
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def sizes():
    block = "encoder.layer.0."
    layers = {f"{block}attention.self.{name}": (8, 8) for name in ("query", "key", "value")}
    layers |= {f"{block}attention.output.dense": (8, 8), f"{block}intermediate.dense": (16, 8), f"{block}output.dense": (8, 16),
               "pooler.dense": (8, 8)}
    norms = ["embeddings.LayerNorm", f"{block}attention.output.LayerNorm", f"{block}output.LayerNorm"]
    result = {f"embeddings.{name}_embeddings.weight": (rows, 8) for name, rows in (("word", 64), ("position", 32), ("token_type", 2))}
    result |= {f"{name}.weight": size for name, size in layers.items()}
    result |= {f"{name}.bias": size[:1] for name, size in layers.items()}
    return result | {f"{name}.{kind}": (8,) for name in norms for kind in ("weight", "bias")}


def write_bert(folder, words=(), more=None):
    """A small encoder for transformers, with a tokenizer that knows these words; `more` is added to its config.json."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**BERT, **(more or {})}))
    random = numpy.random.default_rng(1)
    weights = {name: random.normal(scale=0.3, size=size).astype(numpy.float32) for name, size in sizes().items()}
    weights |= {name: value + 1 for name, value in weights.items() if name.endswith("LayerNorm.weight")}
    safetensors.numpy.save_file(weights, folder / "model.safetensors", {"format": "pt"})
    vocabulary = {word: i for i, word in enumerate([*SPECIAL, *words])}
    assert len(vocabulary) <= BERT["vocab_size"]
    added = [{"id": i, "content": name, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
             for i, name in enumerate(SPECIAL)]
    one, two = ({"Sequence": {"id": name, "type_id": number}} for number, name in enumerate("AB"))
    first, last, second_last = ({"SpecialToken": {"id": name, "type_id": number}}
                                for name, number in (("[CLS]", 0), ("[SEP]", 0), ("[SEP]", 1)))
    tokens = {name: {"id": name, "ids": [vocabulary[name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": added,
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                       "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": [first, one, last],
                           "pair": [first, one, last, two, second_last], "special_tokens": tokens},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "vocab": vocabulary, "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100}}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]",
                                                              "unk_token": "[UNK]", "model_max_length": 32}))
