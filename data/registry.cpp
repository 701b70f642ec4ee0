#include <levin/data/registry.h>
#include <levin/data/datasets/cifar.h>
#include <levin/data/datasets/csv.h>
#include <levin/data/datasets/csv_images.h>
#include <levin/data/datasets/detection.h>
#include <levin/data/datasets/hdf5.h>
#include <levin/data/datasets/image_folder.h>
#include <levin/data/datasets/json_lines.h>
#include <levin/data/datasets/labeled_texts.h>
#include <levin/data/datasets/mixture.h>
#include <levin/data/datasets/mnist.h>
#include <levin/data/datasets/npy.h>
#include <levin/data/datasets/parquet.h>
#include <levin/data/datasets/python_dataset.h>
#include <levin/data/datasets/segmentation.h>
#include <levin/data/datasets/synthetic_digits.h>
#include <levin/data/datasets/tagged_words.h>
#include <levin/data/datasets/tar.h>
#include <levin/data/datasets/text.h>
#include <levin/data/datasets/text_jsonl.h>
#include <levin/data/datasets/text_pairs.h>
#include <levin/data/datasets/text_preferences.h>
#include <levin/data/datasets/token_file.h>

namespace levin::data {
namespace {

/// Registers levin's own data modules.
void register_builtins(Registry<DataModuleKind::Entry>& registry) {
  add_data_module<MNIST>(registry, "MNIST", "Handwritten digits, from idx files");
  add_data_module<FashionMNIST>(registry, "FashionMNIST", "Articles of clothing, from idx files");
  add_data_module<CIFAR10>(registry, "CIFAR10", "Colour images of 10 classes, from binary files");
  add_data_module<CIFAR100>(registry, "CIFAR100", "Colour images of 100 classes, from binary files");
  add_data_module<ImageFolder>(registry, "ImageFolder", "Images in one folder for each class");
  add_data_module<CsvImages>(registry, "CsvImages", "Images that a CSV file lists with classes, labels or numbers");
  add_data_module<Segmentation>(registry, "Segmentation", "Images, and masks with the class of each pixel");
  add_data_module<Detection>(registry, "Detection", "Images with the boxes of objects, from COCO's JSON files");
  add_data_module<SyntheticDigits>(registry, "SyntheticDigits", "Digits drawn and distorted by code; needs no files");
  add_data_module<Csv>(registry, "Csv", "Tables in CSV files: numbers, categories, a target");
  add_data_module<Parquet>(registry, "Parquet", "Columns of Parquet files: numbers, texts, lists");
  add_data_module<Hdf5>(registry, "Hdf5", "Arrays in HDF5 files");
  add_data_module<JsonLines>(registry, "JsonLines", "Fields of JSON lines: numbers, texts, lists");
  add_data_module<Npy>(registry, "Npy", "Arrays in NumPy's files, .npy (mapped into memory) or .npz");
  add_data_module<PythonDataset>(registry, "PythonDataset",
                                 "Data sets, DataLoaders and LightningDataModules of a Python file, which is run");
  add_data_module<Tar>(registry, "Tar", "Samples in tar files, read in sequence: for data larger than memory");
  add_data_module<Mixture>(registry, "Mixture", "Several of these data, mixed by weights");
  add_data_module<Text>(registry, "Text", "Windows of a text file, in characters or bytes");
  add_data_module<TextPreferences>(registry, "TextPreferences",
                                   "Prompts with a better and a worse completion in JSON lines");
  add_data_module<TextJsonl>(registry, "TextJsonl", "Texts, prompts with completions, and chats in JSON lines");
  add_data_module<LabeledTexts>(registry, "LabeledTexts", "Texts, or pairs of texts, with labels, for classifiers");
  add_data_module<TaggedWords>(registry, "TaggedWords", "Lists of words with tags, for classifiers of tokens");
  add_data_module<TextPairs>(registry, "TextPairs", "Pairs of texts, with scores or without, for SentenceEncoder");
  add_data_module<TokenFile>(registry, "TokenFile", "Windows of files of tokens, as levin tokenize writes them");
}

}  // namespace

Registry<DataModuleKind::Entry>& DataModuleKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("data module", "data");
    register_builtins(made);
    return made;
  }();
  return registry;
}

}  // namespace levin::data
