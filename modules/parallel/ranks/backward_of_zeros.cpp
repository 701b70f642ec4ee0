#include <levin/modules/parallel/ranks/backward_of_zeros.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>

namespace levin::parallel {

void backward_of_zeros(const std::vector<torch::autograd::Edge>& roots) {
  if (roots.empty()) return;
  torch::autograd::variable_list zeros;
  for (const torch::autograd::Edge& root : roots)
    zeros.push_back(root.function->input_metadata(root.input_nr).zeros_like());
  torch::autograd::Engine::get_default_engine().execute(roots, zeros, /*keep_graph=*/false, /*create_graph=*/false,
                                                        /*accumulate_grad=*/true);
}

}  // namespace levin::parallel
