#include <levin/modules/export/dynamic_sizes.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/remainder.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/modules/export/program_of_graph.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace levin {
namespace {

constexpr std::string_view kForm = "INPUT:DIMENSION=NAME, as input:0=batch, input:0=batch[1:1024] or input:2=16*height";

int64_t number_in(std::string_view text, const std::string& whole) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw UsageError("expected ", kForm, ", got ", whole, ": '", text, "' is no whole number");
  return number;
}

}  // namespace

DynamicSize parse_dynamic_size(const std::string& text) {
  DynamicSize size;
  std::string_view rest = text;
  const size_t colon = rest.find(':'), equals = rest.find('=');
  if (equals == std::string_view::npos || colon == std::string_view::npos || colon > equals || colon == 0)
    throw UsageError("expected ", kForm, ", got ", text);
  size.input = rest.substr(0, colon);
  size.dim = number_in(rest.substr(colon + 1, equals - colon - 1), text);
  rest.remove_prefix(equals + 1);
  if (const size_t star = rest.find('*'); star != std::string_view::npos) {
    size.factor = number_in(rest.substr(0, star), text);
    rest.remove_prefix(star + 1);
  }
  if (const size_t bracket = rest.find('['); bracket != std::string_view::npos) {
    const std::string_view range = rest.substr(bracket + 1);
    const size_t middle = range.find(':');
    if (!range.ends_with(']') || middle == std::string_view::npos) throw UsageError("expected ", kForm, ", got ", text);
    const std::string_view least = range.substr(0, middle), most = range.substr(middle + 1, range.size() - middle - 2);
    if (!least.empty()) size.least = number_in(least, text);
    if (!most.empty()) size.most = number_in(most, text);
    rest = rest.substr(0, bracket);
  }
  size.name = rest;
  if (size.name.empty()) throw UsageError("expected ", kForm, ", got ", text);
  return size;
}

namespace program {
namespace {

constexpr int64_t kSmallest = 2;

int64_t rounded_up(int64_t size, int64_t factor) { return (size + factor - 1) / factor; }

}  // namespace

DynamicInputs::DynamicInputs(const std::vector<DynamicSize>& dynamic, const std::vector<std::string>& names,
                             const std::vector<at::Tensor>& example)
    : names_(names) {
  for (const DynamicSize& size : dynamic) {
    bool is_known = false;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!size.input.empty() && size.input != names[i]) continue;
      is_known = true;
      const int64_t dims = example[i].dim(), dim = size.dim < 0 ? size.dim + dims : size.dim;
      if (dim < 0 || dim >= dims) {
        if (size.input.empty()) continue;
        throw UsageError("export: the input ", names[i], " is ", example[i].sizes(), ", it has no dimension ",
                         size.dim);
      }
      const size_t symbol = symbol_of(size, example[i].size(dim));
      dimensions_.push_back({i, dim, symbol});
    }
    if (is_known) continue;
    const std::string known = joined(names);
    throw UsageError("export: there is no input ", size.input, " whose size may change; there are ", known);
  }
}

void DynamicInputs::choose_places(const std::vector<bool>& read) {
  for (const Dimension& one : dimensions_)
    if (read[one.input]) symbols_[one.symbol].places.push_back({python_name(names_[one.input]), one.dim});
  for (const Symbol& symbol : symbols_)
    if (symbol.places.empty())
      throw UsageError("export: no input that the function reads has the size ", symbol.meaning);
}

size_t DynamicInputs::symbol_of(const DynamicSize& size, int64_t example_size) {
  if (size.factor < 1)
    throw UsageError("export: the factor of ", size.name, " is ", size.factor, ", and must be positive");
  // A few samples do as well as a batch of data; of other dimensions a network may need as many as the example has.
  const bool is_batch = size.name == "batch" && size.factor == 1;
  const int64_t of_example = rounded_up(example_size, size.factor);
  const int64_t base = std::max(is_batch ? size.least.value_or(1) : of_example, kSmallest);
  const auto known = std::ranges::find(symbols_, size.name, &Symbol::meaning);
  if (known != symbols_.end()) {
    const auto index = static_cast<size_t>(known - symbols_.begin());
    if (of_example_[index] != of_example || known->factor != size.factor)
      throw UsageError("export: dimensions of the size ", size.name, " differ in the example, ",
                       of_example_[index] * known->factor, " and ", example_size, "; give them names of their own");
    return index;
  }
  const int64_t least = rounded_up(size.least.value_or(1), size.factor);
  const std::optional<int64_t> most = size.most ? std::optional(*size.most / size.factor) : std::nullopt;
  if (least < 1 || (most && *most < least)) throw UsageError("export: the range of ", size.name, " has no size");
  symbols_.push_back({"s" + std::to_string(symbols_.size()), size.name, size.factor, {least, most}});
  base_.push_back(base);
  of_example_.push_back(of_example);
  return symbols_.size() - 1;
}

std::vector<at::Tensor> DynamicInputs::resized(const std::vector<at::Tensor>& example,
                                               const std::vector<int64_t>& point) const {
  std::vector<at::Tensor> inputs = example;
  for (const Dimension& one : dimensions_) {
    at::Tensor& tensor = inputs[one.input];
    const int64_t size = point[one.symbol] * symbols_[one.symbol].factor;
    tensor = tensor.index_select(one.dim, at::remainder(at::arange(size, tensor.device()), tensor.size(one.dim)));
  }
  return inputs;
}

}  // namespace program
}  // namespace levin
