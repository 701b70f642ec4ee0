#include <levin/program/config/config_docs.h>
#include <levin/core/options/class_list.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace levin::cli {

std::string markdown_cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
  return escaped;
}

namespace {

constexpr const char* kIntroduction = R"(# Configuration

Made by `levin config docs` from the options in the source; a test checks that it is current.

A config is a JSON object with `seed`, `name`, `trainer`, `model` and `data`. Parts that are chosen by name carry a
`"class"` and their options flat beside it; `"AdamW"` is short for `{"class": "AdamW"}`.

- **Where values come from.** Files (`--config a.json b.json`), then the environment, then flags; later ones win.
  Objects are merged key by key, lists replace lists, and an object that names another `"class"`
  replaces the earlier one and starts from that class's defaults.
- **Bases.** `"base": "all.json"`, or a list of files, at the top of a file names configs that the file overrides; their paths
  begin at its folder. Comments stand behind `//` or between `/*` and `*/`.
- **Lists.** `"callbacks+=": [...]` in a file adds to the list of earlier files, as `--callbacks+=Timer` does. If a flag of a
  list is repeated, its values add up: `--callbacks EarlyStopping --callbacks Timer`. `--callbacks.0.monitor val_acc` sets an
  option of one item, counted from 0 (`LEVIN__TRAINER__CALLBACKS__0__MONITOR`). A class alone stands for a list of one.
- **Flags.** Each option of the trainer is a flag with dashes (`--max-epochs 3`), each of model and data one with its
  path (`--model.optimizer.lr 0.1`). In the environment `model.optimizer.lr` is `LEVIN__MODEL__OPTIMIZER__LR`.
- **References.** `"${data.batch_size}"` is the value at that path, or the default of the option there, with its type;
  inside a longer text it is put in as text. `"${env:NAME}"` is a variable of the environment. They are resolved after
  files, environment and flags are merged. `$${` stands for a literal `${`. A `"class"` can refer to the environment
  only.
- **Looking at it.** `levin config show` prints the resolved config (as does `--print-config` of a run), `levin config
  check` everything that is wrong with it, `levin config explain` where each value comes from, `levin config schema` a
  JSON Schema. An editor checks and completes a config that begins with `"$schema": "levin.schema.json"`, after
  `levin config schema > levin.schema.json`.
)";

std::string default_text(const Json& by_default) {
  if (by_default.is_null()) return "";
  if (by_default.is_object())
    return by_default.contains("class") ? "`" + by_default["class"].get<std::string>() + "`" : "";
  return "`" + markdown_cell(by_default.dump()) + "`";
}

std::string title_of(const ClassList& classes) {
  std::string title = classes.noun();
  std::replace(title.begin(), title.end(), '_', ' ');
  title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
  return title;
}

class Page {
 public:
  std::string text = kIntroduction;

  void options(const std::string& prefix, const Schema& schema) {
    const Json defaults = schema.defaults();
    text += "\n| option | value | default | meaning |\n|---|---|---|---|\n";
    rows(prefix, schema, defaults);
  }

  /// Adds all kinds of classes found so far, including kinds that their options add.
  void classes() {
    for (size_t i = 0; i < kinds_.size(); ++i) {
      text += "\n## " + title_of(*kinds_[i]) + "\n";
      for (const ClassInfo& info : kinds_[i]->classes()) {
        text += "\n### " + info.name + "\n";
        if (!info.help.empty()) text += "\n" + info.help + "\n";
        if (!info.schema().fields().empty()) options("", info.schema());
      }
      if (kinds_[i]->classes().empty()) text += "\nNone yet.\n";
    }
  }

  void rows(const std::string& prefix, const Schema& schema, const Json& defaults) {
    for (const Field& field : schema.fields()) {
      if (const ClassList* list = field.type->classes();
          list && std::find(kinds_.begin(), kinds_.end(), list) == kinds_.end())
        kinds_.push_back(list);
      const std::string limits = field.limits.to_text();
      const bool only_limits = !field.limits.choices.empty();
      text += "| `" + prefix + field.name + "` | " +
              markdown_cell(only_limits ? limits : field.type->expected() + (limits.empty() ? "" : ", " + limits)) +
              " | " + default_text(defaults[field.name]) + " | " + markdown_cell(field.help) + " |\n";
      const Schema* inner = field.type->classes() ? nullptr : field.type->inner("");
      if (inner)
        rows(prefix + field.name + ".", *inner,
             defaults[field.name].is_null() ? inner->defaults() : defaults[field.name]);
    }
  }

 private:
  std::vector<const ClassList*> kinds_ = {};
};

}  // namespace

std::string config_docs(const Schema& schema) {
  Page page;
  page.text += "\n## The top of a config\n\n| option | value | default | meaning |\n|---|---|---|---|\n";
  const Schema* trainer = nullptr;
  const Json defaults = schema.defaults();
  std::vector<Field> at_top;
  for (const Field& field : schema.fields())
    if (field.name == "trainer")
      trainer = field.type->inner("");
    else
      at_top.push_back(field);
  page.rows("", Schema(at_top, nullptr), defaults);
  if (trainer) {
    page.text += "\n## Trainer\n";
    page.options("", *trainer);
  }
  page.classes();
  return page.text;
}

}  // namespace levin::cli
