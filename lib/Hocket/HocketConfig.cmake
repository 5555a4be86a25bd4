# find_package(Hocket): the target Hocket::hocket, which needs nothing else to be found.
include(${CMAKE_CURRENT_LIST_DIR}/HocketTargets.cmake)
