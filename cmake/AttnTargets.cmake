# How the project's libraries and tools are built: everything that uses MLIR
# links the two shared libraries and nothing static (mixing both registers
# options and types twice), sees no exceptions and no RTTI, as LLVM is built.

include_guard()

add_library(attn_options INTERFACE)
target_include_directories(attn_options INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_compile_options(attn_options INTERFACE -Wall -Wextra -Wno-unused-parameter)
if(ATTN_SANITIZE)
  # Generated code says nothing of its functions' types, and asking for it reads
  # before their first byte.
  target_compile_options(attn_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize=function
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(attn_options INTERFACE -fsanitize=address,undefined)
endif()

add_library(attn_mlir INTERFACE)
target_link_libraries(attn_mlir INTERFACE attn_options MLIR LLVM)
target_include_directories(attn_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_options(attn_mlir INTERFACE -fno-rtti -fno-exceptions -g0)
separate_arguments(ATTN_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(attn_mlir INTERFACE ${ATTN_LLVM_DEFINITIONS})

# MLIR's headers take most of the time of compiling a file, so they are compiled
# once.
add_library(attn_mlir_headers OBJECT ${CMAKE_SOURCE_DIR}/cmake/MlirHeaders.cpp)
target_link_libraries(attn_mlir_headers PRIVATE attn_mlir)
target_precompile_headers(attn_mlir_headers PRIVATE ${CMAKE_SOURCE_DIR}/cmake/MlirHeaders.h)

# attn_add_library(NAME SOURCES... [LINK libraries...] [DEPENDS targets...])
function(attn_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC attn_mlir ${ARG_LINK})
  target_precompile_headers(${name} REUSE_FROM attn_mlir_headers)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# Lets an executable use the headers that libraries have precompiled: its code has
# to be position-independent in the same way.
function(attn_use_mlir_headers name)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  target_precompile_headers(${name} REUSE_FROM attn_mlir_headers)
endfunction()

# Gives a tool or test of the sanitizer build its options.
function(attn_add_sanitizer_options name)
  if(ATTN_SANITIZE)
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/SanitizerOptions.cpp)
  endif()
endfunction()

# attn_add_tool(NAME SOURCES... [LINK libraries...])
function(attn_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  attn_add_sanitizer_options(${name})
  target_link_libraries(${name} PRIVATE attn_mlir ${ARG_LINK})
  attn_use_mlir_headers(${name})
endfunction()
