"""Small random encoders of transformers, one for each family and head."""

import torch
import transformers

VOCABULARY = 97
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 48, "intermediate_size": 37, "num_hidden_layers": 3, "num_attention_heads": 4,
         "max_position_embeddings": 40, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "classifier_dropout": 0.0}
DISTILBERT = {"vocab_size": VOCABULARY, "dim": 48, "hidden_dim": 37, "n_layers": 3, "n_heads": 4, "max_position_embeddings": 40,
              "dropout": 0.0, "attention_dropout": 0.0, "seq_classif_dropout": 0.0, "qa_dropout": 0.0}
# A window of 6 is shorter than the sequences; the second of the layers sees no further.
MODERNBERT = {"vocab_size": VOCABULARY, "hidden_size": 48, "intermediate_size": 37, "num_hidden_layers": 4, "num_attention_heads": 4,
              "max_position_embeddings": 40, "local_attention": 6, "pad_token_id": 0}
FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra", "mpnet", "modernbert")
HEADS = {"sequence": transformers.AutoModelForSequenceClassification, "token": transformers.AutoModelForTokenClassification,
         "sentence": transformers.AutoModel}
TAGS = {0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC"}

# name: model type, head, options beside the sizes
CASES = {f"{family}_{head}": (family, head, {}) for family in FAMILIES for head in HEADS}
CASES |= {
    "bert_regression": ("bert", "sequence", {"num_labels": 1}),
    "bert_numbers": ("bert", "sequence", {"num_labels": 3, "problem_type": "regression"}),
    "bert_many": ("bert", "sequence", {"num_labels": 4, "problem_type": "multi_label_classification"}),
    "bert_two": ("bert", "sequence", {"num_labels": 2}),
    "bert_named": ("bert", "token", {"id2label": TAGS, "label2id": {name: i for i, name in TAGS.items()}}),
    "bert_gelu_new": ("bert", "sequence", {"hidden_act": "gelu_new", "layer_norm_eps": 1e-5}),
    "bert_relu": ("bert", "token", {"hidden_act": "relu", "type_vocab_size": 1}),
    "roberta_one_type": ("roberta", "sequence", {"type_vocab_size": 1, "pad_token_id": 3}),
    "modernbert_mean": ("modernbert", "sequence", {"classifier_pooling": "mean", "classifier_activation": "relu", "classifier_bias": True}),
    "modernbert_biases": ("modernbert", "token", {"norm_bias": True, "attention_bias": True, "mlp_bias": True, "hidden_activation": "silu",
                                                  "layer_types": ["sliding_attention", "full_attention"] * 2,
                                                  "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 500.0},
                                                                      "sliding_attention": {"rope_type": "linear", "factor": 2.0,
                                                                                            "rope_theta": 100.0}}}),
    "electra_projected": ("electra", "token", {"embedding_size": 20}),
    "electra_small": ("electra", "sequence", {"embedding_size": 20, "hidden_act": "silu"}),
}


def pad_token(name):
    family, _, options = CASES[name]
    return options.get("pad_token_id", 1 if family in ("roberta", "xlm-roberta", "camembert", "mpnet") else 0)


def label_count(name):
    _, _, options = CASES[name]
    return options.get("num_labels", len(options.get("id2label", range(3))))


def make_encoder(name, seed, spread=0.2):
    """Returns a model whose weights are so large that each part of it shows in what it computes."""
    family, head, options = CASES[name]
    sizes = dict({"distilbert": DISTILBERT, "modernbert": MODERNBERT}.get(family, SIZES))
    if family == "mpnet":
        del sizes["classifier_dropout"]
    if family == "electra":
        sizes["embedding_size"] = 48
    if head != "sentence" and "id2label" not in options:
        sizes["num_labels"] = 3
    config = transformers.AutoConfig.for_model(family, **{**sizes, **options})
    model = HEADS[head].from_config(config, attn_implementation="eager")
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator) * spread
            is_gain = "norm" in key.lower() and key.endswith("weight")
            parameter.copy_(1 + noise if is_gain else noise)
    return model.eval()
