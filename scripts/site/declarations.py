"""C++ as one writes it, out of Doxygen's XML: types, declarations, and the arguments of LEVIN_OPTION."""

import re


def text_of(node):
    """Code as one writes it: the XML has a space inside of angle brackets and before a & or *."""
    code = "" if node is None else " ".join("".join(node.itertext()).split())
    code = re.sub(r"< ", "<", re.sub(r" (?=>)", "", code))
    code = re.sub(r" ([&*]+)(?=\w)", r"\1 ", code)
    return re.sub(r" (?=[&*]+( |$|\)|,|>))", "", code)


def option_arguments(initializer):
    """(default, help) of `LEVIN_OPTION(name, default, help, limits)`, also where another macro has expanded it, or
    (initializer, "")."""
    text = " ".join(initializer.removeprefix("=").split())
    match = re.match(r"(?:LEVIN_OPTION ?\(|::levin::detail::option ?\(&)(.*)\)$", text)
    if not match:
        return text.strip(), ""
    parts, depth, quoted = [""], 0, False
    for i, letter in enumerate(match[1]):
        if letter == '"' and match[1][i - 1] != "\\":
            quoted = not quoted
        if not quoted:
            depth += letter in "({["
            depth -= letter in ")}]"
        if letter == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    if text.startswith("::"):
        del parts[0]  # &name, "name", ...
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', parts[2]) if len(parts) > 2 else []
    return parts[1].strip(), "".join(words).replace('\\"', '"')


def signature(member):
    """A function as one declares it, with the parameters below each other if the line gets long."""
    kind = member.get("kind")
    words = [word for word, given in (("static", member.get("static") == "yes"), ("explicit", member.get("explicit") == "yes"),
                                      ("virtual", member.get("virt") in ("virtual", "pure-virtual"))) if given]  # fmt: skip
    type_text = text_of(member.find("type"))
    arguments = re.sub(r" ?(?<![=!<>])=(?!=) ?", " = ", text_of(member.find("argsstring")))
    if " override" in arguments:
        words = [word for word in words if word != "virtual"]
    name = member.findtext("name")
    if kind == "typedef":
        return f"using {name} = {type_text};" if member.findtext("definition").startswith("using") else member.findtext("definition") + ";"
    if kind == "define":
        parameters = ", ".join(text_of(param.find("defname")) for param in member.findall("param"))
        return f"{name}({parameters})"
    if kind == "variable":
        value = text_of(member.find("initializer"))
        return " ".join(filter(None, [*words, type_text, name + arguments, value])) + ";"
    text = " ".join(filter(None, [*words, type_text, name + arguments])) + ";"
    parameters = template(member)
    if len(text) > 100 and arguments.count("(") and len(member.findall("param")) > 1:
        text = wrapped(text, name)
    return parameters + text


def wrapped(text, name):
    """The parameters of a function, one a line."""
    start = text.index(name + "(") + len(name) + 1
    depth, lines, line = 0, [], ""
    for i in range(start, len(text)):
        if depth == 0 and text[i] == ")":
            return text[:start] + "\n    " + ",\n    ".join([*lines, line.strip()]) + text[i:]
        depth += (text[i] in "({[<") - (text[i] in ")}]" or (text[i] == ">" and text[i - 1] != "-"))
        if depth == 0 and text[i] == ",":
            lines.append(line.strip())
            line = ""
        else:
            line += text[i]
    return text


def template(node):
    parameters = node.find("templateparamlist")
    if parameters is None:
        return ""
    texts = [" ".join(filter(None, [text_of(p.find("type")), p.findtext("declname") or ""])) for p in parameters]
    return f"template <{', '.join(texts)}>\n"
