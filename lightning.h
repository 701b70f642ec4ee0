#pragma once
// A slim levin.h: what a program needs that trains a module of its own, with linear layers, Sequential and the losses.
// It brings fewer of LibTorch's headers than <torch/torch.h>, and so compiles faster. Add the header of anything else
// you use, such as <torch/nn/modules/conv.h>, or take <levin/levin.h>, which has everything.
#include <levin/callbacks/callback.h>
#include <levin/callbacks/early_stopping.h>
#include <levin/callbacks/model_checkpoint.h>
#include <levin/core/device/seed_everything.h>
#include <levin/core/options/option.h>
#include <levin/core/system/error.h>
#include <levin/data/batch.h>
#include <levin/data/data_loader.h>
#include <levin/data/data_module.h>
#include <levin/data/dataset.h>
#include <levin/data/datasets/mnist.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/lr_schedulers/cosine_annealing_lr.h>
#include <levin/modules/lr_schedulers/one_cycle_lr.h>
#include <levin/modules/lr_schedulers/step_lr.h>
#include <levin/modules/optim/optimizers/adam.h>
#include <levin/modules/optim/optimizers/adamw.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/trainer/strategies/strategy_options.h>
#include <levin/trainer/trainer.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/container/functional.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
