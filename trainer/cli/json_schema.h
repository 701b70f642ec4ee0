#pragma once
#include <levin/trainer/core/option.h>

namespace levin::cli {

/// The JSON Schema (draft 7, which editors know best) of a config that `schema` describes.
///
/// Types, defaults, limits, choices and descriptions come from the options; the options of a class hold where "class"
/// names it or where it is the default one; unknown keys are refused. Every value may also be a `${...}` reference.
Json json_schema(const Schema& schema);

}  // namespace levin::cli
