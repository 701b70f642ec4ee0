#include <levin/modules/export/bound_program.h>

#include <utility>

namespace levin::program {

BoundProgram::BoundProgram(const ExportedProgram& program, const std::string& file,
                           std::map<std::string, at::Tensor> tensors)
    : program_(program), runner_(program, file, /*namespaces=*/{}), tensors_(std::move(tensors)) {}

std::vector<at::Tensor> BoundProgram::run(const std::vector<at::Tensor>& inputs) const {
  std::vector<c10::IValue> values;
  size_t next = 0;
  for (const Input& input : program_.inputs)
    values.emplace_back(input.kind == InputKind::UserTensor ? inputs.at(next++) : tensors_.at(input.target));
  return runner_.run(std::move(values));
}

}  // namespace levin::program
