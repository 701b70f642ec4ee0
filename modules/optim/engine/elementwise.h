#pragma once
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sqrt_cpu_dispatch.h>
#include <levin/modules/optim/engine/arithmetic.h>
#include <levin/modules/optim/engine/block_roots.h>
#include <levin/modules/optim/engine/param_state.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <utility>
#include <vector>

// Steps of elementwise optimizers: one pass over memory on the CPU, lists of tensors on other devices.
//
// A Rule is made from the options and one parameter's state, so that parameters with the same step count share one. It
// is called with a parameter's element, its gradient and its states, or with lists of them:
//
//     struct Rule {
//       static constexpr std::array<size_t, 1> kState = {0};          // which tensors of the state it reads and writes
//       Rule(const SGDOptions& options, const ParamState& state);     // numbers of this step
//       template <class V> void operator()(V& parameter, V gradient, V* state) const;
//     };
//
// A rule that divides by a square root has, instead of the operator, `before`, which returns the radicand, and `after`,
// which receives the root. Between them the roots of a block are computed with the bits of at::sqrt: MKL's sqrt rounds
// differently from the processor's, and Adam amplifies that last bit to a full step if a gradient consists only of
// rounding errors.
namespace levin::optim::detail {

/// Elements of one parameter in memory.
template <size_t kTensors>
struct Span {
  void* parameter;
  const void* gradient;
  std::array<void*, kTensors> state;
  int64_t size;
  size_t rule;
  int64_t tail;  ///< for LikeKernels: the first element that does not fill a vector of LibTorch's
};

template <class Rule>
using SpanOf = Span<Rule::kState.size()>;

template <class Rule>
concept Rooted = requires { requires Rule::kRooted; };
/// A rule that rounds like LibTorch's fused kernels (OnePass).
template <class Rule>
concept LikeKernels = requires { requires Rule::kLikeKernels; };

/// The bytes of a vector in LibTorch's fused kernels, for parameters of each dtype.
struct KernelVectors {
  int64_t for_floats = 0, for_doubles = 0;
};

/// The whole rule, or its part before or after the roots.
enum class Phase { Whole, Before, After };

/// Runs one phase of a rule for elements of a span; `memory` holds their roots. `V`: float or double, or Fused of
/// these, which has the same memory layout.
template <Phase kPhase, class Rule, class V>
[[gnu::always_inline]] inline void run(const Rule& shared, double multiplier, const SpanOf<Rule>& span, int64_t begin,
                                       int64_t end, void* memory) {
  constexpr size_t kTensors = Rule::kState.size();
  const Rule rule = shared;  // a local copy, so that its numbers stay in registers
  const V scale = static_cast<V>(multiplier);
  V* __restrict roots = static_cast<V*>(memory);
  V* __restrict parameter = static_cast<V*>(span.parameter) + begin;
  const V* __restrict gradient = static_cast<const V*>(span.gradient) + begin;
  V* __restrict first = kTensors > 0 ? static_cast<V*>(span.state[0]) + begin : nullptr;
  V* __restrict second = kTensors > 1 ? static_cast<V*>(span.state[kTensors > 1 ? 1 : 0]) + begin : nullptr;
  V* __restrict third = kTensors > 2 ? static_cast<V*>(span.state[kTensors > 2 ? 2 : 0]) + begin : nullptr;
  // A phase that takes its state as const does not write it back.
  constexpr bool kReads = kPhase == Phase::After && requires(V& value, const V& gradient, const V* state) {
    rule.after(value, gradient, state, value);
  };
  const int64_t count = end - begin;
  for (int64_t i = 0; i < count; ++i) {
    V state[3] = {};
    if constexpr (kTensors > 0) state[0] = first[i];
    if constexpr (kTensors > 1) state[1] = second[i];
    if constexpr (kTensors > 2) state[2] = third[i];
    V value = parameter[i];
    const V scaled = gradient[i] * scale;
    if constexpr (kPhase == Phase::Whole) rule(value, scaled, state);
    if constexpr (kPhase == Phase::Before) roots[i] = rule.before(value, scaled, state);
    if constexpr (kPhase == Phase::After) rule.after(value, scaled, state, roots[i]);
    if constexpr (kPhase != Phase::Before) parameter[i] = value;
    if constexpr (kTensors > 0 && !kReads) first[i] = state[0];
    if constexpr (kTensors > 1 && !kReads) second[i] = state[1];
    if constexpr (kTensors > 2 && !kReads) third[i] = state[2];
  }
}

template <class Rule>
using Run = void (*)(const Rule& rule, double multiplier, const SpanOf<Rule>& span, int64_t begin, int64_t end,
                     void* roots);

template <Phase kPhase, class Rule, class T>
void run_anywhere(const Rule& rule, double multiplier, const SpanOf<Rule>& span, int64_t begin, int64_t end,
                  void* roots) {
  run<kPhase, Rule, T>(rule, multiplier, span, begin, end, roots);
}

#if defined(__x86_64__)
template <Phase kPhase, class Rule, class V>
[[gnu::target("avx2,fma"), gnu::flatten]] void run_fused(const Rule& rule, double multiplier, const SpanOf<Rule>& span,
                                                         int64_t begin, int64_t end, void* roots) {
  run<kPhase, Rule, V>(rule, multiplier, span, begin, end, roots);
}
#endif

/// `V`: Fused, for processors that have fused multiply-add.
template <Phase kPhase, class Rule, class V>
Run<Rule> choose_run() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &run_fused<kPhase, Rule, V>;
#endif
  return &run_anywhere<kPhase, Rule, typename V::Value>;
}

/// Runs a rule over parts of spans.
template <class Rule, class T>
class Runner {
 public:
  Runner(const std::vector<Rule>& rules, double multiplier) : rules_(rules), multiplier_(multiplier) {}

  void add(const SpanOf<Rule>& span, int64_t begin, int64_t end) {
    static const Run<Rule> whole = choose_run<Phase::Whole, Rule, Fused<T>>();
    if constexpr (LikeKernels<Rule>) {
      static const Run<Rule> tail = choose_run<Phase::Whole, Rule, Fused<T, /*kTail=*/true>>();
      if (end > span.tail) tail(rules_[span.rule], multiplier_, span, std::max(begin, span.tail), end, nullptr);
      end = std::min(end, span.tail);
    }
    if (begin < end) whole(rules_[span.rule], multiplier_, span, begin, end, nullptr);
  }
  void finish() {}

 private:
  const std::vector<Rule>& rules_;
  double multiplier_;
};

/// The same in blocks of elements whose roots are computed together.
template <Rooted Rule, class T>
class Runner<Rule, T> {
 public:
  Runner(const std::vector<Rule>& rules, double multiplier)
      : rules_(rules),
        multiplier_(multiplier),
        take_roots_(std::same_as<T, float> ? roots_like_torch() : nullptr),
        size_(take_roots_ != nullptr ? kNearBlock : kBlock),
        block_(at::empty({size_}, at::TensorOptions(c10::CppTypeToScalarType<T>::value))),
        roots_(block_.template mutable_data_ptr<T>()) {}

  void add(const SpanOf<Rule>& span, int64_t begin, int64_t end) {
    static const Run<Rule> before = choose_run<Phase::Before, Rule, Fused<T>>();
    while (begin < end) {
      const int64_t count = std::min(end - begin, size_ - used_);
      before(rules_[span.rule], multiplier_, span, begin, begin + count, roots_ + used_);
      parts_.push_back({&span, begin, begin + count});
      used_ += count;
      begin += count;
      if (used_ == size_) finish();
    }
  }
  void finish() {
    static const Run<Rule> after = choose_run<Phase::After, Rule, Fused<T>>();
    if (used_ == 0) return;
    take_roots();
    T* roots = roots_;
    for (const Part& part : parts_) {
      after(rules_[part.span->rule], multiplier_, *part.span, part.begin, part.end, roots);
      roots += part.end - part.begin;
    }
    parts_.clear();
    used_ = 0;
  }

 private:
  /// The data of a block fits into a core's L1 cache; where at::sqrt is called, whose calls cost more, into its L2.
  static constexpr int64_t kNearBlock = 1'024, kBlock = 8'192;
  struct Part {
    const SpanOf<Rule>* span;
    int64_t begin, end;
  };
  void take_roots() {
    if constexpr (std::same_as<T, float>)
      if (take_roots_ != nullptr) return take_roots_(roots_, used_);
    at::Tensor used = block_.narrow(0, 0, used_);
    at::cpu::sqrt_(used);
  }
  const std::vector<Rule>& rules_;
  double multiplier_;
  TakeRoots take_roots_;
  int64_t size_;  ///< of a block
  at::Tensor block_;
  T* roots_;
  int64_t used_ = 0;
  std::vector<Part> parts_ = {};
};

/// Runs the rules over all spans; large work is divided among the threads by elements.
template <class Rule, class T>
void run_all(const std::vector<Rule>& rules, double multiplier, const std::vector<SpanOf<Rule>>& spans) {
  constexpr int64_t kLeastForThreads = 1 << 16;
  int64_t total = 0;
  for (const auto& span : spans) total += span.size;
  const auto work = [&](int64_t begin, int64_t end) {
    Runner<Rule, T> runner(rules, multiplier);
    int64_t first = 0;  // index in `total` of the span's first element
    for (const auto& span : spans) {
      const int64_t from = std::max(begin - first, int64_t{0}), to = std::min(end - first, span.size);
      if (from < to) runner.add(span, from, to);
      first += span.size;
      if (first >= end) break;
    }
    runner.finish();
  };
  if (total < kLeastForThreads || at::get_num_threads() == 1) {
    work(0, total);
  } else {
    at::parallel_for(0, total, kLeastForThreads / 4, [&](int64_t begin, int64_t end) {
      const at::NoGradGuard no_grad;  // grad mode is thread-local
      work(begin, end);
    });
  }
}

/// Returns whether tensors of the same shape have the same memory layout; strides of dimensions with one element are
/// ignored.
inline bool same_strides(const at::Tensor& a, const at::Tensor& b) {
  if (a.strides() == b.strides()) return true;
  for (int64_t d = 0; d < a.dim(); ++d)
    if (a.size(d) != 1 && a.stride(d) != b.stride(d)) return false;
  return true;
}

/// Returns whether a loop over memory visits matching elements of both tensors.
inline bool has_same_layout(const at::Tensor& tensor, const at::Tensor& parameter) {
  return tensor.scalar_type() == parameter.scalar_type() && tensor.device() == parameter.device() &&
         tensor.sizes() == parameter.sizes() && same_strides(tensor, parameter);
}

template <class Rule, class Member>
bool fits_memory(const Member& member) {
  const at::Tensor& parameter = *member.parameter;
  const at::ScalarType dtype = parameter.scalar_type();
  if (!parameter.is_cpu() || (dtype != at::kFloat && dtype != at::kDouble)) return false;
  if (!parameter.is_non_overlapping_and_dense() || !has_same_layout(member.gradient, parameter)) return false;
  for (const size_t i : Rule::kState)
    if (!has_same_layout(member.state->tensors[i], parameter)) return false;
  return true;
}

/// The members that share a device, a dtype and a rule, as lists.
struct ListStep {
  TensorList parameters = {}, gradients = {};
  std::array<TensorList, 3> state = {};
  size_t rule = 0;
};

template <class Rule>
void run_list(const Rule& rule, double multiplier, ListStep& lists) {
  TensorList parameters = lists.parameters;
  std::array<TensorList, 3> state = lists.state;
  const TensorList gradients = multiplier == 1 ? lists.gradients : mul_scalar(lists.gradients, multiplier);
  if constexpr (Rooted<Rule>) {
    const TensorList root = sqrt(rule.before(parameters, gradients, state.data()));
    rule.after(parameters, gradients, state.data(), root);
  } else {
    rule(parameters, gradients, state.data());
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].is_same(lists.parameters[i])) lists.parameters[i].copy_(parameters[i]);
    for (size_t s = 0; s < Rule::kState.size(); ++s)
      if (!state[s][i].is_same(lists.state[s][i])) lists.state[s][i].copy_(state[s][i]);
  }
}

/// Returns which element of a member is the first that does not fill a vector of `bytes`, counted from the begin of its
/// whole parameter.
template <class T, class Member>
int64_t tail_of(const Member& member, int64_t bytes) {
  const int64_t numel = member.numel_of_whole != 0 ? member.numel_of_whole : member.parameter->numel();
  return numel - numel % (bytes / static_cast<int64_t>(sizeof(T))) - member.begin;
}

/// Steps all members by `Rule(options, *member.state)`. `multiplier`: factor for the gradients.
template <class Rule, class Options, class Members>
void step_elementwise(const Options& options, double multiplier, Members& members, KernelVectors vectors = {}) {
  std::vector<Rule> rules;
  std::vector<SpanOf<Rule>> floats, doubles;
  floats.reserve(members.size());
  std::vector<ListStep> lists;
  const ParamState* before = nullptr;
  for (auto& member : members) {
    const at::Tensor& parameter = *member.parameter;
    if (!before || before->step != member.state->step || before->numbers != member.state->numbers)
      rules.emplace_back(options, *member.state);
    before = member.state;
    const size_t rule = rules.size() - 1;
    if (fits_memory<Rule>(member)) {
      SpanOf<Rule> span{parameter.mutable_data_ptr(), member.gradient.const_data_ptr(), {}, parameter.numel(), rule, 0};
      for (size_t i = 0; i < Rule::kState.size(); ++i)
        span.state[i] = member.state->tensors[Rule::kState[i]].mutable_data_ptr();
      const bool is_float = parameter.scalar_type() == at::kFloat;
      if constexpr (LikeKernels<Rule>)
        span.tail =
            is_float ? tail_of<float>(member, vectors.for_floats) : tail_of<double>(member, vectors.for_doubles);
      (is_float ? floats : doubles).push_back(span);
      parameter.unsafeGetTensorImpl()->bump_version();  // so that autograd detects graphs that need the old values
      continue;
    }
    auto list = std::find_if(lists.begin(), lists.end(), [&](const ListStep& other) {
      const at::Tensor& theirs = other.parameters.front();
      return other.rule == rule && theirs.device() == parameter.device() &&
             theirs.scalar_type() == parameter.scalar_type();
    });
    if (list == lists.end()) {
      list = lists.insert(list, ListStep{});
      list->rule = rule;
    }
    list->parameters.push_back(parameter);
    list->gradients.push_back(member.gradient.to(parameter.scalar_type()));
    for (size_t i = 0; i < Rule::kState.size(); ++i) list->state[i].push_back(member.state->tensors[Rule::kState[i]]);
  }
  if (!floats.empty()) run_all<Rule, float>(rules, multiplier, floats);
  if (!doubles.empty()) run_all<Rule, double>(rules, multiplier, doubles);
  for (ListStep& list : lists) run_list(rules[list.rule], multiplier, list);
}

/// Calls `work` with the flags as template arguments, which keeps branches out of the loops.
template <bool... kKnown, class Work>
void with_flags(const Work& work) {
  work.template operator()<kKnown...>();
}
template <bool... kKnown, class Work, class... Flags>
void with_flags(const Work& work, bool flag, Flags... flags) {
  if (flag)
    with_flags<kKnown..., true>(work, flags...);
  else
    with_flags<kKnown..., false>(work, flags...);
}

}  // namespace levin::optim::detail
