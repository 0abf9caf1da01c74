# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Installs into a folder and looks at what came: the programs run from there, a desktop finds them.
#   cmake -DBUILD_DIR=... -DVERSION=... -DGUI=ON|OFF -P install.cmake

cmake_minimum_required(VERSION 3.25)
set(stage ${BUILD_DIR}/tests/installed)
file(REMOVE_RECURSE ${stage})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${stage} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

set(programs headroom-cli headroom-probe)
set(wanted share/headroom/examples/qwen3-8b-lora-24gb.headroom.json share/headroom/headroom_probe.pyz)
if(GUI)
  list(APPEND programs headroom)
  list(APPEND wanted share/applications/org.headroom.Headroom.desktop share/metainfo/org.headroom.Headroom.metainfo.xml
       share/mime/packages/org.headroom.Headroom.mime.xml share/icons/hicolor/scalable/apps/org.headroom.Headroom.svg)
endif()
foreach(file IN LISTS wanted)
  if(NOT EXISTS ${stage}/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()
foreach(program IN LISTS programs)
  execute_process(COMMAND ${stage}/bin/${program} --version OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  if(NOT output MATCHES "${VERSION}")
    message(FATAL_ERROR "${program} --version says ${output} instead of ${VERSION}")
  endif()
endforeach()
if(GUI)
  # The desktop entry starts what was installed, under the name that the window gives itself.
  file(READ ${stage}/share/applications/org.headroom.Headroom.desktop entry)
  if(NOT entry MATCHES "\nExec=headroom %f\n" OR NOT entry MATCHES "\nIcon=org.headroom.Headroom\n")
    message(FATAL_ERROR "the desktop entry does not start headroom, or has another icon than the installed one")
  endif()
  file(READ ${SOURCE_DIR}/app/headroom/main.cpp main)
  if(NOT main MATCHES "setDesktopFileName\\(QStringLiteral\\(\"org.headroom.Headroom\"\\)\\)")
    message(FATAL_ERROR "the window's desktop file is not the installed one")
  endif()
  find_program(validate desktop-file-validate)
  if(validate)
    execute_process(COMMAND ${validate} ${stage}/share/applications/org.headroom.Headroom.desktop COMMAND_ERROR_IS_FATAL ANY)
  endif()
endif()
