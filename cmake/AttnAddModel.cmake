# attn_add_model(NAME
#                SPEC file
#                [WEIGHTS file]             compiled in; without, `open` needs a file
#                [VOCAB name=file...]       as attnc's --vocab
#                [DIM name=number...]       as attnc's --dim
#                [OPTIONS option...]        more options of attnc
#                [DEPENDS file...])         more files that the library is made of
#
# Compiles a spec when the project is built. NAME becomes a target to link with:
# the library lib<NAME>.so and its header <NAME>.h, which declares
# attn_model_<the model's name>, and the headers of the interface. Paths are
# relative to the current source folder.

include_guard()

function(attn_add_model name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "SPEC;WEIGHTS" "VOCAB;DIM;OPTIONS;DEPENDS")
  if(ARG_UNPARSED_ARGUMENTS OR ARG_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "attn_add_model(${name}): expected SPEC, WEIGHTS, VOCAB, DIM, OPTIONS "
      "and DEPENDS with values, but got: ${ARG_UNPARSED_ARGUMENTS} ${ARG_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT ARG_SPEC)
    message(FATAL_ERROR "attn_add_model(${name}): expected SPEC and a file, but got none")
  endif()

  macro(make_absolute variable)
    cmake_path(ABSOLUTE_PATH ${variable} BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND files ${${variable}})
  endmacro()
  set(files)
  make_absolute(ARG_SPEC)
  set(arguments ${ARG_SPEC})
  if(ARG_WEIGHTS)
    make_absolute(ARG_WEIGHTS)
    list(APPEND arguments --weights ${ARG_WEIGHTS})
  endif()
  foreach(vocabulary IN LISTS ARG_VOCAB)
    if(NOT vocabulary MATCHES "^([^=]+)=(.+)$")
      message(FATAL_ERROR "attn_add_model(${name}): expected VOCAB name=file, but got ${vocabulary}")
    endif()
    set(label ${CMAKE_MATCH_1})
    set(file ${CMAKE_MATCH_2})
    make_absolute(file)
    list(APPEND arguments --vocab ${label}=${file})
  endforeach()
  foreach(dimension IN LISTS ARG_DIM)
    list(APPEND arguments --dim ${dimension})
  endforeach()
  foreach(file IN LISTS ARG_DEPENDS)
    make_absolute(file)
  endforeach()

  # A model has a folder of its own, so that its header cannot hide another.
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/attn/${name})
  file(MAKE_DIRECTORY ${folder})
  set(library ${folder}/lib${name}.so)
  add_custom_command(OUTPUT ${library} ${folder}/${name}.h
    COMMAND attn::attnc ${arguments} ${ARG_OPTIONS} -o ${library}
    DEPENDS ${files} attn::attnc
    COMMENT "Compiling model ${name}"
    VERBATIM)
  add_custom_target(${name}_attn_model DEPENDS ${library})

  add_library(${name} SHARED IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES
    IMPORTED_LOCATION ${library}
    IMPORTED_NO_SONAME ON
    INTERFACE_INCLUDE_DIRECTORIES ${folder}
    INTERFACE_LINK_LIBRARIES attn::attn)
  add_dependencies(${name} ${name}_attn_model)
endfunction()
