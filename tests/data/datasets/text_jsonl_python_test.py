"""Compares the tokens and targets that levin makes of JSON lines with what transformers makes of them: chats by apply_chat_template,
and prompts with their completions.

usage: text_jsonl_python_test.py TOOL [--chats N] [--seed N]
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"

try:
    import jinja2  # noqa: F401, which chat templates need
    import tokenizers
    import transformers
except ImportError as error:
    print("SKIPPED: this Python has no", error.name)
    sys.exit(77)

from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

SPECIAL = ["<unk>", "<s>", "</s>", "<pad>", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|eot_id|>",
           "<|start_header_id|>", "<|end_header_id|>", "<start_of_turn>", "<end_of_turn>", "<|user|>", "<|assistant|>", "<|system|>",
           "<|end|>", "[INST]", "[/INST]"]

# The formats that models read, each in words of its own. [[ and ]] stand around what the assistant writes: they become tags that say so
# for the reference, and nothing for the tokenizer's own template.
ALTERNATING = ("{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('turns must alternate') }}{% endif %}")
TEMPLATES = {
    "chatml": """{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}{% if message['role'] == 'assistant' %}
[[{{ message['content'] + '<|im_end|>' }}]]
{% else %}{{ message['content'] + '<|im_end|>' }}{% endif %}{{ '\\n' }}{% endfor %}""",
    "chatml with a system message": """{% for message in messages %}
{% if loop.first and message.role != "system" %}{{ "<|im_start|>system\\nYou're careful, and help.<|im_end|>\\n" }}{% endif %}
{{- "<|im_start|>" + message.role + "\\n" }}{% if message.role == "assistant" %}
[[{{ message.content + "<|im_end|>" }}]]
{% else %}{{ message.content + "<|im_end|>" }}{% endif %}{{ "\\n" }}
{%- endfor %}""",
    "qwen3": """{% set seen = namespace(last_query_index=messages|length - 1) %}
{% for message in messages %}{% if message.role == 'user' and not (message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
{% set seen.last_query_index = loop.index0 %}{% endif %}{% endfor %}
{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' }}{% if message.role == 'assistant' %}
{% set said = namespace(thoughts='', text=message.content) %}
{% if '</think>' in message.content %}
{% set said.thoughts = message.content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
{% set said.text = message.content.split('</think>')[-1].lstrip('\\n') %}
{% endif %}
{% set shown = loop.index0 > seen.last_query_index and (loop.last or said.thoughts) %}
[[{% if shown %}{{ '<think>\\n' + said.thoughts.strip('\\n') + '\\n</think>\\n\\n' + said.text.lstrip('\\n') }}{% else %}{{ said.text }}{% endif %}{{ '<|im_end|>' }}]]
{% else %}{{ message.content + '<|im_end|>' }}{% endif %}{{ '\\n' }}{% endfor %}""",
    "llama3": """{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}
{%- if message['role'] == 'assistant' %}
[[{{ message['content'] | trim + '<|eot_id|>' }}]]
{% else %}{{ message['content'] | trim + '<|eot_id|>' }}{% endif %}{% endfor %}""",
    "llama3.1": """{{ bos_token }}{% set rest = messages %}{% set system = '' %}
{% if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] | trim %}{% set rest = messages[1:] %}{% endif %}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\nCutting Knowledge Date: December 2023\\nToday Date: 26 Jul 2024\\n\\n' + system + '<|eot_id|>' }}
{%- for message in rest %}{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}
{%- if message['role'] == 'assistant' %}
[[{{ message['content'] | trim + '<|eot_id|>' }}]]
{% else %}{{ message['content'] | trim + '<|eot_id|>' }}{% endif %}{% endfor %}""",
    "llama2": """{% set rest = messages %}{% set start = '' %}
{% if messages[0]['role'] == 'system' %}{% set start = '<<SYS>>\\n' + messages[0]['content'] + '\\n<</SYS>>\\n\\n' %}{% set rest = messages[1:] %}{% endif %}
{% for message in rest %}""" + ALTERNATING + """{% set said = (start if loop.first else '') + message['content'] %}
{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + said.strip() + ' [/INST]' }}{% else %}
[[{{ ' ' + said.strip() + ' ' + eos_token }}]]
{% endif %}{% endfor %}""",
    "mistral": """{{ bos_token }}{% for message in messages %}""" + ALTERNATING + """
{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% else %}
[[{{ message['content'] + eos_token }}]]
{% endif %}{% endfor %}""",
    "gemma": """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system message') }}{% endif %}
{% for message in messages %}""" + ALTERNATING + """{% if message['role'] == 'assistant' %}{{ '<start_of_turn>model\\n' }}
{%- else %}{{ '<start_of_turn>user\\n' }}{% endif %}
{%- if message['role'] == 'assistant' %}
[[{{ message['content'] | trim + '<end_of_turn>' }}]]
{% else %}{{ message['content'] | trim + '<end_of_turn>' }}{% endif %}{{ '\\n' }}{% endfor %}""",
    "gemma3": """{{ bos_token }}{% set rest = messages %}{% set first_user_prefix = '' %}
{% if messages[0]['role'] == 'system' %}{% set first_user_prefix = messages[0]['content'] + '\\n\\n' %}{% set rest = messages[1:] %}{% endif %}
{% for message in rest %}""" + ALTERNATING + """{% if message['role'] == 'assistant' %}{{ '<start_of_turn>model\\n' }}
{%- else %}{{ '<start_of_turn>user\\n' + (first_user_prefix if loop.first else '') }}{% endif %}
{%- if message['role'] == 'assistant' %}
[[{{ message['content'] | trim + '<end_of_turn>' }}]]
{% else %}{{ message['content'] | trim + '<end_of_turn>' }}{% endif %}{{ '\\n' }}{% endfor %}""",
    "phi3": """{% for message in messages %}{% if message['role'] == 'system' %}{{ '<|system|>\\n' + message['content'] + '<|end|>\\n' }}
{%- elif message['role'] == 'user' %}{{ '<|user|>\\n' + message['content'] + '<|end|>\\n' }}
{%- else %}{{ '<|assistant|>\\n' }}[[{{ message['content'] + '<|end|>' }}]]{{ '\\n' }}{% endif %}{% endfor %}{{ eos_token }}""",
    "zephyr": """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\\n' }}[[{{ message['content'] + eos_token }}]]{{ '\\n' }}{% endif %}
{% endfor %}""",
}
TURNS_ALTERNATE = {"llama2", "mistral", "gemma", "gemma3"}
WITHOUT_SYSTEM = {"mistral", "gemma"}
# Marks of templates that other models have, which no format of levin writes.
FOREIGN = ["{% for message in messages %}{{ '<|im_start|>' + message['role'] + '<|im_sep|>' + message['content'] + '<|im_end|>' }}{% endfor %}",
           "{% for message in messages %}{{ '<|user|>\\n' + message['content'] + '\\n' }}{% endfor %}",
           "{% for message in messages %}{{ ' [INST] ' + message['content'] + ' [/INST]' }}{% endfor %}",
           "{% for message in messages %}{{ message['content'] }}{% endfor %}"]

PIECES = ["hello", "What is 2+2?", "It's 4.", "\u00e9t\u00e9", "\u4f60\u597d", "\U0001f600", " ", "  ", "\n", "\n\n", "\t", "a b", ".", "'", "\u00a0", "\u3000", "x" * 40,
          "<think>", "</think>", "code:\n  return 1\n", "'quoted'", "\"both\"", "{{ not jinja }}", "<|im_end|>", "[INST]", "\u2028", "\x1c"]


def byte_level():
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    return tokenizer, trainer


def metaspace():
    """As Llama 2: a space before the text, and no other borders than those of merges."""
    tokenizer = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    special = SPECIAL + [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=special, show_progress=False, max_token_length=8)
    return tokenizer, trainer


def trained(kind):
    tokenizer, trainer = kind()
    text = [line for file in sorted(pathlib.Path(__file__).parents[3].glob("docs/*.md"))[:12] for line in file.read_text().splitlines()]
    tokenizer.train_from_iterator(text + PIECES, trainer)
    # The bytes' tokens are not special, unlike those that mean something.
    saved = json.loads(tokenizer.to_str())
    saved["added_tokens"] = [token for token in saved["added_tokens"] if not token["content"].startswith("<0x")]
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(saved))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])
    return tokenizer


def reference_template(template):
    return template.replace("[[", "{% generation %}").replace("]]", "{% endgeneration %}")


def own_template(template):
    return template.replace("\n[[", "").replace("]]\n", "").replace("[[", "").replace("]]", "")


def chat(rng, name):
    def said():
        return "".join(rng.choice(PIECES) for _ in range(rng.choice([0, 1, 1, 2, 3, 6])))
    messages = []
    if name not in WITHOUT_SYSTEM and rng.random() < 0.5:
        messages.append({"role": "system", "content": said()})
    for turn in range(rng.randrange(1, 6)):
        role = ["user", "assistant"][turn % 2] if name in TURNS_ALTERNATE else rng.choice(["user", "assistant", "assistant"])
        messages.append({"role": role, "content": said()})
    return messages


def read_by_levin(tool, folder, lines, *kind, **options):
    file = folder / "lines.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    text = json.dumps({"tokenizer": str(folder), "max_length": 100000, **options})
    done = subprocess.run([tool, file, text, *kind], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def wrapped(tokenizer, bos="<s>"):
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=bos, eos_token="</s>", pad_token="<pad>", unk_token="<unk>")


def learned_ids(sample):
    """Returns which tokens are targets, as transformers' mask says it."""
    return [0] + [int(target != -100) for target in sample["target"][:-1]]


def check_chats(tool, tokenizer, name, rng, count, folder):
    template = TEMPLATES[name]
    fast = wrapped(tokenizer)
    fast.chat_template = own_template(template)
    fast.save_pretrained(folder)
    reference = reference_template(template)
    chats, expected = [], []
    while len(chats) < count:
        messages = chat(rng, name)
        try:
            made = fast.apply_chat_template(messages, chat_template=reference, return_assistant_tokens_mask=True, return_dict=True, tokenize=True)
        except IndexError:
            continue
        ids = fast.apply_chat_template(messages, tokenize=True, return_dict=True)["input_ids"]
        assert ids == made["input_ids"], (name, messages)
        if ids:
            chats.append(messages)
            expected.append((ids, made["assistant_masks"]))
    lines = [{"messages": messages} for messages in chats]
    samples = read_by_levin(tool, folder, lines)
    if " " not in name:
        assert read_by_levin(tool, folder, lines, chat_template=name) == samples
    for messages, (ids, mask), sample in zip(chats, expected, samples, strict=True):
        assert "error" not in sample, (name, messages, sample)
        assert sample["input"] == ids, (name, messages, fast.convert_ids_to_tokens(sample["input"]), fast.convert_ids_to_tokens(ids))
        mask = [0] + mask[1:]  # the first token has no place where it could be a target
        assert learned_ids(sample) == mask, (name, messages, list(zip(fast.convert_ids_to_tokens(ids), learned_ids(sample), mask)))
        assert all(target in (-100, after) for target, after in zip(sample["target"], ids[1:] + [-100])), sample
    return len(chats), sum(map(sum, (mask for _, mask in expected)))


def without_answers(mask, count):
    """Returns the mask without the first answers, each a row of ones."""
    mask, i = list(mask), 0
    for _ in range(count):
        i = mask.index(1, i)
        while i < len(mask) and mask[i]:
            mask[i], i = 0, i + 1
    return mask


def check_preferences(tool, tokenizer, name, rng, count, folder):
    """Chats with two ends, whose prompt is a field or what both begin with; and TextJsonl's prompts that are messages."""
    template = TEMPLATES[name]
    fast = wrapped(tokenizer)
    fast.chat_template = own_template(template)
    fast.save_pretrained(folder)
    reference = reference_template(template)

    def expected_of(prompt, completion):
        made = fast.apply_chat_template(prompt + completion, chat_template=reference, return_assistant_tokens_mask=True, return_dict=True)
        answers = sum(message["role"] == "assistant" for message in prompt)
        return made["input_ids"], [0] + without_answers(made["assistant_masks"], answers)[1:]

    lines, completions, expected = [], [], []
    while len(lines) < count:
        prompt = chat(rng, name)
        if prompt[-1]["role"] == "assistant" and (name in TURNS_ALTERNATE or rng.random() < 0.5):
            prompt.pop()
        if not prompt or name in TURNS_ALTERNATE and prompt[-1]["role"] != "user":
            continue
        ends = [[{"role": "assistant", "content": mark + "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 4)))}] for mark in "ab"]
        try:
            pair = [expected_of(prompt, end) for end in ends]
        except IndexError:
            continue
        expected += pair
        completions.append({"prompt": prompt, "completion": ends[0]})
        lines.append({"prompt": prompt, "chosen": ends[0], "rejected": ends[1]} if len(lines) % 2 else
                     {"chosen": prompt + ends[0], "rejected": prompt + ends[1]})
    read = read_by_levin(tool, folder, lines, "preferences")
    for number, ((ids, mask), sample) in enumerate(zip(expected, read, strict=True)):
        assert "error" not in sample, (name, lines[number // 2], sample)
        assert sample["input"] == ids, (name, lines[number // 2], fast.convert_ids_to_tokens(sample["input"]), fast.convert_ids_to_tokens(ids))
        assert learned_ids(sample) == mask, (name, lines[number // 2], list(zip(fast.convert_ids_to_tokens(ids), learned_ids(sample), mask)))
    assert read_by_levin(tool, folder, completions) == read[::2], name


def check_prompts(tool, tokenizer, rng, count, folder):
    fast = wrapped(tokenizer)
    fast.save_pretrained(folder)
    lines = []
    for _ in range(count):
        lines.append({"prompt": "".join(rng.choice(PIECES) for _ in range(rng.randrange(4))),
                      "completion": "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 4)))})
    for line, sample in zip(lines, read_by_levin(tool, folder, lines), strict=True):
        made = fast(line["prompt"] + line["completion"], return_offsets_mapping=True)
        ids = made["input_ids"]
        learned = [int(end > len(line["prompt"]) and end > begin and not (begin < len(line["prompt"]) and id in fast.all_special_ids))
                   for id, (begin, end) in zip(ids, made["offset_mapping"])]
        if ids[-1] != fast.eos_token_id:
            ids, learned = ids + [fast.eos_token_id], learned + [0]
        learned[-1] = 1
        assert sample["input"] == ids, (line, sample, ids)
        assert learned_ids(sample) == learned, (line, fast.convert_ids_to_tokens(ids), learned_ids(sample), learned)


def check_foreign(tool, tokenizer, folder):
    fast = wrapped(tokenizer)
    for template in FOREIGN:
        fast.chat_template = template
        fast.save_pretrained(folder)
        [sample] = read_by_levin(tool, folder, [{"messages": [{"role": "user", "content": "a"}]}])
        assert "set chat_template to one of chatml" in sample.get("error", ""), (template, sample)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--chats", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for kind in (byte_level, metaspace):
        tokenizer = trained(kind)
        rng = random.Random(given.seed)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name in TEMPLATES:
                chats, learned = check_chats(given.tool, tokenizer, name, rng, given.chats, folder)
                check_preferences(given.tool, tokenizer, name, rng, given.chats // 2, folder)
                print(f"{kind.__name__}: {name}: {chats} chats, {learned} learned tokens, {given.chats // 2} preferences are equal")
            check_prompts(given.tool, tokenizer, rng, given.chats * 5, folder)
            print(f"{kind.__name__}: {given.chats * 5} prompts with completions are equal")
            check_foreign(given.tool, tokenizer, folder)


if __name__ == "__main__":
    main()
