#pragma once
#include <levin/core/options/option.h>
#include <torch/optim/optimizer.h>

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin::optim {

/// The type-erased options of a parameter group of one of levin's optimizers.
class AnyGroupOptions : public torch::optim::OptimizerOptions {
 public:
  /// Returns all values under Python's names, as a JSON object.
  Json values() const;
  /// Sets the entries of `values`, which an optimizer's state holds, that exist in the options; they may lie outside of
  /// the bounds for values that users write. Throws levin::UsageError for a value of another type.
  void set_values(const Json& values);
  /// Throws levin::UsageError, prefixed with `path`, for invalid values.
  virtual void check(const std::string& path) const = 0;
  /// Sets the momentum or the first beta; returns false if there is neither.
  virtual bool set_momentum(double momentum) = 0;
  /// Returns whether all values except the learning rate equal those of `other`, which has the same class.
  virtual bool equals_but_lr(const torch::optim::OptimizerOptions& other) const = 0;
  /// Whether the loss is maximized.
  virtual bool maximize() const = 0;
  /// Returns the options of groups that an optimizer with these defaults steps by another rule; null if it has none.
  virtual std::unique_ptr<AnyGroupOptions> others() const = 0;

 protected:
  static void expect_two(const std::vector<double>& values, const std::string& path);

 private:
  virtual const Schema& schema() const = 0;
  virtual void* data() = 0;
  /// Conversions for options that Python names or groups differently.
  virtual void rename_to_python(Json& values) const = 0;
  virtual void rename_from_python(Json& values) const = 0;
};

/// An options struct (SGDOptions, AdamOptions, ...) as LibTorch's parameter groups hold it.
///
/// Optional functions of the struct, found by name: check_more(options, path), to_python_names(json, options) and
/// from_python_names(json, options). An optional member `others`: options of groups that are stepped by another rule.
template <class Options>
class GroupOptions final : public AnyGroupOptions {
 public:
  explicit GroupOptions(Options options_ = {}) : options(std::move(options_)) {}

  std::unique_ptr<torch::optim::OptimizerOptions> clone() const override {
    return std::make_unique<GroupOptions>(*this);
  }
  double get_lr() const override { return options.lr; }
  void set_lr(const double lr) override { options.lr = lr; }

  void check(const std::string& path) const override {
    schema_of<Options>().check(&options, path);
    if constexpr (requires { options.betas; }) expect_two(options.betas, path + ".betas");
    if constexpr (requires { check_more(options, path); }) check_more(options, path);
  }
  bool set_momentum(double momentum) override {
    if constexpr (requires { options.betas; })
      options.betas[0] = momentum;
    else if constexpr (requires { options.momentum; })
      options.momentum = momentum;
    else
      return false;
    return true;
  }
  bool equals_but_lr(const torch::optim::OptimizerOptions& other) const override {
    if constexpr (std::equality_comparable<Options>) {
      Options same = static_cast<const GroupOptions&>(other).options;
      same.lr = options.lr;
      return same == options;
    }
    return false;
  }
  bool maximize() const override {
    if constexpr (requires { options.maximize; }) return options.maximize;
    return false;
  }
  std::unique_ptr<AnyGroupOptions> others() const override {
    if constexpr (requires { options.others; })
      return std::make_unique<GroupOptions<decltype(options.others)>>(options.others);
    else
      return nullptr;
  }

  Options options;

 private:
  const Schema& schema() const override { return schema_of<Options>(); }
  void* data() override { return &options; }
  void rename_to_python(Json& values) const override {
    if constexpr (requires { to_python_names(values, options); }) to_python_names(values, options);
  }
  void rename_from_python(Json& values) const override {
    if constexpr (requires { from_python_names(values, options); }) from_python_names(values, options);
  }
};

/// Makes a parameter group with its own options: `param_group(parameters, AdamOptions{.lr = 1e-4})`.
template <class Options>
torch::optim::OptimizerParamGroup param_group(std::vector<at::Tensor> parameters, Options options) {
  return {std::move(parameters), std::make_unique<GroupOptions<Options>>(std::move(options))};
}

/// Returns the options of a group of one of levin's optimizers; throws std::bad_cast for the options of another
/// optimizer.
template <class Options>
Options& options_of(torch::optim::OptimizerOptions& options) {
  return dynamic_cast<GroupOptions<Options>&>(options).options;
}

}  // namespace levin::optim
