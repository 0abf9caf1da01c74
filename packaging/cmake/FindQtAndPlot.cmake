# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Qt first: QCustomPlot's package file of Debian does not look for it. Elsewhere QCustomPlot comes without a package
# file, so its library and header are searched for.
find_package(Qt6 6.4 REQUIRED COMPONENTS Widgets PrintSupport Svg)
if(HEADROOM_TESTS)
  find_package(Qt6 6.4 REQUIRED COMPONENTS Test)
endif()
find_package(QCustomPlotQt6 CONFIG QUIET)
if(NOT TARGET QCustomPlotQt6::QCustomPlotQt6)
  find_library(QCUSTOMPLOT_LIBRARY NAMES QCustomPlotQt6 qcustomplot-qt6 qcustomplot REQUIRED)
  find_path(QCUSTOMPLOT_INCLUDE_DIR qcustomplot.h REQUIRED)
  add_library(QCustomPlotQt6::QCustomPlotQt6 UNKNOWN IMPORTED)
  set_target_properties(QCustomPlotQt6::QCustomPlotQt6 PROPERTIES
    IMPORTED_LOCATION ${QCUSTOMPLOT_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${QCUSTOMPLOT_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES "Qt6::Widgets;Qt6::PrintSupport")
endif()
# moc of Qt 6.4 stumbles over libstdc++'s <concepts> where a header includes it before Qt; it has no use for it, so the
# header's include guard is set for moc alone.
set(CMAKE_AUTOMOC_MOC_OPTIONS -D_GLIBCXX_CONCEPTS)
