#include <levin/core/state/json_depth.h>

#include <string>

#include "tests/catch.h"

using levin::is_nested_deeper;

TEST_CASE("the depth of a JSON text counts lists and objects, and nothing inside of texts") {
  CHECK_FALSE(is_nested_deeper("", 0));
  CHECK(is_nested_deeper("[]", 0));
  CHECK_FALSE(is_nested_deeper(R"([{"a": [1]}, [[2]]])", 3));
  CHECK(is_nested_deeper(R"([{"a": [1]}, [[2]]])", 2));
  CHECK_FALSE(is_nested_deeper(R"({"[[[": "]\"[[[\\"})", 1));
  CHECK_FALSE(is_nested_deeper("]]]][]]]][]", 1));
  CHECK(is_nested_deeper(std::string(501, '[')));
  CHECK_FALSE(is_nested_deeper(std::string(500, '[')));
}
