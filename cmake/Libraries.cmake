# Everything that the library stands on; ch_libraries carries include paths, link names and build switches. A program
# that links the static library must find the same, so it stands in lists: packages, what pkg-config finds, and options
# for those who link by pkg-config.
set(CH_PACKAGES PkgConfig Threads)
set(CH_MODULES jansson cairo)
set(CH_PRIVATE_LIBRARIES "-lm -pthread")
set(ch_targets PkgConfig::CLEARHEAD_MODULES Threads::Threads m)

if(NOT CH_VECTOR MATCHES "^(v4|v3|OFF)$")
  message(FATAL_ERROR "CH_VECTOR=${CH_VECTOR}: expected v4, v3 or OFF")
endif()
if(CH_GEMM STREQUAL onednn)
  if(CH_DOUBLE)
    message(FATAL_ERROR "oneDNN multiplies floats only: CH_DOUBLE needs CH_GEMM=cblas or CH_GEMM=reference")
  endif()
  list(APPEND CH_PACKAGES OneDNN OpenMP) # OpenMP: only to keep oneDNN from starting threads of its own
  list(APPEND ch_targets OneDNN::OneDNN OpenMP::OpenMP_C)
  string(APPEND CH_PRIVATE_LIBRARIES " -ldnnl")
elseif(CH_GEMM STREQUAL cblas)
  list(APPEND CH_MODULES openblas)
elseif(NOT CH_GEMM STREQUAL reference)
  message(FATAL_ERROR "CH_GEMM=${CH_GEMM}: expected onednn, cblas or reference")
endif()

foreach(package ${CH_PACKAGES})
  find_package(${package} REQUIRED)
endforeach()
pkg_check_modules(CLEARHEAD_MODULES REQUIRED IMPORTED_TARGET ${CH_MODULES})
if(CH_GEMM STREQUAL onednn)
  string(APPEND CH_PRIVATE_LIBRARIES " ${OpenMP_C_FLAGS}")
endif()

add_library(ch_libraries INTERFACE)
target_link_libraries(ch_libraries INTERFACE ${ch_targets})
target_compile_definitions(ch_libraries INTERFACE _GNU_SOURCE
  $<$<BOOL:${CH_DOUBLE}>:CH_DOUBLE=1> $<$<STREQUAL:${CH_VECTOR},v4>:CH_VECTOR=4> $<$<STREQUAL:${CH_VECTOR},v3>:CH_VECTOR=3>)
