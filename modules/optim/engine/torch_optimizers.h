#pragma once
#include <levin/core/system/error.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/optimizer.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

/// LibTorch's optimizers seen from outside: the fields of their options and states under Python's names. `io` is called
/// with each name and field; it reads or writes them. The number of steps is given to `io.step`.
namespace levin::optim::torch_optimizers {

// --- the fields of each optimizer, under Python's names; `io` writes or reads them ---

template <class IO>
void options(IO& io, torch::optim::SGDOptions& o) {
  io("lr", o.lr()), io("momentum", o.momentum()), io("dampening", o.dampening());
  io("weight_decay", o.weight_decay()), io("nesterov", o.nesterov());
}
template <class IO>
void options(IO& io, torch::optim::RMSpropOptions& o) {
  io("lr", o.lr()), io("momentum", o.momentum()), io("alpha", o.alpha()), io("eps", o.eps());
  io("centered", o.centered()), io("weight_decay", o.weight_decay());
}
template <class IO>
void options(IO& io, torch::optim::AdagradOptions& o) {
  io("lr", o.lr()), io("lr_decay", o.lr_decay()), io("eps", o.eps()), io("weight_decay", o.weight_decay());
  io("initial_accumulator_value", o.initial_accumulator_value());
}
template <class IO>
void options(IO& io, torch::optim::LBFGSOptions& o) {
  io("lr", o.lr()), io("max_iter", o.max_iter()), io("max_eval", o.max_eval());
  io("tolerance_grad", o.tolerance_grad()), io("tolerance_change", o.tolerance_change());
  io("history_size", o.history_size()), io("line_search_fn", o.line_search_fn());
}
/// Adam and AdamW.
template <class IO, class AdamOptions>
void options(IO& io, AdamOptions& o) {
  io("lr", o.lr()), io("betas", o.betas()), io("eps", o.eps()), io("weight_decay", o.weight_decay());
  io("amsgrad", o.amsgrad());
}

template <class IO>
void values(IO& io, torch::optim::SGDParamState& s) {
  io("momentum_buffer", s.momentum_buffer());
}
template <class IO>
void values(IO& io, torch::optim::RMSpropParamState& s) {
  io.step(s.step()), io("square_avg", s.square_avg());
  io("momentum_buffer", s.momentum_buffer()), io("grad_avg", s.grad_avg());
}
template <class IO>
void values(IO& io, torch::optim::AdagradParamState& s) {
  io.step(s.step()), io("sum", s.sum());
}
template <class IO>
void values(IO& io, torch::optim::LBFGSParamState& s) {
  io("func_evals", s.func_evals()), io("n_iter", s.n_iter()), io("d", s.d()), io("t", s.t());
  io("old_dirs", s.old_dirs()), io("old_stps", s.old_stps()), io("ro", s.ro()), io("H_diag", s.H_diag());
  io("prev_flat_grad", s.prev_flat_grad()), io("prev_loss", s.prev_loss()), io("al", s.al());
}
/// Adam and AdamW.
template <class IO, class AdamParamState>
void values(IO& io, AdamParamState& s) {
  io.step(s.step()), io("exp_avg", s.exp_avg()), io("exp_avg_sq", s.exp_avg_sq());
  io("max_exp_avg_sq", s.max_exp_avg_sq());
}

/// Calls `work(Options*, ParamState*)`, both null, with the types that `optimizer` uses. Returns false, without a call,
/// for a class that is none of LibTorch's.
template <class Work>
bool with_known_types(torch::optim::Optimizer& optimizer, const Work& work) {
  namespace theirs = torch::optim;
  if (dynamic_cast<theirs::SGD*>(&optimizer))
    work(static_cast<theirs::SGDOptions*>(nullptr), static_cast<theirs::SGDParamState*>(nullptr));
  else if (dynamic_cast<theirs::Adam*>(&optimizer))
    work(static_cast<theirs::AdamOptions*>(nullptr), static_cast<theirs::AdamParamState*>(nullptr));
  else if (dynamic_cast<theirs::AdamW*>(&optimizer))
    work(static_cast<theirs::AdamWOptions*>(nullptr), static_cast<theirs::AdamWParamState*>(nullptr));
  else if (dynamic_cast<theirs::RMSprop*>(&optimizer))
    work(static_cast<theirs::RMSpropOptions*>(nullptr), static_cast<theirs::RMSpropParamState*>(nullptr));
  else if (dynamic_cast<theirs::Adagrad*>(&optimizer))
    work(static_cast<theirs::AdagradOptions*>(nullptr), static_cast<theirs::AdagradParamState*>(nullptr));
  else if (dynamic_cast<theirs::LBFGS*>(&optimizer))
    work(static_cast<theirs::LBFGSOptions*>(nullptr), static_cast<theirs::LBFGSParamState*>(nullptr));
  else
    return false;
  return true;
}

[[noreturn]] inline void throw_unknown_state() {
  throw UsageError(
      "the state of this optimizer is not known: it derives neither from levin::optim::Optimizer nor from one of "
      "LibTorch's SGD, Adam, AdamW, RMSprop, Adagrad, LBFGS, and its `save` writes nothing");
}

/// Does the same, and throws levin::UsageError for another class.
template <class Work>
void with_types(torch::optim::Optimizer& optimizer, const Work& work) {
  if (!with_known_types(optimizer, work)) throw_unknown_state();
}

}  // namespace levin::optim::torch_optimizers
