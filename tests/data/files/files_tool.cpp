// For files_python_test.py: reads files that Python wrote and writes them again.
//
//   files_tool npy FOLDER OUT   OUT/NAME for each FOLDER/NAME; what is refused is printed with its name
//   files_tool npz FILE OUT     OUT/NAME.npy for each array
//   files_tool tar FILE OUT     OUT/0, OUT/1, ... for the members, whose names it prints line by line
#include <levin/core/system/error.h>
#include <levin/data/files/archive_reader.h>
#include <levin/data/files/npy_file.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace fs = std::filesystem;
using namespace levin::data;

void rewrite_files(const fs::path& folder, const fs::path& out) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    try {
      write_npy(out / entry.path().filename(), map_npy(entry.path()));
    } catch (const levin::UsageError& error) {
      std::printf("%s\n", error.what());
    }
  }
}

void rewrite_arrays(const fs::path& file, const fs::path& out) {
  for (const auto& [name, array] : read_npz(file)) write_npy(out / (name + ".npy"), array);
}

void rewrite_members(const fs::path& file, const fs::path& out) {
  ArchiveReader reader(map_file(file), ArchiveReader::Format::Tar);
  for (int64_t number = 0; reader.next(); ++number) {
    const at::Tensor bytes = reader.read();
    std::ofstream(out / std::to_string(number), std::ios::binary)
        .write(static_cast<const char*>(bytes.const_data_ptr()), bytes.numel());
    std::printf("%s\n", reader.name().c_str());
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) return 2;
  const std::string what = argv[1];
  (what == "npy" ? rewrite_files : what == "npz" ? rewrite_arrays : rewrite_members)(argv[2], argv[3]);
  return 0;
} catch (const levin::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
