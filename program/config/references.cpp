#include <levin/program/config/references.h>
#include <levin/core/system/error.h>
#include <levin/program/config/reference_text.h>

#include <algorithm>
#include <set>

namespace levin::cli {
namespace {

constexpr size_t kMaxInARow = 100;
constexpr size_t kMaxCopied = 100000;  // values and bytes of text, because nested references can grow without bound

/// Thrown if the value that a reference needs is itself wrong, which is already reported.
struct NeedsWrongValue {};

size_t size_of(const Json& value) {
  if (value.is_string()) return 1 + value.get_ref<const std::string&>().size();
  size_t size = 1;
  if (value.is_structured())
    for (const Json& inner : value) size += size_of(inner);
  return size;
}

class Resolver {
 public:
  Resolver(const Schema& schema, Config& config) : schema_(schema), config_(config) {}

  std::vector<std::string> run() {
    resolve_within({}, config_.values);
    for (const std::string& path : wrong_) {
      // Without its class the rest of a part has no meaning.
      const size_t part = path.ends_with(".class") ? path.size() - std::string(".class").size() : path.size();
      config_.erase(path.substr(0, part));
    }
    return problems_;
  }

 private:
  using Keys = std::vector<std::string>;

  void resolve_within(Keys keys, Json& value) {
    if (value.is_string()) return resolve_text(keys, value);
    if (!value.is_structured()) return;
    keys.emplace_back();
    size_t index = 0;
    for (auto item = value.begin(); item != value.end(); ++item, ++index) {
      keys.back() = value.is_object() ? item.key() : item_path("", index);
      resolve_within(keys, *item);
    }
  }

  void resolve_text(const Keys& keys, Json& value) {
    const std::string path = path_of(keys);
    const std::string text = value.get<std::string>();
    if (!has_reference(text) || is_done(keys)) return;
    if (std::find(open_.begin(), open_.end(), path) != open_.end()) {
      std::string way;
      for (auto at = std::find(open_.begin(), open_.end(), path); at != open_.end(); ++at) way += *at + " -> ";
      throw UsageError("${", path, "} refers to itself: ", way, path);
    }
    open_.push_back(path);
    try {
      if (open_.size() > kMaxInARow) throw UsageError("expected at most ", kMaxInARow, " references in a row");
      Json resolved = meaning_of(keys, text);
      copied_ += size_of(resolved);
      if (copied_ > kMaxCopied) throw UsageError("the references make the config too large");
      const std::string origin = config_.nearest_origin(path);
      if (!origin.empty()) config_.set_origin(path, resolved, origin);
      note_reference(path, resolved, text);
      value = std::move(resolved);
    } catch (const UsageError& error) {
      const std::string origin = config_.nearest_origin(path);
      problems_.push_back(c10::str(origin, origin.empty() ? "" : ": ", path, ": ", error.what()));
      wrong_.push_back(path);
      value = nullptr;
    } catch (const NeedsWrongValue&) {
      wrong_.push_back(path);
      value = nullptr;
    }
    open_.pop_back();
    done_.insert(path);
  }

  /// Inserted texts are not resolved again: a `${` in them is literal.
  bool is_done(Keys keys) const {
    for (; !keys.empty(); keys.pop_back())
      if (done_.count(path_of(keys))) return true;
    return false;
  }

  void note_reference(const std::string& path, const Json& value, const std::string& text) {
    config_.references[path] = text;
    if (value.is_object())
      for (const auto& item : value.items()) note_reference(join_path(path, item.key()), item.value(), text);
    if (value.is_array())
      for (size_t i = 0; i < value.size(); ++i) note_reference(item_path(path, i), value[i], text);
  }

  Json meaning_of(const Keys& keys, const std::string& text) {
    const std::vector<TextPiece> pieces = pieces_of(text);
    if (pieces.size() == 1 && pieces[0].is_reference) return value_of(keys, pieces[0].text);
    std::string result;
    for (const TextPiece& piece : pieces)
      result += piece.is_reference ? text_of(piece.text, value_of(keys, piece.text)) : piece.text;
    return result;
  }

  Json value_of(const Keys& keys, const std::string& reference) {
    if (const std::optional<std::string> name = environment_name(reference)) {
      note_environment();
      return read_as(keys, environment_value(*name));
    }
    if (keys.back() == "class")
      throw UsageError("a class can refer to the environment only (${env:NAME}), got ${", reference, "}");
    Keys wanted = keys_of(reference);
    if (wanted.size() == 2 && wanted[0] == "trainer" && (wanted[1] == "seed" || wanted[1] == "name"))
      wanted.erase(wanted.begin());  // both are at the top of a config
    return value_at(wanted, reference);
  }

  /// Marks the values that are being resolved as coming from the environment.
  void note_environment() { config_.from_environment.insert(open_.begin(), open_.end()); }

  /// Returns whether the value at `path`, a part of it, or a value that contains it comes from the environment.
  bool is_from_environment(const std::string& path) const {
    const auto is_part = [](const std::string& part, const std::string& whole) {
      return part.rfind(whole, 0) == 0 &&
             (part.size() == whole.size() || part[whole.size()] == '.' || part[whole.size()] == '[');
    };
    return std::any_of(config_.from_environment.begin(), config_.from_environment.end(),
                       [&](const std::string& one) { return is_part(one, path) || is_part(path, one); });
  }

  /// Returns the value of an option in the config, or else its default.
  Json value_at(const Keys& wanted, const std::string& reference) {
    if (wanted.empty()) throw UsageError("${}: expected the path of an option between ${ and }");
    Keys keys;
    for (const std::string& key : wanted) {
      keys.push_back(key);
      Json* const found = const_cast<Json*>(find_value(config_.values, keys));
      if (!found) return default_at(wanted, reference);
      if (found->is_string()) resolve_text(keys, *found);
    }
    Json& found = *const_cast<Json*>(find_value(config_.values, wanted));
    resolve_within(wanted, found);
    if (is_from_environment(path_of(wanted))) note_environment();
    if (found.is_null() && std::find(wrong_.begin(), wrong_.end(), path_of(wanted)) != wrong_.end())
      throw NeedsWrongValue();
    return found;
  }

  Json default_at(const Keys& wanted, const std::string& reference) {
    try {
      const FoundOption option = find_option(schema_, config_.values, wanted);
      return option.is_class ? Json(class_name_of(option.by_default)) : option.by_default;
    } catch (const UsageError& error) {
      throw UsageError("${", reference, "}: ", error.what());
    }
  }

  /// Parses the environment's text according to the type of the option.
  Json read_as(const Keys& keys, const std::string& text) const {
    try {
      const FoundOption option = find_option(schema_, config_.values, keys);
      return option.is_class ? Json(text) : option.type->from_text(text);
    } catch (const UsageError&) {
      return text;  // a wrong path is reported later
    }
  }

  static std::string text_of(const std::string& reference, const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_null()) throw UsageError("${", reference, "} is unset and cannot stand inside a text");
    if (value.is_structured())
      throw UsageError("${", reference, "} is ", value.is_array() ? "a list" : "an object",
                       " and cannot stand inside a text");
    return value.dump();
  }

  const Schema& schema_;
  Config& config_;
  std::vector<std::string> open_ = {}, wrong_ = {}, problems_ = {};
  std::set<std::string> done_ = {};
  size_t copied_ = 0;
};

}  // namespace

std::vector<std::string> resolve_references(const Schema& schema, Config& config) {
  return Resolver(schema, config).run();
}

}  // namespace levin::cli
