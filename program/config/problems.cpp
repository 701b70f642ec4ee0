#include <levin/program/config/problems.h>
#include <levin/core/options/class_list.h>
#include <levin/core/system/error.h>

namespace levin::cli {
namespace {

/// What PyTorch Lightning's configs call "class" and the options beside it.
constexpr const char *kClassPath = "class_path", *kInitArgs = "init_args";

std::string hint(const std::string& key, const std::vector<std::string>& known) {
  if (key == kClassPath) return "; the name of a class is \"class\"";
  if (key == kInitArgs) return "; the options of a class stand beside its \"class\"";
  return did_you_mean(key, known);
}

/// Walks config and schemas together, by the rules of Schema::set, and continues after an error.
class Search {
 public:
  explicit Search(const Config& config) : config_(config) {}

  void check_object(const Schema& schema, const std::string& path, const Json& values) {
    if (!values.is_object()) return refuse([&] { throw_unexpected(path, "an object", values); });
    const std::shared_ptr<void> scratch = schema.make();
    for (const auto& item : values.items()) {
      const std::string inner = join_path(path, item.key());
      const Field* field = schema.find(item.key());
      if (item.key().empty())
        problems.push_back(with_place(config_, (path.empty() ? "" : path + ": ") + "an option has an empty name"));
      else if (!field)
        problems.push_back(with_place(config_, c10::str(inner, ": no such option", hint(item.key(), schema.names()))));
      else
        check_field(*field, field->in(scratch.get()), inner, item.value());
    }
  }

 private:
  void check_field(const Field& field, void* scratch, const std::string& path, const Json& value) {
    const OptionType& type = *field.type;
    const size_t before = problems.size();
    if (type.is_list() && type.classes() && value.is_array()) {
      for (size_t i = 0; i < value.size(); ++i) check_part(*type.item(), item_path(path, i), value[i], Json());
    } else if (type.is_list() && type.classes()) {
      check_part(*type.item(), path, value, Json());
    } else if (!type.is_list() && type.classes()) {
      check_part(type, path, value, type.get(scratch));
    } else if (const Schema* inner = type.inner(""); inner && !value.is_null()) {
      check_object(*inner, path, value);
    }
    // Schema::set makes the final check.
    if (problems.size() == before) refuse([&] { type.set(scratch, path, value, field.limits); });
  }

  void check_part(const OptionType& type, const std::string& path, const Json& value, const Json& by_default) {
    if (!value.is_object()) return;  // a name or null, which `set` checks
    const std::string class_path = join_path(path, "class");
    if (value.contains("class") && !value["class"].is_string())
      return refuse([&] { throw_unexpected(class_path, "a name", value["class"]); });
    const std::string name = class_name_of(value.contains("class") ? value : by_default);
    if (name.empty()) {
      for (const char* key : {kClassPath, kInitArgs})
        if (value.contains(key))
          refuse([&] { throw UsageError(join_path(path, key), ": no such option", hint(key, {})); });
      return;  // `set` reports that the class is missing
    }
    refuse([&] {
      const Schema* const known = type.inner(name);  // a class may have other names too
      const Schema& schema = known ? *known : type.classes()->at(name, class_path).schema();
      Json options = value;
      options.erase("class");
      check_object(schema, path, options);
    });
  }

  template <class Check>
  void refuse(Check check) {
    try {
      check();
    } catch (const UsageError& error) {
      problems.push_back(with_place(config_, error.what()));
    }
  }

  const Config& config_;

 public:
  std::vector<std::string> problems = {};
};

}  // namespace

std::vector<std::string> find_problems(const Schema& schema, const Config& config) {
  Search search(config);
  search.check_object(schema, "", config.values);
  return search.problems;
}

std::string with_place(const Config& config, const std::string& message) {
  const std::string path = message.substr(0, message.find(": "));
  const std::string origin = config.nearest_origin(path);
  const auto reference = config.references.find(path);
  // What the environment says may be a password.
  const bool is_secret = config.from_environment.contains(path);
  const std::string told = is_secret ? message.substr(0, message.find(", got ")) : message;
  return c10::str(origin, origin.empty() ? "" : ": ", told, reference == config.references.end() ? "" : ", from ",
                  reference == config.references.end() ? "" : reference->second);
}

void throw_problems(const std::vector<std::string>& problems) {
  if (problems.empty()) return;
  if (problems.size() == 1) throw UsageError(problems[0]);
  std::string all;
  for (const std::string& problem : problems) all += "\n  " + problem;
  throw UsageError(problems.size(), " mistakes:", all);
}

}  // namespace levin::cli
