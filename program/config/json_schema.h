#pragma once
#include <levin/core/options/option.h>

namespace levin::cli {

/// Returns the JSON Schema (draft 7, which editors support best) of the config that `schema` describes.
///
/// Types, defaults, limits, choices and descriptions come from the options. The options of a class apply if "class"
/// names it or if it is the default class. Unknown keys are rejected. Every value may also be a `${...}` reference.
Json json_schema(const Schema& schema);

}  // namespace levin::cli
