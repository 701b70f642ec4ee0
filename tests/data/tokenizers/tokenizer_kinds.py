"""Tokenizers of the kinds that models have, trained by the package tokenizers on a small text, for tests and benchmarks."""

import base64
import io
import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

# Expressions that published tokenizers split by.
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
CASED = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def added(tokenizer):
    """Adds tokens with each of the options that added tokens have."""
    tokenizer.add_special_tokens([AddedToken("<|left|>", lstrip=True), AddedToken("<|right|>", rstrip=True),
                                  AddedToken("<|both|>", lstrip=True, rstrip=True), "<|plain|>", "<|plain|>more"])
    tokenizer.add_tokens([AddedToken("word", single_word=True), AddedToken("Yesterday", normalized=True), "\u00e9\u0301x",
                          AddedToken("given", normalized=False), AddedToken("  \t", normalized=False)])
    return tokenizer


def gpt2(text, size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    return added(tokenizer)


def byte_level_without_all_bytes(text, size):
    """Byte-level, but neither with all bytes in the vocabulary nor with an unknown token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=True)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    tokenizer.train_from_iterator(text, trainers.BpeTrainer(vocab_size=size, show_progress=False))
    return added(tokenizer)


def roberta(text, size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
    return added(tokenizer)


def by_expression(text, size, expression, ignore_merges):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(expression), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<|begin|>", "<|end|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single="<|begin|> $A", pair="<|begin|> $A <|begin|>:1 $B:1",
                                      special_tokens=[("<|begin|>", 0)])])
    return tokenizer


def llama3(text, size):
    return by_expression(text, size, LLAMA3, True)


def cased(text, size):
    return added(by_expression(text, size, CASED, False))


def llama2(text, size, across_words=False):
    """Its tokens lie inside of words, as SentencePiece makes them, but what it encodes is not split."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    if not across_words:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.train_from_iterator((piece for line in text for piece in line.split("\n")), trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<unk>", "<s>", "</s>", *BYTES], max_token_length=12, limit_alphabet=300,
        show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    # Its bytes are tokens of the model, which are not looked for in the text.
    description = json.loads(tokenizer.to_str())
    description["added_tokens"] = description["added_tokens"][:3]
    description["pre_tokenizer"] = None
    return added(Tokenizer.from_str(json.dumps(description)))


def llama2_across_words(text, size):
    return llama2(text, size, True)


def bpe_with_affixes(text, size):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder("</w>")
    tokenizer.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<unk>"], end_of_word_suffix="</w>", limit_alphabet=80, show_progress=False))
    return added(tokenizer)


def bpe_with_prefix(text, size):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##", fuse_unk=False))
    tokenizer.normalizer = normalizers.NFKD()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous")])
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    tokenizer.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<unk>"], continuing_subword_prefix="##", limit_alphabet=80, show_progress=False))
    return tokenizer


def unigram(text, size, normalizer, scheme, **options):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, **options)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme, **options)
    tokenizer.train_from_iterator(text, trainers.UnigramTrainer(
        vocab_size=size, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>", show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 2)])
    return added(tokenizer)


def charsmap(text):
    """A map that SentencePiece makes, by its rules nmt_nfkc_cf; nothing where it is not installed."""
    try:
        import sentencepiece
    except ImportError:
        return None
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text[:400]), model_writer=model, vocab_size=200, hard_vocab_limit=False, minloglevel=2,
        normalization_rule_name="nmt_nfkc_cf")
    return charsmap_of(model.getvalue())


def charsmap_of(model):
    """NormalizerSpec (field 3 of ModelProto), precompiled_charsmap (its field 2)."""
    def fields(message):
        position = 0
        def number():
            nonlocal position
            value = shift = 0
            while True:
                byte = message[position]
                position += 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    return value
        while position < len(message):
            key = number()
            if key & 7 == 2:
                size = number()
                yield key >> 3, message[position:position + size]
                position += size
            elif key & 7 == 0:
                number()
            else:
                position += 4 if key & 7 == 5 else 8
    spec = [value for field, value in fields(model) if field == 3][0]
    return [value for field, value in fields(spec) if field == 2][0]


def precompiled(text, size):
    map_bytes = charsmap(text)
    if map_bytes is None:
        return None
    return unigram(text, size, normalizers.Sequence([normalizers.Precompiled(map_bytes), normalizers.Replace(Regex(" {2,}"), " ")]),
                   "always")


def unigram_nfkc(text, size):
    return unigram(text, size, normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Strip(right=False)]),
                   "first")


def unigram_bytes(text, size):
    """Unigram whose unknown characters become bytes, of whole texts that are not split."""
    description = json.loads(unigram(text, size, None, "never").to_str())
    description["pre_tokenizer"]["split"] = description["decoder"]["split"] = False  # to train like this takes minutes
    description["model"]["byte_fallback"] = True
    description["model"]["vocab"][3:3] = [[byte, 0.0] for byte in BYTES]
    return Tokenizer.from_str(json.dumps(description))


def word_piece(text, size, lowercase):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=30))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(text, trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    return added(tokenizer)


def bert_uncased(text, size):
    tokenizer = word_piece(text, size, True)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def bert_cased(text, size):
    tokenizer = word_piece(text, size, False)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def word_level(text, size):
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(text, trainers.WordLevelTrainer(vocab_size=size, special_tokens=["<unk>"], show_progress=False))
    return added(tokenizer)


def truncated(text, size):
    tokenizer = bert_uncased(text, size)
    tokenizer.enable_truncation(12, stride=2, strategy="longest_first", direction="left")
    return tokenizer


KINDS = {function.__name__: function for function in (
    gpt2, byte_level_without_all_bytes, roberta, llama3, cased, llama2, llama2_across_words, bpe_with_affixes, bpe_with_prefix, precompiled, unigram_nfkc,
    unigram_bytes, bert_uncased, bert_cased, word_level, truncated)}


def random_parts(tokenizer, draw):
    """Gives a tokenizer other parts, drawn at random from all that there are."""
    some = lambda choices, most: [draw.choice(choices)() for _ in range(draw.randrange(0, most))]
    flag = lambda: draw.random() < 0.5
    behavior = lambda: draw.choice(["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"])
    # Where a normalizer writes something in place of nothing, the package doubles what follows from it.
    full = [" ", "a", "-", "\u0120", Regex(r"\s+"), Regex(r"\w+|[^\w\s]+"), Regex("[aeiou]"), Regex(r"\d"), Regex(r"(?i)the"),
            Regex(r"[^\p{L}\s]+"), Regex(r"\p{Han}|\p{Lu}+(?=\p{Ll})")]
    pattern = lambda: draw.choice([*full, Regex("x*"), Regex("^.|$")])
    scheme = lambda: draw.choice(["always", "first", "never"])
    normalizer = some([
        normalizers.NFC, normalizers.NFD, normalizers.NFKC, normalizers.NFKD, normalizers.Lowercase, normalizers.StripAccents, normalizers.Nmt,
        lambda: normalizers.Strip(flag(), flag()), lambda: normalizers.Replace(draw.choice(full), draw.choice(["", "_", "\u2581\u2581", "ab"])),
        lambda: normalizers.Prepend(draw.choice(["\u2581", " ", "ab"])), lambda: normalizers.BertNormalizer(flag(), flag(), flag(), flag()),
        normalizers.ByteLevel], 5)
    pre_tokenizer = some([
        lambda: pre_tokenizers.ByteLevel(flag(), use_regex=flag()), pre_tokenizers.Whitespace, pre_tokenizers.WhitespaceSplit,
        pre_tokenizers.BertPreTokenizer, lambda: pre_tokenizers.Punctuation(behavior()), lambda: pre_tokenizers.Digits(flag()),
        lambda: pre_tokenizers.Metaspace(prepend_scheme=scheme(), split=flag()), lambda: pre_tokenizers.CharDelimiterSplit(draw.choice("-ae ")),
        lambda: pre_tokenizers.Split(pattern(), behavior(), flag()), lambda: pre_tokenizers.FixedLength(draw.randrange(1, 9))], 4)
    decoder = some([
        decoders.ByteLevel, decoders.Fuse, decoders.ByteFallback, lambda: decoders.WordPiece("##", flag()),
        lambda: decoders.Metaspace(prepend_scheme=scheme()), lambda: decoders.CTC("<pad>", "|", flag()), lambda: decoders.BPEDecoder("</w>"),
        lambda: decoders.Replace(pattern(), draw.choice(["", " ", "ab"])), lambda: decoders.Strip(draw.choice(" a"), draw.randrange(3), 0)], 4)
    processor = draw.choice([
        lambda: None, lambda: processors.ByteLevel(trim_offsets=flag(), add_prefix_space=flag()),
        lambda: processors.RobertaProcessing(("a", 5), ("b", 6), trim_offsets=flag(), add_prefix_space=flag()),
        lambda: processors.BertProcessing(("a", 5), ("b", 6)),
        lambda: processors.Sequence([processors.ByteLevel(trim_offsets=True), processors.BertProcessing(("a", 5), ("b", 6))])])()
    tokenizer.normalizer = normalizers.Sequence(normalizer) if normalizer else None
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(pre_tokenizer) if pre_tokenizer else None
    tokenizer.decoder = decoders.Sequence(decoder) if decoder else None
    tokenizer.post_processor = processor
    if flag():
        tokenizer.enable_truncation(draw.randrange(4, 30), stride=0, strategy=draw.choice(["longest_first", "only_first", "only_second"]),
                                    direction=draw.choice(["left", "right"]))
    return tokenizer
