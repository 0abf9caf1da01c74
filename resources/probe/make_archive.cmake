# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Packs the probe: cmake -DSOURCE_DIR=... -DFILES=... -DGPUS=... -DSTAGE=... -DARCHIVE=... -P make_archive.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${STAGE})
foreach(file IN LISTS FILES)
  get_filename_component(folder ${file} DIRECTORY)
  file(COPY ${SOURCE_DIR}/${file} DESTINATION ${STAGE}/${folder})
endforeach()
# A dry run looks up the multiprocessors of the plan's GPU in it.
file(COPY ${GPUS} DESTINATION ${STAGE}/headroom_probe/dry_run)

get_filename_component(folder ${ARCHIVE} DIRECTORY)
file(MAKE_DIRECTORY ${folder})
# One date for all files: the same sources make the same archive.
execute_process(COMMAND ${CMAKE_COMMAND} -E tar cf ${ARCHIVE}.part --format=zip --mtime=2026-01-01 -- ${FILES} headroom_probe/dry_run/gpus.json
                WORKING_DIRECTORY ${STAGE} COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${ARCHIVE}.part ${ARCHIVE})
