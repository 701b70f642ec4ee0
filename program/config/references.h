#pragma once
#include <levin/program/config/config.h>

#include <string>
#include <vector>

namespace levin::cli {

/// Replaces each `${...}` in the config's texts by its value.
///
/// `${data.batch_size}` is the value at that path, or the default of the option there. A text that is only a reference
/// takes the value's type; inside a longer text the value is inserted as text. `${env:NAME}` is an environment
/// variable, parsed like a flag's text. `$${` is a literal `${`. A "class" can only refer to the environment, because
/// it determines which options exist. The original texts are kept in `config.references`.
///
/// Returns all problems, each with its place: unknown paths and variables, values that refer to themselves, lists and
/// objects inside a text. Such values are removed from the config.
std::vector<std::string> resolve_references(const Schema& schema, Config& config);

}  // namespace levin::cli
