#pragma once
#include <levin/trainer/core/option.h>

#include <string>

namespace levin::cli {

/// The page docs/config.md: every option and class of the config that `schema` describes, in Markdown.
std::string config_docs(const Schema& schema);

}  // namespace levin::cli
