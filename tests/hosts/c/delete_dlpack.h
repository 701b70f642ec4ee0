#pragma once
#include <levin/c_api.h>

/// Calls the deleter of a tensor of DLPack, as another library does.
inline void delete_dlpack(DLManagedTensor* tensor) {
  struct Managed {  // the struct of dlpack.h, whose first part has 48 bytes
    char tensor[48];
    void* context;
    void (*deleter)(DLManagedTensor*);
  };
  reinterpret_cast<Managed*>(tensor)->deleter(tensor);
}
