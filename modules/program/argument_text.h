#pragma once
#include <levin/modules/program/exported_program.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace levin::program {

/// What read_argument and the others of argument_json.h read, written again. A name in an argument is a tensor if
/// `program` has it among its tensors, else a number.
nlohmann::ordered_json write_argument(const ExportedProgram& program, const Argument& argument);
nlohmann::ordered_json write_output(const ExportedProgram& program, const Node::Output& output);
/// `hints`: what symbols were when the program was recorded, as compilers want to know.
nlohmann::ordered_json write_tensor_meta(const TensorMeta& meta, const std::map<std::string, int64_t>& hints);
/// {"as_tensor": {"name": "x"}}
nlohmann::ordered_json write_tensor_name(const std::string& name);
/// {"as_int": 3}, or the expression with the size that it had when it was recorded as a hint.
nlohmann::ordered_json write_size(const Size& size, const std::map<std::string, int64_t>& hints);

}  // namespace levin::program
