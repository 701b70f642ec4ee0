#pragma once
#include <levin/core/options/option.h>

#include <string>

namespace levin::cli {

/// Returns the page docs/config.md in Markdown: every option and class of the config that `schema` describes.
std::string config_docs(const Schema& schema);

/// Escapes a text for a cell of a table in Markdown.
std::string markdown_cell(const std::string& text);

}  // namespace levin::cli
