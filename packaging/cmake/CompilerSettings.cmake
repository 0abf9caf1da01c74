# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# headroom_settings: warnings, sanitizers and include folder of our own targets, as one INTERFACE target. Nothing here
# is forced on a packager: the compiler's own flags stay as they are given.
add_library(headroom_settings INTERFACE)
target_include_directories(headroom_settings INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(headroom_settings INTERFACE HEADROOM_VERSION="${PROJECT_VERSION}")
target_compile_options(headroom_settings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
# g++ 12 warns of overlapping copies in the standard library's own "text" + string (GCC bug 105651, mended in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(headroom_settings INTERFACE -Wno-restrict)
endif()
if(HEADROOM_WERROR)
  target_compile_options(headroom_settings INTERFACE -Werror)
endif()
if(HEADROOM_SANITIZE)
  # The instrumented code makes g++ see uninitialised members in every variant (GCC's manual, under -fsanitize).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(headroom_settings INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_compile_options(headroom_settings INTERFACE -fsanitize=${HEADROOM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(headroom_settings INTERFACE -fsanitize=${HEADROOM_SANITIZE})
endif()

find_program(HEADROOM_CCACHE ccache)
if(HEADROOM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HEADROOM_CCACHE})
endif()
