#include <levin/trainer/compiled/step_package.h>
#include <levin/core/state/crc32.h>
#include <levin/core/state/format/zip_reader.h>
#include <levin/core/system/error.h>

#include <fstream>
#include <utility>

namespace levin::compiled {
namespace {

constexpr std::string_view kDescription = "extra/levin_step.json";
constexpr std::string_view kCode = "data/aotinductor/model/";

}  // namespace

StepPackage::StepPackage(FileBytes file) : file_(std::move(file)) {
  constexpr uint16_t kStored = 0;
  const ZipReader zip(file_.text(), file_.name);
  zip.check_growth();  // torch compresses nothing
  for (const ZipRecord& record : zip.records()) {
    const std::string name(record.name.substr(record.name.find('/') + 1));
    const auto [place, is_new] = files_.try_emplace(name);
    if (!is_new) zip.fail(record.header, "there are two files ", name);
    std::string_view& contents = place->second;
    if (record.method == kStored) {
      contents = zip.stored(record);
    } else {
      std::string& memory = inflated_[name];
      memory.resize(record.bytes);
      zip.inflate(record, memory.data());
      contents = memory;
    }
    zip.check(record, crc32_of(contents));
  }
}

std::string_view StepPackage::description() const {
  const auto found = files_.find(std::string(kDescription));
  return found == files_.end() ? std::string_view() : found->second;
}

void StepPackage::unpack_code(const std::filesystem::path& folder) const {
  const std::filesystem::path inside = folder / kCode;
  std::filesystem::create_directories(inside);
  for (const auto& [name, contents] : files_) {
    if (!name.starts_with(kCode) || name.ends_with(".cpp")) continue;
    std::ofstream file(inside / std::filesystem::path(name).filename(), std::ios::binary);
    if (!file.write(contents.data(), static_cast<std::streamsize>(contents.size())).flush())
      throw Error(folder.string(),
                  ": the code of a compiled step cannot be written there; set TMPDIR to a folder with room");
  }
}

}  // namespace levin::compiled
