#include <levin/modules/program/input_check.h>
#include <levin/core/system/error.h>
#include <levin/modules/program/size_expression.h>

#include <algorithm>
#include <utility>

namespace levin::program {
namespace {

/// 0: numbers with a point, 1: whole numbers, 2: truth values, 3: complex numbers.
int kind_of(at::ScalarType type) {
  if (type == at::kBool) return 2;
  if (c10::isComplexType(type)) return 3;
  return c10::isFloatingType(type) ? 0 : 1;
}

bool fits(at::ScalarType given, at::ScalarType wanted) {
  return given == wanted || (kind_of(given) == kind_of(wanted) && kind_of(given) == 0);
}

std::string text_of(const Range& range) {
  const std::string least = std::to_string(range.least.value_or(0));
  return range.most ? "from " + least + " to " + std::to_string(*range.most) : "at least " + least;
}

}  // namespace

InputCheck::InputCheck(const ExportedProgram& program, std::string file, std::vector<std::string> names)
    : file_(std::move(file)), names_(std::move(names)) {
  for (const Input& input : program.inputs) {
    if (input.kind != InputKind::UserTensor) continue;
    const auto found = program.tensors.find(input.value);
    if (found == program.tensors.end()) throw UsageError(file_, ": says nothing of its input '", input.value, "'");
    Wanted wanted{found->second.dtype};
    for (const program::Size& size : found->second.sizes) wanted.sizes.push_back(size_of(size));
    inputs_.push_back(std::move(wanted));
  }
  for (const std::string& symbol : symbols_) {
    const auto range = program.ranges.find(symbol);
    ranges_.push_back(range == program.ranges.end() ? Range{} : range->second);
    // Tracing takes sizes of 0 and 1 for special ones, so a bound of 2 says nothing of the model. Python ignores it
    // too.
    if (ranges_.back().least.value_or(0) <= 2) ranges_.back().least.reset();
  }
}

InputCheck::Size InputCheck::size_of(const program::Size& size) {
  if (const auto* number = std::get_if<int64_t>(&size)) return {.number = *number};
  const auto& text = std::get<std::string>(size);
  if (const std::optional<std::string> symbol = symbol_of(text)) {
    auto found = std::ranges::find(symbols_, *symbol);
    if (found == symbols_.end()) found = symbols_.insert(found, *symbol);
    return {.symbol = static_cast<int>(found - symbols_.begin())};
  }
  has_expressions_ = true;
  return {.expression = text};
}

std::string InputCheck::expected(size_t input) const {
  std::string text =
      file_ + ": input '" + names_[input] + "' was exported as " + c10::toString(inputs_[input].dtype) + " [";
  for (size_t i = 0; i < inputs_[input].sizes.size(); ++i) {
    const Size& size = inputs_[input].sizes[i];
    if (i > 0) text += ", ";
    if (size.number >= 0)
      text += std::to_string(size.number);
    else
      text += size.symbol >= 0 ? symbols_[static_cast<size_t>(size.symbol)] : "computed";
  }
  return text + "]";
}

void InputCheck::operator()(const std::vector<at::Tensor>& tensors) const {
  if (tensors.size() != inputs_.size())
    throw UsageError(file_, ": takes ", inputs_.size(), " tensors, and was given ", tensors.size());
  constexpr int64_t kUnknown = -1;
  std::vector<int64_t> values(symbols_.size(), kUnknown);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = tensors[i];
    const Wanted& wanted = inputs_[i];
    if (!tensor.defined()) throw UsageError(expected(i), ", and was given no tensor");
    if (!fits(tensor.scalar_type(), wanted.dtype))
      throw UsageError(expected(i), ", and was given ", tensor.scalar_type(), " ", tensor.sizes(),
                       "; convert it in the data");
    if (tensor.dim() != static_cast<int64_t>(wanted.sizes.size()))
      throw UsageError(expected(i), ", and was given ", tensor.sizes(), ", which has another number of dimensions");
    for (size_t j = 0; j < wanted.sizes.size(); ++j) {
      const Size& size = wanted.sizes[j];
      const int64_t given = tensor.size(static_cast<int64_t>(j));
      if (size.number >= 0 && size.number != given)
        throw UsageError(expected(i), ", and was given ", tensor.sizes(), ": size ", j,
                         " was fixed at export; export with dynamic_shapes={\"", names_[i], "\": {", j,
                         ": torch.export.Dim(\"size\")}}, or leave short batches out (drop_last)");
      if (size.symbol < 0) continue;
      const auto symbol = static_cast<size_t>(size.symbol);
      if (values[symbol] != kUnknown && values[symbol] != given)
        throw UsageError(expected(i), ", and was given ", tensor.sizes(), ": ", symbols_[symbol], " is ",
                         values[symbol], " in an input before");
      values[symbol] = given;
      const Range& range = ranges_[symbol];
      if ((range.least && given < *range.least) || (range.most && given > *range.most))
        throw UsageError(expected(i), ", and was given ", tensor.sizes(), ": ", symbols_[symbol], " may be ",
                         text_of(range));
    }
  }
  if (!has_expressions_) return;
  std::map<std::string, int64_t> known;
  for (size_t i = 0; i < symbols_.size(); ++i)
    if (values[i] != kUnknown) known[symbols_[i]] = values[i];
  for (size_t i = 0; i < tensors.size(); ++i)
    for (size_t j = 0; j < inputs_[i].sizes.size(); ++j) {
      const std::string& expression = inputs_[i].sizes[j].expression;
      const std::optional<int64_t> value = expression.empty() ? std::nullopt : value_of(expression, known);
      if (value && *value != tensors[i].size(static_cast<int64_t>(j)))
        throw UsageError(expected(i), ", and was given ", tensors[i].sizes(), ": size ", j, " must be ", *value);
    }
}

}  // namespace levin::program
