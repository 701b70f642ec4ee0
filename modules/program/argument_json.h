#pragma once
#include <levin/modules/program/exported_program.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace levin::program {

/// Throws levin::UsageError.
[[noreturn]] void refuse(const std::string& what);

/// Returns a whole number of 64 bits. This function and those below throw levin::UsageError or nlohmann's exceptions if
/// the JSON is something else.
int64_t read_integer(const nlohmann::json& json);
/// A union of the schema is an object with one key, which names the type. Returns the key and the value.
std::pair<std::string, const nlohmann::json*> read_union(const nlohmann::json& json);

Name read_name(const nlohmann::json& json);
Size read_size(const nlohmann::json& json);
TensorMeta read_tensor_meta(const nlohmann::json& json);
/// Returns an argument or an output of a node. Throws levin::UsageError for graphs, objects and operators.
Argument read_argument(const nlohmann::json& json);
Node::Output read_output(const nlohmann::json& json);

}  // namespace levin::program
