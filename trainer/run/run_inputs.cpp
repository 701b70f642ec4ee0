#include <levin/trainer/run/run_inputs.h>

#include <functional>

namespace levin {
namespace {

std::function<data::Loaders()> train_source(const RunInputs& given, LightningModule& module) {
  if (!given.train.empty()) return [&given] { return given.train; };
  if (given.data_module) return [&given] { return given.data_module->module->train_dataloader(); };
  return [&module] { return module.train_dataloader(); };
}

std::function<data::Loaders()> evaluation_source(const RunInputs& given, LightningModule& module, Stage stage) {
  if (!given.evaluation.empty()) return [&given] { return given.evaluation; };
  // With training loaders only, validation runs only if the module has val_dataloader().
  switch (stage) {
    case Stage::Test:
      if (given.data_module) return [&given] { return given.data_module->module->test_dataloader(); };
      return [&module] { return module.test_dataloader(); };
    case Stage::Predict:
      if (given.data_module) return [&given] { return given.data_module->module->predict_dataloader(); };
      return [&module] { return module.predict_dataloader(); };
    default:
      if (given.data_module) return [&given] { return given.data_module->module->val_dataloader(); };
      return [&module] { return module.val_dataloader(); };
  }
}

}  // namespace

LoaderSource RunInputs::loaders(LightningModule& module, Stage stage) const {
  return {.train = train_source(*this, module), .evaluation = evaluation_source(*this, module, stage)};
}

}  // namespace levin
