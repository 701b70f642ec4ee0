#include <levin/core/options/devices.h>
#include <levin/core/options/value_type.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <charconv>
#include <sstream>

namespace levin {
namespace {

constexpr const char* kDevicesExpected = "a count, a list of different device numbers, \"auto\" or -1";
constexpr const char* kDevicesSchema =
    R"({"type": ["integer", "string", "array", "null"], "minimum": -1, "pattern": "^(|auto|-1|[0-9, ]+)$",
        "items": {"type": "integer", "minimum": 0}, "minItems": 1, "uniqueItems": true})";

std::optional<int> whole_number(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  const size_t end = text.find_last_not_of(' ');
  if (begin == std::string::npos) return {};
  int value = 0;
  const char* last = text.data() + end + 1;
  const auto result = std::from_chars(text.data() + begin, last, value);
  if (result.ec != std::errc() || result.ptr != last) return {};
  return value;
}

std::optional<Devices> parse_devices(const Json& json) try {
  if (json.is_null()) return Devices();
  if (json.is_string()) return Devices(json.get<std::string>());
  if (json.is_number_integer()) return Devices(json.get<int>());
  if (json.is_array() && std::all_of(json.begin(), json.end(), [](const Json& id) { return id.is_number_integer(); }))
    return Devices(json.get<std::vector<int>>());
  return {};
} catch (const UsageError&) {
  return {};
}

Json write_devices(const Devices& devices) {
  if (!devices.is_set()) return nullptr;
  if (devices.is_all()) return "auto";
  if (devices.is_list()) return devices.ids();
  return devices.count(0);
}

}  // namespace

Devices::Devices(int count) : kind_(count == -1 ? Kind::All : Kind::Count), count_(count) {
  if (count < -1) throw_unexpected("devices", kDevicesExpected, count);
}

Devices::Devices(const std::string& text) {
  if (text.empty()) return;
  if (text == "auto" || text == "-1") {
    kind_ = Kind::All;
    return;
  }
  std::vector<int> ids;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    const std::optional<int> id = whole_number(part);
    if (!id) throw_unexpected("devices", kDevicesExpected, text);
    ids.push_back(*id);
  }
  const bool is_list = text.find(',') != std::string::npos;
  *this = is_list ? Devices(std::move(ids)) : Devices(ids.at(0));
}

Devices::Devices(std::vector<int> ids) : kind_(Kind::List), ids_(std::move(ids)) {
  std::vector<int> sorted = ids_;
  std::sort(sorted.begin(), sorted.end());
  const bool repeated = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  if (sorted.empty() || sorted.front() < 0 || repeated) throw_unexpected("devices", kDevicesExpected, ids_);
}

int Devices::count(int all) const {
  switch (kind_) {
    case Kind::Unset:
      return 1;
    case Kind::All:
      return all;
    case Kind::Count:
      return count_;
    case Kind::List:
      break;
  }
  return static_cast<int>(ids_.size());
}

std::string Devices::to_text() const {
  if (kind_ == Kind::Unset) return "";
  if (kind_ == Kind::All) return "auto";
  if (kind_ == Kind::Count) return std::to_string(count_);
  std::string text;
  for (int id : ids_) text += (text.empty() ? "" : ",") + std::to_string(id);
  return text;
}

const OptionType& OptionTraits<Devices>::type() {
  static const ValueType<Devices> type(kDevicesExpected, parse_devices, write_devices, json_or_text, /*a_switch=*/false,
                                       kDevicesSchema);
  return type;
}

}  // namespace levin
