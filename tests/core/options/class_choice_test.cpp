#include <levin/core/options/class_choice.h>
#include <levin/core/options/registry.h>

#include <nlohmann/json.hpp>

#include "tests/catch.h"

using levin::ClassChoice;
using levin::Json;

namespace {

struct SquareOptions {
  double side = LEVIN_OPTION(side, 1, "Side", {.min = 0});
};
struct RectangleOptions {
  double width = LEVIN_OPTION(width, 1, "Width", {.min = 0});
  double height = LEVIN_OPTION(height, 2, "Height", {.min = 0});
};

struct AreaKind {
  using Entry = std::function<double(const void* options, double factor)>;
  static levin::Registry<Entry>& registry() {
    static levin::Registry<Entry> registry = [] {
      levin::Registry<Entry> made("area", "areas");
      made.add<SquareOptions>("Square", "A square", [](const void* options, double factor) {
        const double side = static_cast<const SquareOptions*>(options)->side;
        return side * side * factor;
      });
      made.add<RectangleOptions>("Rectangle", "A rectangle", [](const void* options, double factor) {
        const auto* o = static_cast<const RectangleOptions*>(options);
        return o->width * o->height * factor;
      });
      return made;
    }();
    return registry;
  }
};

struct Options {
  ClassChoice<AreaKind> area = LEVIN_OPTION(area, {"Square"}, "Area");
  ClassChoice<AreaKind> other = LEVIN_OPTION(other, {}, "Another; unset: none");
  std::vector<ClassChoice<AreaKind>> more = LEVIN_OPTION(more, {}, "More areas");
};

void set(Options& options, const char* text) { levin::schema_of<Options>().set(&options, "model", Json::parse(text)); }

Json get(const Options& options) { return levin::schema_of<Options>().get(&options); }

}  // namespace

TEST_CASE("a part is chosen by name, with its options flat beside it") {
  Options options;
  CHECK(get(options).dump() == R"({"area":{"class":"Square","side":1.0},"other":null,"more":[]})");
  CHECK(options.area.make("model.area", 3.0) == 3.0);
  set(options,
      R"({"area": {"side": 2}, "other": {"class": "Rectangle", "height": 5}, "more": ["Square", {"class": "Rectangle"}]})");
  CHECK(options.area.make("model.area", 1.0) == 4.0);
  CHECK(options.other.make("model.other", 1.0) == 5.0);
  CHECK(options.more[1].make("model.more[1]", 1.0) == 2.0);
  const Options copy = options;
  set(options, R"({"area": {"class": "Rectangle"}, "other": null})");
  CHECK(get(options)["area"].dump() == R"({"class":"Rectangle","width":1.0,"height":2.0})");
  CHECK_FALSE(options.other);
  CHECK(copy.area.make("model.area", 1.0) == 4.0);
  set(options, R"({"area": "Square"})");
  CHECK(get(options)["area"].dump() == R"({"class":"Square","side":1.0})");
}

TEST_CASE("a part can be given in C++") {
  const Options options{.area = {"Rectangle", RectangleOptions{.width = 3}}};
  CHECK(options.area.make("model.area", 1.0) == 6.0);
  CHECK(get(options)["area"].dump() == R"({"class":"Rectangle","width":3.0,"height":2.0})");
  CHECK_THROWS_WITH(
      levin::schema_of<Options>().check(
          std::make_unique<Options>(Options{.area = {"Square", SquareOptions{.side = -1}}}).get(), "model"),
      "model.area.side: expected at least 0, got -1.0");
  CHECK_THROWS_WITH(ClassChoice<AreaKind>("Square", RectangleOptions{}).make("a", 1.0),
                    "a: the options given are not those of area 'Square'");
  CHECK_THROWS_WITH(ClassChoice<AreaKind>().make("model.area", 1.0), "model.area: no area is chosen");
}

TEST_CASE("wrong parts are named") {
  Options options;
  CHECK_THROWS_WITH(set(options, R"({"area": {"class": "Sqare"}})"),
                    "model.area.class: no area 'Sqare' (did you mean Square?); `levin list areas` shows them");
  CHECK_THROWS_WITH(set(options, R"({"area": {"class": "Square", "width": 1}})"), "model.area.width: no such option");
  CHECK_THROWS_WITH(set(options, R"({"area": 3})"),
                    "model.area: expected the name of an area or an object with \"class\", got 3");
  CHECK_THROWS_WITH(set(options, R"({"area": {"class": 3}})"), "model.area.class: expected a name, got 3");
  CHECK_THROWS_WITH(set(options, R"({"other": {"side": 3}})"),
                    "model.other.class: missing; name one of the area classes");
  CHECK_THROWS_WITH(set(options, R"({"more": [{"class": "Square", "side": "x"}]})"),
                    "model.more[0].side: expected a number, got \"x\"");
}

TEST_CASE("a second registration of a name is reported when asked for") {
  CHECK_NOTHROW(levin::raise_duplicate_registrations());
  AreaKind::registry().add<SquareOptions>("Square", "Another", [](const void*, double) { return 0.0; });
  CHECK(AreaKind::registry().classes().size() == 2);
  CHECK_THROWS_WITH(levin::raise_duplicate_registrations(),
                    "two classes are registered as area 'Square'; rename one of them");
}
