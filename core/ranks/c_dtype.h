#pragma once
#include <c10/core/ScalarType.h>
#include <levin/hosts/c/c_api.h>

namespace levin::c {

/// Throws levin::UsageError for a dtype that the C interface lacks.
levin_dtype dtype_of(at::ScalarType dtype);
at::ScalarType scalar_type_of(levin_dtype dtype);

}  // namespace levin::c
