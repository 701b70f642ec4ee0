#pragma once
#include <levin/core/options/option.h>

#include <string>

namespace levin::cli {

/// Returns the page docs/config.md in Markdown: every option and class of the config that `schema` describes.
std::string config_docs(const Schema& schema);

}  // namespace levin::cli
