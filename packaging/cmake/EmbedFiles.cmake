# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# headroom_embed(<target> <name> <file>): makes the file's bytes part of the program, as
#     namespace headroom::embedded { extern const std::string_view <name>; }
# declared in the generated header "embedded/<name>.h". The file is read anew whenever it changes.
function(headroom_embed target name file)
  set(folder ${CMAKE_BINARY_DIR}/generated/embedded)
  add_custom_command(
    OUTPUT ${folder}/${name}.cpp ${folder}/${name}.h
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DINPUT=${file} -DFOLDER=${folder} -P ${PROJECT_SOURCE_DIR}/packaging/cmake/embed_file.cmake
    DEPENDS ${file} ${PROJECT_SOURCE_DIR}/packaging/cmake/embed_file.cmake
    COMMENT "Embedding ${name}" VERBATIM)
  target_sources(${target} PRIVATE ${folder}/${name}.cpp ${folder}/${name}.h)
  target_include_directories(${target} PUBLIC ${CMAKE_BINARY_DIR}/generated)
endfunction()
