#include <levin/core/ranks/c_dtype.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <array>

namespace levin::c {
namespace {

constexpr std::array kDtypes = {at::kFloat, at::kDouble, at::kInt,   at::kLong, at::kByte,
                                at::kBool,  at::kChar,   at::kShort, at::kHalf, at::kBFloat16};

}  // namespace

levin_dtype dtype_of(at::ScalarType dtype) {
  const auto found = std::ranges::find(kDtypes, dtype);
  if (found == kDtypes.end()) throw UsageError("a result has the dtype ", dtype, ", which the C interface lacks");
  return static_cast<levin_dtype>(found - kDtypes.begin());
}

at::ScalarType scalar_type_of(levin_dtype dtype) {
  if (dtype < 0 || static_cast<size_t>(dtype) >= kDtypes.size())
    throw UsageError("an array has the dtype ", dtype, ", which is none of LEVIN_FLOAT32, ...");
  return kDtypes[static_cast<size_t>(dtype)];
}

}  // namespace levin::c
