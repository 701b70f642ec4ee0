#include <levin/core/device/first_calls.h>
#include <torch/types.h>

#include "tests/catch.h"

TEST_CASE("after the first calls two threads compute the functions of vectors as one thread does") {
  levin::make_first_calls();
  const int before = at::get_num_threads();
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor values = torch::rand({8192}, type) * 0.9 + 1e-6;
    for (const auto function : {at::sqrt, at::exp, at::log, at::tanh, at::erf, at::sin, at::cos}) {
      at::set_num_threads(2);
      const at::Tensor of_two = function(values);
      at::set_num_threads(1);
      CHECK(torch::equal(of_two, function(values)));
    }
  }
  at::set_num_threads(before);
}
