#include <levin/core/state/format/python_dtypes.h>

#include <algorithm>
#include <iterator>

namespace levin {
namespace {

constexpr PythonDtype kDtypes[] = {
    {at::kFloat, "float32", "FloatStorage", "f4"},
    {at::kDouble, "float64", "DoubleStorage", "f8"},
    {at::kHalf, "float16", "HalfStorage", "f2"},
    {at::kBFloat16, "bfloat16", "BFloat16Storage", nullptr},
    {at::kLong, "int64", "LongStorage", "i8"},
    {at::kInt, "int32", "IntStorage", "i4"},
    {at::kShort, "int16", "ShortStorage", "i2"},
    {at::kChar, "int8", "CharStorage", "i1"},
    {at::kByte, "uint8", "ByteStorage", "u1"},
    {at::kBool, "bool", "BoolStorage", "b1"},
    {at::kComplexFloat, "complex64", "ComplexFloatStorage", "c8"},
    {at::kComplexDouble, "complex128", "ComplexDoubleStorage", "c16"},
    {at::kUInt16, "uint16", nullptr, "u2"},
    {at::kUInt32, "uint32", nullptr, "u4"},
    {at::kUInt64, "uint64", nullptr, "u8"},
    {at::kFloat8_e5m2, "float8_e5m2", nullptr, nullptr},
    {at::kFloat8_e4m3fn, "float8_e4m3fn", nullptr, nullptr},
    {at::kFloat8_e5m2fnuz, "float8_e5m2fnuz", nullptr, nullptr},
    {at::kFloat8_e4m3fnuz, "float8_e4m3fnuz", nullptr, nullptr},
};

template <class Matches>
const PythonDtype* find(Matches matches) {
  const auto* found = std::find_if(std::begin(kDtypes), std::end(kDtypes), matches);
  return found == std::end(kDtypes) ? nullptr : found;
}

}  // namespace

const PythonDtype* find_dtype(at::ScalarType type) {
  return find([=](const PythonDtype& dtype) { return dtype.type == type; });
}

const PythonDtype* find_dtype_by_name(std::string_view name) {
  return find([=](const PythonDtype& dtype) { return dtype.name == name; });
}

const PythonDtype* find_dtype_by_storage_class(std::string_view storage_class) {
  return find([=](const PythonDtype& dtype) { return dtype.storage_class && dtype.storage_class == storage_class; });
}

const PythonDtype* find_dtype_by_numpy_code(std::string_view numpy_code) {
  return find([=](const PythonDtype& dtype) { return dtype.numpy_code && dtype.numpy_code == numpy_code; });
}

}  // namespace levin
