#pragma once
#include <string>

namespace levin {

/// Returns whether a pattern of an option names the layer or parameter `name` ("net.layers.0.q_proj"): by the whole
/// name, by the end of it after a dot ("q_proj", "0.q_proj"), or, if the pattern has one of `*?[`, as a shell's pattern
/// of the whole name, in which `*` also stands for dots.
bool matches_name(const std::string& pattern, const std::string& name);
/// Returns whether a pattern names the parameter `name`, or a part of the module that it is in.
bool names_parameter(const std::string& pattern, const std::string& name);
/// Returns whether `text` is such a shell's pattern.
bool is_pattern(const std::string& text);

}  // namespace levin
