#include <levin/data/tokenizers/json_fields.h>
#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>

#include <algorithm>
#include <utility>

namespace levin::data::tokenizers {

JsonFields::JsonFields(const Json& json, std::string place) : json_(&json), place_(std::move(place)) {
  if (!json.is_object()) fail(std::string("is ") + json.type_name() + ", not an object");
}

void JsonFields::fail(const std::string& what) const { throw UsageError(place_, ": ", what); }

void JsonFields::allow(std::initializer_list<std::string_view> names) const {
  for (const auto& member : json_->items()) {
    if (std::ranges::find(names, member.key()) == names.end() && !member.value().is_null()) {
      fail("has a member '" + member.key().substr(0, 100) +
           "' that levin does not know; it could change the result, so the file is refused");
    }
  }
}

bool JsonFields::has(const char* name) const {
  const auto found = json_->find(name);
  return found != json_->end() && !found->is_null();
}

const Json& JsonFields::at(const char* name) const {
  const auto found = json_->find(name);
  if (found == json_->end()) fail(std::string("has no '") + name + "'");
  return *found;
}

JsonFields JsonFields::object(const char* name) const { return {at(name), place_of(name)}; }

const Json& JsonFields::list(const char* name) const {
  const Json& json = at(name);
  if (!json.is_array()) throw UsageError(place_of(name), ": is ", json.type_name(), ", not a list");
  return json;
}

std::string JsonFields::text(const char* name) const { return json_text_of(at(name), place_of(name)); }

std::string JsonFields::text_or(const char* name, const std::string& otherwise) const {
  return has(name) ? text(name) : otherwise;
}

bool JsonFields::boolean(const char* name) const {
  const Json& json = at(name);
  if (!json.is_boolean()) throw UsageError(place_of(name), ": is ", json.type_name(), ", neither true nor false");
  return json.get<bool>();
}

bool JsonFields::boolean_or(const char* name, bool otherwise) const { return has(name) ? boolean(name) : otherwise; }

int64_t JsonFields::count(const char* name, int64_t most) const {
  const Json& json = at(name);
  if (!json.is_number_unsigned() || json.get<uint64_t>() > static_cast<uint64_t>(most)) {
    throw UsageError(place_of(name), ": is not a whole number from 0 to ", most);
  }
  return json.get<int64_t>();
}

char32_t JsonFields::character(const char* name) const {
  const std::string value = text(name);
  size_t position = 0;
  const char32_t code = value.empty() ? kInvalidUtf8 : next_code_point(value, position);
  if (code == kInvalidUtf8 || position != value.size()) {
    throw UsageError(place_of(name), ": is not one character");
  }
  return code;
}

std::string JsonFields::place_of(const char* name) const { return place_ + "." + name; }

std::string JsonFields::place_of(const char* name, size_t index) const {
  return place_of(name) + "[" + std::to_string(index) + "]";
}

const std::string& json_text_of(const Json& json, const std::string& place) {
  if (!json.is_string()) throw UsageError(place, ": is ", json.type_name(), ", not a text");
  return json.get_ref<const std::string&>();
}

int32_t json_id_of(const Json& json, const std::string& place) {
  if (!json.is_number_unsigned() || json.get<uint64_t>() > static_cast<uint64_t>(kMostId)) {
    throw UsageError(place, ": is no id, a whole number from 0 to ", kMostId);
  }
  return static_cast<int32_t>(json.get<int64_t>());
}

}  // namespace levin::data::tokenizers
