# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# core and headroom-cli have no Qt: nothing that the command line loads is of Qt, and the core's library asks for none of
# Qt's symbols. CONTROL is a program that links Qt: the same two checks must find it there, or they prove nothing.
cmake_minimum_required(VERSION 3.25)

function(loaded_libraries file out)
  execute_process(COMMAND ldd ${file} OUTPUT_VARIABLE text RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "ldd failed on ${file}")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(wanted_symbols file out)
  execute_process(COMMAND ${NM} --demangle --undefined-only ${file} OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "nm failed on ${file}")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

set(qt_library "libQt[0-9]")
set(qt_symbol "[ :(]Q[A-Z][A-Za-z]+(::|[(])")

loaded_libraries(${CONTROL} text)
if(NOT text MATCHES "${qt_library}")
  message(FATAL_ERROR "the check of libraries does not see Qt in ${CONTROL}")
endif()
wanted_symbols(${CONTROL} text)
if(NOT text MATCHES "${qt_symbol}")
  message(FATAL_ERROR "the check of symbols does not see Qt in ${CONTROL}")
endif()

loaded_libraries(${CLI} text)
if(text MATCHES "[^\n]*${qt_library}[^\n]*")
  message(FATAL_ERROR "headroom-cli loads Qt: ${CMAKE_MATCH_0}")
endif()
foreach(file ${CORE} ${CLI})
  wanted_symbols(${file} text)
  if(text STREQUAL "")
    message(FATAL_ERROR "nm prints nothing for ${file}")
  endif()
  if(text MATCHES "[^\n]*${qt_symbol}[^\n]*")
    message(FATAL_ERROR "${file} wants a symbol of Qt: ${CMAKE_MATCH_0}")
  endif()
endforeach()
message(STATUS "no Qt in headroom_core and headroom-cli")
