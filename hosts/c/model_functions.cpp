#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <levin/data/remote/local_path.h>
#include <levin/hosts/c/host_config.h>
#include <levin/hosts/c/model.h>
#include <levin/hosts/c/status.h>
#include <levin/modules/optim/master_weights.h>
#include <levin/modules/parallel/sharding/watched_memory.h>
#include <levin/modules/weights.h>

#include <cmath>
#include <deque>
#include <vector>

using namespace levin::c;

namespace {

/// Calls `visit` with each floating-point weight and where it begins in a flat array; returns the number of elements.
template <class Visit>
int64_t visit_weights(Model& model, const Visit& visit) {
  const auto gathering = gather_weights(model.inputs().are_weights_divided());
  int64_t begin = 0;
  for (const auto& [name, value] : levin::module_state_dict(*model.module()).to_dict()) {
    if (!value.is_tensor() || !at::isFloatingType(value.to_tensor().scalar_type())) continue;
    visit(value.to_tensor(), begin);
    begin += value.to_tensor().numel();
  }
  return begin;
}

/// Returns the optimizers of a module that a session trains; none outside of a training.
std::vector<levin::LightningOptimizer> optimizers_of(levin::LightningModule& module) {
  try {
    return module.optimizers();
  } catch (const levin::UsageError&) {
    return {};
  }
}

/// Sets the copies in float32 that optimizers step in the place of weights of 16 bits, after these were set.
void set_master_weights(levin::LightningModule& module) {
  for (levin::LightningOptimizer& optimizer : optimizers_of(module)) {
    const auto* const masters = levin::optim::MasterWeights::of(optimizer.raw());
    if (masters == nullptr) continue;
    masters->for_each_copy([](const at::Tensor& weight, const at::Tensor& copy) { copy.copy_(weight); });
  }
}

/// While it lives, this rank has the whole weights, also those that are divided among ranks. Collective.
class WholeWeights {
 public:
  explicit WholeWeights(Model& model) {
    if (!model.inputs().are_weights_divided()) return;
    for (const auto& [name, value] : levin::module_state_dict(*model.module()).to_dict())
      if (value.is_tensor()) uses_.emplace_back(value.to_tensor());
  }

 private:
  std::deque<levin::parallel::MemoryUse> uses_ = {};
};

/// Returns a flat array's memory. Throws levin::UsageError for another size.
at::Tensor flat_tensor(const levin_array* flat, int64_t elements) {
  const at::Tensor tensor = tensor_of(given(flat, "flat"));
  if (tensor.dim() != 1 || tensor.size(0) != elements)
    throw levin::UsageError("the flat array is ", tensor.sizes(), ", expected [", elements, "]");
  if (!at::isFloatingType(tensor.scalar_type())) throw levin::UsageError("the flat array is not of real numbers");
  if (flat->strides != nullptr && flat->strides[0] < 0) throw levin::UsageError("the flat array has a negative stride");
  return tensor;
}

}  // namespace

levin_status levin_model_create(const levin_config* config, const char* weights, levin_model** model) {
  return guarded("levin_model_create", [&] {
    given(model, "the model") = nullptr;
    const levin::cli::ReadOptions options = read_host_config(given(config, "the config"));
    const auto module = make_model(options);
    if (weights != nullptr) levin::load_weights(*module, levin::local_path(weights));
    *model = models().add(std::make_shared<Model>(module));
  });
}

void levin_model_destroy(levin_model* model) {
  guarded("levin_model_destroy", [&] { models().take(model); });
}

levin_status levin_model_save(levin_model* model, const char* path) {
  return guarded("levin_model_save", [&] {
    given(path, "the path");
    const auto held = models().at(model);
    const WholeWeights whole(*held);
    levin::save_weights(*held->module(), path);
  });
}

levin_status levin_model_input_count(levin_model* model, size_t* count) {
  return guarded("levin_model_input_count", [&] { given(count, "the count") = models().at(model)->input_count(); });
}
levin_status levin_model_input(levin_model* model, size_t place, levin_array* array) {
  return guarded("levin_model_input", [&] { models().at(model)->describe_input(place, given(array, "the array")); });
}
levin_status levin_model_output_count(levin_model* model, size_t* count) {
  return guarded("levin_model_output_count", [&] { given(count, "the count") = models().at(model)->output_count(); });
}
levin_status levin_model_output(levin_model* model, size_t place, levin_array* array) {
  return guarded("levin_model_output", [&] { models().at(model)->describe_output(place, given(array, "the array")); });
}

levin_status levin_model_run(levin_model* model, const char* function, const levin_array* inputs, size_t count) {
  return guarded("levin_model_run", [&] { models().at(model)->run(function, inputs, count); });
}
levin_status levin_model_result_count(levin_model* model, size_t* count) {
  return guarded("levin_model_result_count",
                 [&] { given(count, "the count") = models().at(model)->results().count(); });
}
levin_status levin_model_result(levin_model* model, size_t place, levin_array* array) {
  return guarded("levin_model_result", [&] { models().at(model)->results().give(place, given(array, "the array")); });
}

levin_status levin_model_weight_count(levin_model* model, size_t* count) {
  return guarded("levin_model_weight_count",
                 [&] { given(count, "the count") = models().at(model)->weights().count(); });
}
levin_status levin_model_weight(levin_model* model, size_t place, levin_array* array) {
  return guarded("levin_model_weight", [&] { models().at(model)->weights().give(place, given(array, "the array")); });
}

levin_status levin_model_weights_size(levin_model* model, int64_t* elements) {
  return guarded("levin_model_weights_size", [&] {
    given(elements, "the elements") = visit_weights(*models().at(model), [](const at::Tensor&, int64_t) {});
  });
}
levin_status levin_model_get_weights(levin_model* model, const levin_array* flat) {
  return guarded("levin_model_get_weights", [&] {
    const auto held = models().at(model);
    const at::Tensor all = flat_tensor(flat, visit_weights(*held, [](const at::Tensor&, int64_t) {}));
    visit_weights(*held, [&](const at::Tensor& weight, int64_t begin) {
      all.narrow(0, begin, weight.numel()).copy_(weight.detach().reshape(-1));
    });
  });
}
levin_status levin_model_set_weights(levin_model* model, const levin_array* flat) {
  return guarded("levin_model_set_weights", [&] {
    const auto held = models().at(model);
    const at::Tensor all = flat_tensor(flat, visit_weights(*held, [](const at::Tensor&, int64_t) {}));
    const at::NoGradGuard no_gradients;
    visit_weights(*held, [&](const at::Tensor& weight, int64_t begin) {
      at::Tensor(weight).copy_(all.narrow(0, begin, weight.numel()).view(weight.sizes()));
    });
    set_master_weights(*held->module());
  });
}

levin_status levin_mean(const levin_array* arrays, const double* weights, size_t count, const levin_array* mean) {
  return guarded("levin_mean", [&] {
    if (count == 0) throw levin::UsageError("there is no array to take the mean of");
    given(arrays, "the arrays");
    const at::Tensor result = tensor_of(given(mean, "the mean"));
    if (!at::isFloatingType(result.scalar_type())) throw levin::UsageError("the mean is not of real numbers");
    for (int32_t i = 0; mean->strides != nullptr && i < mean->rank; ++i)
      if (mean->strides[i] < 0) throw levin::UsageError("the mean has a negative stride");
    at::Tensor sum = at::zeros(result.sizes(), result.options().dtype(at::kDouble));
    double total = 0;
    for (size_t i = 0; i < count; ++i) {
      const double weight = weights == nullptr ? 1 : weights[i];
      if (!(weight >= 0) || std::isinf(weight))
        throw levin::UsageError("the weight of array ", i, " is ", weight, ", expected a finite number of at least 0");
      const at::Tensor one = tensor_of(arrays[i]);
      if (one.sizes() != result.sizes())
        throw levin::UsageError("array ", i, " is ", one.sizes(), ", and the mean ", result.sizes());
      if (weight == 0) continue;  // whatever it holds, NaN too
      sum.add_(one.to(sum.options()), weight);
      total += weight;
    }
    if (!(total > 0) || std::isinf(total)) throw levin::UsageError("the weights add up to ", total);
    result.copy_(sum.div_(total));
  });
}
