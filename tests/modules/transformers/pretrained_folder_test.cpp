#include <levin/modules/transformers/causal_lm.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/modules/transformers/small_folder.h"

using levin::UsageError;
using levin::nn::CausalLM;

namespace {

std::string refused_folder(const std::string& folder, const std::string& dtype = "float32") {
  return error_text<UsageError>([&] { CausalLM({.folder = folder, .dtype = dtype}); });
}

void erase(levin::State& state, const std::string& name) {
  std::erase_if(state.to_dict(), [&](const levin::State::Item& item) { return levin::to_text(item.first) == name; });
}

std::string first_file(const std::filesystem::path& folder) {
  return (folder / "model-00001-of-00003.safetensors").string();
}

}  // namespace

TEST_CASE("a folder that lacks what a model needs is refused") {
  CHECK(refused_folder("") == "model.folder: is not set; name one with config.json and *.safetensors");
  CHECK(contains(refused_folder("no/such"), "model.folder: no folder no/such"));
  const SmallFolder model("llama");
  std::filesystem::remove(model.folder / "model.safetensors");
  CHECK(contains(refused_folder(model.path()), "has neither model.safetensors nor model.safetensors.index.json"));
  write_text(model.folder / "pytorch_model.bin", "x");
  CHECK(contains(refused_folder(model.path()), "safe_serialization=True"));
  write_text(model.folder / "model.safetensors", "no tensors");
  CHECK(contains(refused_folder(model.path()), "no safetensors file"));
  write_text(model.folder / "config.json", "{\n \"a\": 1,\n oops}");
  CHECK(contains(refused_folder(model.path()), "config.json: is no JSON text, line 3"));
  write_text(model.folder / "config.json", std::string(100'000, '['));
  CHECK(contains(refused_folder(model.path()), "at most 64 levels"));
  write_text(model.folder / "config.json", R"({"a": 1e999})");
  CHECK(contains(refused_folder(model.path()), "a number that is too large"));
  std::filesystem::remove(model.folder / "config.json");
  CHECK(contains(refused_folder(model.path()), "config.json: there is no such file"));
}

TEST_CASE("tensors that are missing, too many or of another shape are named") {
  SmallFolder model("llama");
  erase(model.weights, "model.layers.1.mlp.up_proj.weight");
  model.weights["model.layers.0.mlp.down_proj.weight"] = at::zeros({16, 11});
  model.weights["model.layers.2.mlp.down_proj.weight"] = at::zeros({16, 10});
  model.weights["model.norm.weight"] = at::zeros({16}, at::kInt);
  model.write();
  const std::string text = refused_folder(model.path());
  CHECK(contains(text, "the weights do not fit a llama of the sizes in config.json:"));
  CHECK(contains(text, "\n  missing: model.layers.1.mlp.up_proj.weight"));
  CHECK(contains(text, "\n  unexpected: model.layers.2.mlp.down_proj.weight"));
  CHECK(contains(text, "model.layers.0.mlp.down_proj.weight (is [16, 11] of Float, needs [16, 10])"));
  CHECK(contains(text, "model.norm.weight (is [16] of Int, needs [16])"));
}

TEST_CASE("sizes in config.json that the files contradict are refused before memory is taken") {
  SmallFolder model("llama");
  model.config["vocab_size"] = 12;
  model.write();
  CHECK(
      contains(refused_folder(model.path()),
               "config.json gives a vocabulary of 12 tokens of 16 numbers, and model.embed_tokens.weight is [13, 16]"));
  model.config["vocab_size"] = 13;
  model.config["intermediate_size"] = 1'000'000'000;
  model.write();
  CHECK(contains(refused_folder(model.path()), "the sizes in config.json give"));
}

TEST_CASE("a tied head that differs from the embedding is refused, and one that is equal is not") {
  SmallFolder model("llama", {{"tie_word_embeddings", true}});
  model.weights["lm_head.weight"] = model.weights.at("model.embed_tokens.weight").to_tensor().clone();
  model.write();
  CHECK(refused_folder(model.path()) == "no error");
  model.weights["lm_head.weight"] = at::zeros({13, 16});
  model.write();
  CHECK(contains(refused_folder(model.path()), "lm_head.weight differs from model.embed_tokens.weight"));
}

TEST_CASE("buffers of old versions and names without the decoder's are read") {
  SmallFolder model("gpt2");
  const CausalLM first({.folder = model.path()});
  levin::State bare = levin::State::dict();
  for (const auto& [name, value] : model.weights.to_dict())
    bare[levin::to_text(name).substr(std::string("transformer.").size())] = value;
  bare["h.0.attn.bias"] = at::ones({1, 1, 16, 16}, at::kBool);
  bare["h.1.attn.masked_bias"] = at::zeros({});
  model.weights = bare;
  model.write();
  const CausalLM second({.folder = model.path()});
  const auto parameters = first.named_parameters();
  for (const auto& item : second.named_parameters()) CHECK(item.value().equal(parameters[item.key()]));
}

TEST_CASE("an index that lies is refused") {
  const SmallFolder model("llama");
  const TemporaryFolder folder;
  const std::filesystem::path index = folder / "model.safetensors.index.json";
  CausalLM({.folder = model.path()}).save_pretrained(folder.path(), 5000);
  REQUIRE(std::filesystem::exists(first_file(folder.path())));
  CHECK(refused_folder(folder.path().string()) == "no error");
  Json json = Json::parse(read_bytes(index));
  const std::string own = json["weight_map"]["model.norm.weight"];
  const auto with_place = [&](const Json& place) {
    json["weight_map"]["model.norm.weight"] = place;
    write_text(index, json.dump());
    return refused_folder(folder.path().string());
  };
  CHECK(contains(with_place("model-00001-of-00003.safetensors"),
                 "says that model.norm.weight is in model-00001-of-00003.safetensors, which does not have it"));
  for (const char* const place : {"../model.safetensors", "/etc/passwd", "..", ".hidden.safetensors", "weights.bin"})
    CHECK(contains(with_place(place), "weight_map: model.norm.weight: the name of a .safetensors file in the same"));
  CHECK(contains(with_place(7), "the name of a .safetensors file"));
  CHECK(contains(with_place("model-00009.safetensors"), "names 1 files that are not there: model-00009.safetensors"));
  with_place(own);
  std::filesystem::resize_file(first_file(folder.path()), 500);
  CHECK(contains(refused_folder(folder.path().string()), "model-00001-of-00003.safetensors: damaged"));
  std::filesystem::remove(first_file(folder.path()));
  CHECK(contains(refused_folder(folder.path().string()),
                 "names 1 files that are not there: model-00001-of-00003.safetensors"));
  write_text(index, "{}");
  CHECK(contains(refused_folder(folder.path().string()), "weight_map: an object of tensors and files was expected"));
}

TEST_CASE("weights of 16 bit become float32, or keep the dtype of the files") {
  SmallFolder model("qwen3", {{"num_key_value_heads", 4}, {"head_dim", 4}, {"tie_word_embeddings", true}});
  for (auto& [name, value] : model.weights.to_dict()) value = value.to_tensor().to(at::kBFloat16);
  model.config["torch_dtype"] = "bfloat16";
  model.write();
  const TemporaryFolder folder;
  CausalLM wide({.folder = model.path()}), narrow({.folder = model.path(), .dtype = "file"});
  CHECK(wide.parameters()[0].scalar_type() == at::kFloat);
  CHECK(narrow.parameters()[0].scalar_type() == at::kBFloat16);
  wide.save_pretrained(folder / "wide");
  narrow.save_pretrained(folder / "narrow");
  CHECK(Json::parse(read_bytes(folder / "wide" / "config.json"))["torch_dtype"] == "float32");
  CHECK(Json::parse(read_bytes(folder / "narrow" / "config.json"))["torch_dtype"] == "bfloat16");
  const levin::State written = levin::load_safetensors(folder / "narrow" / "model.safetensors");
  CHECK(written.size() == model.weights.size());
  for (const auto& [name, value] : model.weights.to_dict())
    CHECK(written.at(name).to_tensor().equal(value.to_tensor()));
  model.weights["model.norm.weight"] = at::ones({16});
  model.write();
  CHECK(contains(refused_folder(model.path(), "file"), "has weights of several dtypes"));
  CHECK(refused_folder(model.path()) == "no error");
}

TEST_CASE("a folder that is saved over another leaves nothing of it, and takes the tokenizer along") {
  const SmallFolder model("llama", {{"transformers_version", "5.24.0"}});
  write_text(model.folder / "tokenizer.json", "{}");
  write_text(model.folder / "secrets.txt", "no");
  const TemporaryFolder folder;
  CausalLM module({.folder = model.path()});
  module.save_pretrained(folder.path(), 5000);
  CHECK(std::filesystem::exists(folder / "model.safetensors.index.json"));
  module.save_pretrained(folder.path());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{"config.json", "model.safetensors", "tokenizer.json"});
  Json config = Json::parse(read_bytes(folder / "config.json"));
  CHECK(config["dtype"] == "float32");
  config.erase("dtype");
  CHECK(config == model.config);
  // Into the folder that it came from.
  module.save_pretrained(model.path());
  CHECK(refused_folder(model.path()) == "no error");
  write_text(folder / "file", "");
  CHECK(contains(error_text<UsageError>([&] { module.save_pretrained(folder / "file"); }), "cannot be saved there"));
}
