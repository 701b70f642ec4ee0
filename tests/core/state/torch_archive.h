#pragma once
#include <caffe2/serialize/inline_container.h>

#include <filesystem>
#include <map>
#include <string>

/// The parts of a file of torch.save.
struct TorchArchive {
  std::string pickle = {};
  std::map<std::string, std::string> records = {};  ///< by name, as "data/0"

  static TorchArchive read(const std::filesystem::path& path) {
    caffe2::serialize::PyTorchStreamReader reader(path.string());
    TorchArchive archive;
    for (const std::string& name : reader.getAllRecords()) {
      const auto [data, bytes] = reader.getRecord(name);
      const std::string content(static_cast<const char*>(data.get()), bytes);
      if (name == "data.pkl")
        archive.pickle = content;
      else if (name.starts_with("data/"))
        archive.records[name] = content;
    }
    return archive;
  }

  void write(const std::filesystem::path& path) const {
    caffe2::serialize::PyTorchStreamWriter writer(path.string());
    writer.writeRecord("data.pkl", pickle.data(), pickle.size());
    for (const auto& [name, content] : records) writer.writeRecord(name, content.data(), content.size());
    writer.writeEndOfFile();
  }
};
