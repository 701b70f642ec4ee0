#pragma once
#include <levin/program/runs/recorded_run.h>

#include <cstddef>
#include <string>
#include <vector>

namespace levin::runs {

/// Draws a series with the dots of Braille letters: `height` lines of `width` columns, of which the first ten have the
/// largest and the smallest value. Values that are not finite are left out. A series without finite values gives one
/// line that says so.
std::vector<std::string> text_chart(const Series& series, size_t width, size_t height);

/// Returns a text without characters that control a terminal: each becomes '?'.
std::string printable(const std::string& text);

}  // namespace levin::runs
