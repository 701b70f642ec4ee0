#include <levin/modules/parallel/replicas/replica_gradients.h>
#include <ATen/SequenceNumber.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/ranks/torch_compat/autograd_node.h>
#include <levin/modules/parallel/replicas/move_flat.h>
#include <torch/csrc/autograd/variable.h>

namespace levin::parallel {
namespace {

using torch::autograd::variable_list;

thread_local uint64_t forwards_of_this_thread = 0;

/// A graph node that receives the gradients of the replicas' parameters and returns their sums.
class SumOverReplicas final : public torch::autograd::Node {
 public:
  /// `like` is on the originals' device. The engine runs the ready node with the highest sequence number, and sequence
  /// numbers grow with each node that a thread makes. This node counts forwards instead, so that it runs after all
  /// other nodes: an original's own gradients are always summed before the replicas'.
  SumOverReplicas(torch::autograd::edge_list&& originals, const at::Tensor& like)
      : Node(/*sequence_nr=*/forwards_of_this_thread++, std::move(originals)), device_(like.device()) {
    add_input_metadata(like);  // never passed: the first input determines the device on which the node runs
  }

  void begin_replica() { replicas_.emplace_back(); }
  /// Adds an input for a parameter of the last replica; `output` is the output of its original.
  torch::autograd::Edge add(const at::Tensor& parameter, size_t output, const torch_compat::NodePointer& self) {
    replicas_.back().push_back(output);
    return {self, add_input_metadata(parameter)};
  }

 private:
  variable_list apply(variable_list&& gradients) override {
    variable_list sums(num_outputs());
    std::vector<bool> is_ours(sums.size());
    size_t input = 1;
    for (const std::vector<size_t>& outputs : replicas_) {
      std::vector<at::Tensor> present;
      std::vector<size_t> present_outputs;
      for (const size_t output : outputs) {
        at::Tensor& gradient = gradients[input++];
        if (!gradient.defined()) continue;
        present.push_back(std::move(gradient));
        present_outputs.push_back(output);
      }
      std::vector<at::Tensor> moved = move_flat(present, device_);
      present.clear();
      for (size_t i = 0; i < moved.size(); ++i) {
        const size_t output = present_outputs[i];
        add_to(sums[output], is_ours, output, std::move(moved[i]));
      }
    }
    return sums;
  }

  static void add_to(at::Tensor& sum, std::vector<bool>& is_ours, size_t output, at::Tensor gradient) {
    if (!sum.defined()) {
      sum = std::move(gradient);
    } else if (is_ours[output] && !at::GradMode::is_enabled()) {
      sum.add_(gradient);
    } else {
      sum = sum + gradient;
      is_ours[output] = true;
    }
  }

  c10::Device device_;
  std::vector<std::vector<size_t>> replicas_ = {};
};

}  // namespace

void attach_gradients(const std::vector<at::Tensor>& originals, std::span<const ReplicaTensors> replicas) {
  torch::autograd::edge_list edges;
  std::vector<size_t> output_of(originals.size());
  const at::Tensor* like = nullptr;
  for (size_t i = 0; i < originals.size(); ++i) {
    if (!originals[i].requires_grad()) continue;
    like = &originals[i];
    output_of[i] = edges.size();
    edges.push_back(torch::autograd::impl::gradient_edge(originals[i]));
  }

  torch_compat::NodePointer node;
  SumOverReplicas* sum = nullptr;
  if (like) {
    at::sequence_number::get_and_increment();  // the first node of the forward must not share the sum's number
    node = torch_compat::make_node<SumOverReplicas>(std::move(edges), *like);
    sum = static_cast<SumOverReplicas*>(node.get());
  }
  for (const ReplicaTensors& replica : replicas) {
    if (sum) sum->begin_replica();
    for (const auto& [parameter, original] : replica) {
      if (originals[original].requires_grad()) {
        torch::autograd::impl::set_gradient_edge(parameter, sum->add(parameter, output_of[original], node));
      } else if (torch::autograd::impl::grad_fn_unsafe(parameter)) {
        torch::autograd::impl::set_gradient_edge(parameter, {});
      }
    }
  }
}

}  // namespace levin::parallel
