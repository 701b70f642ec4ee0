#include <levin/program/runs/run_json.h>
#include <levin/core/state/json_depth.h>
#include <levin/core/system/json_member.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace levin::runs {
namespace {

using Json = nlohmann::ordered_json;
using Members = Json::object_t;

/// Returns the members without those whose name stands once more behind them.
Members without_repeats(Members members) {
  std::unordered_map<std::string_view, const Json*> last;
  for (const auto& [name, value] : members) last[name] = &value;
  if (last.size() == members.size()) return members;
  Members kept;
  for (auto& [name, value] : members)
    if (last[name] == &value) kept.emplace_back(name, std::move(value));
  return kept;
}

/// Builds a value from what the parser meets. Members are added to the end of an object, while ordered_json's own
/// parser looks through all of them before.
class JsonBuilder : public nlohmann::json_sax<Json> {
 public:
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(Json::binary(std::move(value))); }
  bool start_object(size_t /*members*/) override { return begin(Json::object()); }
  bool key(string_t& name) override {
    names_.back() = std::move(name);
    return true;
  }
  bool end_object() override {
    Members& members = open_.back().get_ref<Members&>();
    members = without_repeats(std::move(members));
    return end();
  }
  bool start_array(size_t /*elements*/) override { return begin(Json::array()); }
  bool end_array() override { return end(); }
  bool parse_error(size_t /*at*/, const std::string& /*last*/, const Json::exception& /*error*/) override {
    return false;
  }

 private:
  bool begin(Json value) {
    open_.push_back(std::move(value));
    names_.emplace_back();
    return true;
  }

  bool end() {
    Json value = std::move(open_.back());
    open_.pop_back();
    names_.pop_back();
    return add(std::move(value));
  }

  bool add(Json value) {
    if (open_.empty())
      root_ = std::move(value);
    else if (open_.back().is_array())
      open_.back().push_back(std::move(value));
    else
      add_member(open_.back(), names_.back(), std::move(value));
    return true;
  }

  Json root_ = Json(Json::value_t::discarded);
  std::vector<Json> open_ = {};          ///< the objects and arrays around the value
  std::vector<std::string> names_ = {};  ///< of the member in hand, of each of them
};

}  // namespace

Json parse_run_json(std::string_view text) {
  JsonBuilder builder;
  if (is_nested_deeper(text) || !Json::sax_parse(text, &builder)) return Json(Json::value_t::discarded);
  return builder.take();
}

}  // namespace levin::runs
