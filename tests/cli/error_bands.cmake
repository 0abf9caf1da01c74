# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The error bands that ship are what presets/make_error_bands.py makes of the measurements with the engine as it is.
find_program(python3 python3)
if(NOT python3)
  message(STATUS "skipped: needs Python 3")
elseif(NOT EXISTS ${SHARED}/truth/measured/cases.jsonl)
  message(STATUS "skipped: needs the published measurements beside the repository")
else()
  execute_process(COMMAND ${python3} ${SOURCE_DIR}/presets/make_error_bands.py --check --cli ${CLI}
    ${SHARED}/truth/measured/cases.jsonl ${SHARED}/truth/measured/a6000.jsonl RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "presets/error_bands.json is out of date")
  endif()
endif()
