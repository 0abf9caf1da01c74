# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What every file must be: under a licence notice, true in the paths that it names, and, in core/, not reaching up.
#   cmake -DSOURCE_DIR=... -P repository.cmake

cmake_minimum_required(VERSION 3.25)
set(folders app core docs packaging presets resources tests ui)
set(faults "")

file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/app/* ${SOURCE_DIR}/core/* ${SOURCE_DIR}/docs/*
     ${SOURCE_DIR}/packaging/* ${SOURCE_DIR}/presets/* ${SOURCE_DIR}/resources/* ${SOURCE_DIR}/tests/* ${SOURCE_DIR}/ui/*)
list(APPEND files README.md CONTRIBUTING.md CHANGELOG.md CMakeLists.txt .clang-format .clang-tidy .editorconfig .gitignore)
list(FILTER files EXCLUDE REGEX "__pycache__")

# The order of core/'s folders: each knows those before it.
set(order units hardware model plan allocator autograd network training estimate solve measure report)

foreach(file IN LISTS files)
  if(NOT file MATCHES "\\.(cpp|h|cmake|md|py|sh|txt|in)$|(^|/)\\.[a-z-]+$")
    continue() # JSON and pictures carry no notice
  endif()
  file(READ ${SOURCE_DIR}/${file} text)
  string(SUBSTRING "${text}" 0 400 head)
  if(NOT head MATCHES "SPDX-License-Identifier: GPL-3.0-or-later")
    list(APPEND faults "${file}: no licence notice at its head")
  endif()

  # Sources of other projects have paths too; ours begin with one of our folders.
  string(REGEX MATCHALL "(^|[ (\"`])(app|core|docs|packaging|presets|resources|tests|ui)/[A-Za-z0-9_/.-]+\\.(cpp|h|cmake|md|py|sh|json|jsonl)[ )\"`:;,.\n]"
         paths "${text}")
  foreach(path IN LISTS paths)
    string(REGEX REPLACE "^[^a-z]*(.*)[^a-z]$" "\\1" path "${path}")
    if(NOT EXISTS ${SOURCE_DIR}/${path})
      list(APPEND faults "${file}: names ${path}, which does not exist")
    endif()
  endforeach()

  if(file MATCHES "^core/([a-z]+)/")
    list(FIND order ${CMAKE_MATCH_1} own)
    string(REGEX MATCHALL "#include \"core/[a-z]+/" includes "${text}")
    foreach(include IN LISTS includes)
      string(REGEX REPLACE ".*core/([a-z]+)/" "\\1" folder "${include}")
      list(FIND order ${folder} other)
      if(other GREATER own OR other EQUAL -1)
        list(APPEND faults "${file}: includes core/${folder}, which stands after its own folder")
      endif()
    endforeach()
  endif()
endforeach()

list(LENGTH files count)
if(count LESS 300)
  list(APPEND faults "only ${count} files were found in ${SOURCE_DIR}")
endif()
if(faults)
  list(JOIN faults "\n  " faults)
  message(FATAL_ERROR "\n  ${faults}")
endif()
message(STATUS "${count} files checked")
