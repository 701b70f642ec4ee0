#include <levin/core/ranks/rank_mesh.h>
#include <levin/core/system/error.h>

#include <string>
#include <vector>

namespace levin {

class RankMesh::MeshComm final : public Comm {
 public:
  explicit MeshComm(const RankMesh& mesh) : mesh_(mesh) {}

  int64_t rank() const override { return mesh_.data().rank(); }
  int64_t world_size() const override { return mesh_.data().world_size(); }
  int64_t processes() const override { return mesh_.all().world_size(); }
  bool stands_for_rank() const override { return mesh_.tensor()->rank() == 0; }
  void all_reduce(at::Tensor& tensor, ReduceOp op) override {
    const bool counts_each_once = op == ReduceOp::Sum || op == ReduceOp::Mean;
    (counts_each_once ? mesh_.data() : mesh_.all()).all_reduce(tensor, op);
  }
  void broadcast(at::Tensor& tensor, int64_t source) override {
    mesh_.all().broadcast(tensor, source * mesh_.tensor()->world_size());
  }
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor) override { return mesh_.data().all_gather(tensor); }
  void barrier() override { mesh_.all().barrier(); }

 private:
  const RankMesh& mesh_;
};

RankMesh::RankMesh(ProcessGroup& all, int64_t tensor) : all_(all) {
  const int64_t processes = all.world_size();
  if (processes % tensor != 0)
    throw UsageError("trainer.mesh: tensor groups of ", tensor, " do not divide ", processes,
                     " ranks; change trainer.devices or trainer.mesh.tensor");
  const int64_t place = all.rank() % tensor, first = all.rank() - place;
  std::vector<int64_t> around, alike;
  for (int64_t rank = first; rank < first + tensor; ++rank) around.push_back(rank);
  for (int64_t rank = place; rank < processes; rank += tensor) alike.push_back(rank);
  const std::string name = c10::str("mesh/", all.next_number(), "/");
  tensor_ = all.subgroup(c10::str(name, "tensor/", first), around);
  data_ = all.subgroup(c10::str(name, "data/", place), alike);
  comm_ = std::make_unique<MeshComm>(*this);
}

RankMesh::~RankMesh() = default;

Comm& RankMesh::comm() const { return *comm_; }

}  // namespace levin
