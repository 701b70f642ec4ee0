#include <levin/core/options/option.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace levin {

std::string join_path(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

const Field* Schema::find(const std::string& name) const {
  const auto found =
      std::find_if(fields_.begin(), fields_.end(), [&](const Field& field) { return field.name == name; });
  return found == fields_.end() ? nullptr : &*found;
}

std::vector<std::string> Schema::names() const {
  std::vector<std::string> names;
  for (const Field& field : fields_) names.push_back(field.name);
  return names;
}

void Schema::set(void* options, const std::string& path, const Json& values) const {
  if (!values.is_object()) throw_unexpected(path, "an object", values);
  for (const auto& item : values.items()) {
    const std::string key_path = join_path(path, item.key());
    const Field* field = find(item.key());
    if (!field) throw UsageError(key_path, ": no such option", did_you_mean(item.key(), names()));
    field->type->set(field->in(options), key_path, item.value(), field->limits);
  }
}

Json Schema::get(const void* options) const {
  Json values = Json::object();
  for (const Field& field : fields_) values[field.name] = field.type->get(field.in(options));
  return values;
}

void Schema::check(const void* options, const std::string& path) const {
  for (const Field& field : fields_) field.type->check(field.in(options), join_path(path, field.name), field.limits);
}

Json Schema::defaults() const { return get(make().get()); }

namespace detail {
namespace {

struct Recorder {
  const std::byte* object;
  size_t size;
  std::vector<Field> fields = {};
};
thread_local Recorder* current_recorder = nullptr;

}  // namespace

bool recording() noexcept { return current_recorder != nullptr; }

void record(const void* where, const char* name, const char* help, const GivenLimits& given, const OptionType& type) {
  Recorder& recorder = *current_recorder;
  const auto* begin = static_cast<const std::byte*>(where);
  // A temporary made meanwhile, such as a nested struct's default, is not a field of this object.
  if (begin < recorder.object || begin >= recorder.object + recorder.size) return;
  for (const Field& field : recorder.fields)
    if (field.name == name) throw Error("LEVIN_OPTION(", name, ", ...): two options of one struct have this name");
  Limits limits{.min = given.min,
                .max = given.max,
                .exclusive_min = given.exclusive_min,
                .exclusive_max = given.exclusive_max,
                .choices = {given.choices.begin(), given.choices.end()}};
  if (given.choices_of) limits.choices = given.choices_of();
  if (limits.choices.empty()) limits.choices = type.words();
  recorder.fields.push_back({name, help, std::move(limits), begin - recorder.object, &type});
}

Schema record_schema(size_t size, void* object, void (*construct_and_destroy)(void*), Schema::Make maker) {
  struct Restore {
    Recorder* outer = current_recorder;
    ~Restore() { current_recorder = outer; }
  } restore;
  Recorder recorder{static_cast<const std::byte*>(object), size};
  current_recorder = &recorder;
  construct_and_destroy(object);
  return Schema(std::move(recorder.fields), maker);
}

}  // namespace detail
}  // namespace levin
