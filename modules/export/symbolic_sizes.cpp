#include <levin/modules/export/symbolic_sizes.h>
#include <levin/core/system/error.h>
#include <levin/modules/export/program_of_graph.h>
#include <levin/modules/export/size_polynomial.h>
#include <levin/modules/program/argument_text.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace levin::program {
namespace {

/// A number of a program, which a symbol may replace.
struct Number {
  int64_t value = 0;
  std::string where = {};  ///< for messages
  std::function<void(const SizePolynomial&)> replace = {};
};

/// "batch = 5, height = 3"
std::string sizes_text(const std::vector<Symbol>& symbols, const std::vector<int64_t>& point) {
  std::string text;
  for (size_t s = 0; s < symbols.size(); ++s)
    text += (s == 0 ? "" : ", ") + symbols[s].meaning + " = " + std::to_string(point[s] * symbols[s].factor);
  return text;
}

/// Throws unless both do the same but for numbers.
void check_same(const ExportedProgram& one, const ExportedProgram& other, const std::string& sizes) {
  const auto differ = [&](const std::string& what) {
    throw UsageError("the operators follow the sizes of the inputs: with ", sizes, " ", what,
                     " (a branch or a loop of C++ depends on a size, or on values); compute the same for all sizes, or "
                     "fix the size");
  };
  for (size_t i = 0; i < one.nodes.size(); ++i) {
    const Node& node = one.nodes[i];
    if (i >= other.nodes.size()) differ("there is no " + named_operator(node));
    const Node& counterpart = other.nodes[i];
    if (node.target != counterpart.target)
      differ(named_operator(counterpart) + " is called in place of " + named_operator(node));
    bool is_same = node.inputs.size() == counterpart.inputs.size() && node.outputs.size() == counterpart.outputs.size();
    for (size_t a = 0; is_same && a < node.inputs.size(); ++a) {
      const Argument &x = node.inputs[a].value, &y = counterpart.inputs[a].value;
      is_same = node.inputs[a].name == counterpart.inputs[a].name && x.index() == y.index();
      if (!is_same || std::holds_alternative<int64_t>(x)) continue;
      if (const auto* list = std::get_if<std::vector<NumberOrName>>(&x)) {
        const auto& items = std::get<std::vector<NumberOrName>>(y);
        is_same = list->size() == items.size();
        for (size_t k = 0; is_same && k < items.size(); ++k) is_same = (*list)[k].index() == items[k].index();
      } else {
        is_same = write_argument(one, x) == write_argument(other, y);
      }
    }
    for (size_t r = 0; is_same && r < node.outputs.size(); ++r)
      is_same = write_output(one, node.outputs[r]) == write_output(other, counterpart.outputs[r]);
    if (!is_same) differ(named_operator(node) + " gets other arguments than numbers that follow the sizes");
  }
  if (other.nodes.size() > one.nodes.size()) differ(named_operator(other.nodes[one.nodes.size()]) + " is called, too");
}

/// Makes a program symbolic.
class Maker {
 public:
  Maker(ExportedProgram& program, const std::vector<Symbol>& symbols) : program_(program), symbols_(symbols) {
    for (const Symbol& symbol : symbols) names_.push_back(symbol.name);
  }

  /// Returns all numbers that may follow a size, in an order that is that of each recording.
  std::vector<Number> numbers() {
    std::vector<Number> all;
    for (Node& node : program_.nodes)
      for (Node::Input& input : node.inputs) {
        const std::string where = named_operator(node) + "'s " + input.name;
        if (auto* whole = std::get_if<int64_t>(&input.value))
          all.push_back({*whole, where, [this, &input](const SizePolynomial& size) { input.value = value_of(size); }});
        if (auto* list = std::get_if<std::vector<NumberOrName>>(&input.value))
          for (NumberOrName& item : *list)
            if (auto* whole = std::get_if<int64_t>(&item))
              all.push_back({*whole, where, [this, &item](const SizePolynomial& size) { item = value_of(size); }});
      }
    for (auto& [name, meta] : program_.tensors)
      for (std::vector<Size>* sizes : {&meta.sizes, &meta.strides})
        for (Size& size : *sizes)
          all.push_back({std::get<int64_t>(size), "the size of " + name,
                         [this, &size](const SizePolynomial& polynomial) { size = polynomial.expression(names_); }});
    return all;
  }

  /// Puts the nodes that compute sizes before all others.
  void finish() {
    computed_.insert(computed_.end(), std::make_move_iterator(program_.nodes.begin()),
                     std::make_move_iterator(program_.nodes.end()));
    program_.nodes = std::move(computed_);
    for (const Symbol& symbol : symbols_) program_.ranges[symbol.name] = symbol.range;
  }

 private:
  Name add(const std::string& target, const std::string& base, std::vector<Node::Input> inputs,
           const SizePolynomial& size) {
    Node node;
    node.name = base + "_" + std::to_string(computed_.size());
    node.target = target;
    node.inputs = std::move(inputs);
    const Name name{node.name};
    node.outputs = {std::optional(name)};
    computed_.push_back(std::move(node));
    program_.numbers[name.text] = size.expression(names_);
    return name;
  }

  Name combine(const std::string& function, Argument a, Argument b, const SizePolynomial& size) {
    return add("_operator." + function, "size_" + function, {{"a", std::move(a)}, {"b", std::move(b)}}, size);
  }

  Name symbol(size_t s) {
    if (const auto known = symbol_values_.find(s); known != symbol_values_.end()) return known->second;
    SizePolynomial::Monomial monomial(symbols_.size(), 0);
    monomial[s] = 1;
    const Symbol& symbol = symbols_[s];
    const SizePolynomial whole = SizePolynomial::of({{monomial, symbol.factor}});
    Name name = add("torch.ops.aten.sym_size.int", "sym_size_int",
                    {{"self", Name{symbol.places.front().input}}, {"dim", symbol.places.front().dim}}, whole);
    if (symbol.factor != 1) name = combine("floordiv", name, symbol.factor, SizePolynomial::of({{monomial, 1}}));
    symbol_values_[s] = name;
    return name;
  }

  /// Returns the value of a node that computes the size.
  Name value_of(const SizePolynomial& size) {
    if (const auto known = values_.find(size); known != values_.end()) return known->second;
    std::optional<Name> sum;
    SizePolynomial so_far;
    int64_t constant = 0;
    for (const auto& [monomial, coefficient] : size.coefficients()) {
      std::optional<Name> product;
      SizePolynomial::Monomial reached(monomial.size(), 0);
      for (size_t s = 0; s < monomial.size(); ++s)
        for (int64_t t = 0; t < monomial[s]; ++t) {
          ++reached[s];
          product = product ? combine("mul", *product, symbol(s), SizePolynomial::of({{reached, 1}})) : symbol(s);
        }
      if (!product) {
        constant = coefficient;
        continue;
      }
      if (coefficient != 1)
        product = combine("mul", *product, coefficient, SizePolynomial::of({{monomial, coefficient}}));
      so_far = so_far.plus(monomial, coefficient);
      sum = sum ? combine("add", *sum, *product, so_far) : *product;
    }
    if (constant != 0) sum = combine("add", *sum, constant, size);
    return values_[size] = *sum;
  }

  ExportedProgram& program_;
  const std::vector<Symbol>& symbols_;
  std::vector<std::string> names_ = {};
  std::vector<Node> computed_ = {};
  std::map<SizePolynomial, Name> values_ = {};
  std::map<size_t, Name> symbol_values_ = {};
};

}  // namespace

ExportedProgram with_symbols(std::vector<ExportedProgram> recordings, const std::vector<Symbol>& symbols,
                             const std::vector<int64_t>& base) {
  const auto points = SizePolynomial::points(base);
  for (size_t i = 1; i < recordings.size(); ++i)
    check_same(recordings.front(), recordings[i], sizes_text(symbols, points[i]));
  Maker maker(recordings.front(), symbols);
  const std::vector<Number> numbers = maker.numbers();
  std::vector<std::vector<Number>> others;
  for (size_t i = 1; i < recordings.size(); ++i) others.push_back(Maker(recordings[i], symbols).numbers());
  for (size_t n = 0; n < numbers.size(); ++n) {
    std::vector<int64_t> values = {numbers[n].value};
    for (const auto& other : others) values.push_back(other.at(n).value);
    if (std::ranges::count(values, values.front()) == static_cast<std::ptrdiff_t>(values.size())) continue;
    const std::optional<SizePolynomial> size = SizePolynomial::through(base, values);
    if (!size)
      throw UsageError(numbers[n].where, " follows the sizes of the inputs, and by no polynomial of them: it is ",
                       values.front(), " with ", sizes_text(symbols, points.front()), ", and ", values[1], " with ",
                       sizes_text(symbols, points[1]), "; fix the size, or permit multiples alone (input:2=16*height)");
    numbers[n].replace(*size);
  }
  maker.finish();
  for (size_t s = 0; s < symbols.size(); ++s) recordings.front().hints[symbols[s].name] = base[s];
  return std::move(recordings.front());
}

}  // namespace levin::program
