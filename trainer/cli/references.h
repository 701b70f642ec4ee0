#pragma once
#include <levin/trainer/cli/config.h>

#include <string>
#include <vector>

namespace levin::cli {

/// Puts the values in that `${...}` in the config's texts stand for.
///
/// `${data.batch_size}` is the value at that path, or the default one of the option there; a text that is nothing else
/// keeps its type, in a longer text it is put in as text. `${env:NAME}` is a variable of the environment, read as a
/// flag's text is. `$${` is a literal `${`. A "class" can refer to the environment only: the other options that there
/// are depend on it. What was a reference is noted in `config.references`.
///
/// Returns what is wrong, each with its place: unknown paths and variables, values that refer to themselves, lists and
/// objects inside a text. Such values are taken out of the config.
std::vector<std::string> resolve_references(const Schema& schema, Config& config);

}  // namespace levin::cli
