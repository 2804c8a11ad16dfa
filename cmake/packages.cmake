# SPDX-License-Identifier: Apache-2.0
# What is installed, and packages of it: `cpack` makes a tarball of a build, and Debian packages of a build by the preset "package".
# The components are those packages: fusesim, library (libfusesim0) and dev (libfusesim-dev).
option(FUSESIM_DEBIAN "Install what Debian wants in its packages, for cpack" OFF)
set(FUSESIM_MAINTAINER "fusesim maintainers <maintainers@fusesim.invalid>" CACHE STRING "Who made the Debian packages")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fusesim)
install(TARGETS fusesim_installed RUNTIME COMPONENT fusesim)
install(TARGETS fusesim_shared EXPORT fusesim_targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT dev)
install(TARGETS fusesim_static EXPORT fusesim_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(FILES include/fusesim.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(EXPORT fusesim_targets NAMESPACE fusesim:: FILE fusesim-targets.cmake DESTINATION ${package_dir} COMPONENT dev)
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/fusesim-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/fusesim-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/fusesim-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fusesim-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/fusesim-config-version.cmake
    DESTINATION ${package_dir} COMPONENT dev)
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/fusesim.pc.in fusesim.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fusesim.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
install(DIRECTORY hwmodels workloads systems reports/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/fusesim COMPONENT fusesim
    PATTERN README.md EXCLUDE)

# Manual pages and completion of shells, which the program itself prints.
set(printed)
function(fusesim_printed folder name)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/printed/${name})
    set(make "\"$0\" \"$@\" >${name}.new && mv ${name}.new ${name}")
    if(name MATCHES "gz$")
        set(make "\"$0\" \"$@\" >${name}.new && gzip -9nc ${name}.new >${name} && rm ${name}.new")
    endif()
    add_custom_command(OUTPUT ${file} COMMAND sh -c ${make} $<TARGET_FILE:fusesim_installed> ${ARGN}
        WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/printed DEPENDS fusesim_installed COMMENT "Printing ${name}" VERBATIM)
    install(FILES ${file} DESTINATION ${folder} COMPONENT fusesim)
    set(printed ${printed} ${file} PARENT_SCOPE)
endfunction()
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/printed)
find_program(FUSESIM_GZIP gzip)
set(gz)
if(FUSESIM_GZIP)
    set(gz .gz)
endif()
set(zsh_dir ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
if(FUSESIM_DEBIAN)
    set(zsh_dir ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
endif()
fusesim_printed(${CMAKE_INSTALL_MANDIR}/man1 fusesim.1${gz} manual)
fusesim_printed(${CMAKE_INSTALL_MANDIR}/man5 fusesim-workload.5${gz} manual workload)
fusesim_printed(${CMAKE_INSTALL_MANDIR}/man5 fusesim-hw.5${gz} manual hw)
fusesim_printed(${CMAKE_INSTALL_DATADIR}/bash-completion/completions fusesim completion bash)
fusesim_printed(${zsh_dir} _fusesim completion zsh)
fusesim_printed(${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d fusesim.fish completion fish)
add_custom_target(fusesim_pages ALL DEPENDS ${printed})

# Documents.
file(GLOB documents docs/*.md)
install(FILES README.md ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT fusesim)
if(FUSESIM_DEBIAN)
    # Its changelog has one entry, of this release: what changed is in CHANGELOG.md.
    execute_process(COMMAND date -u -R -d ${released} OUTPUT_VARIABLE released_rfc OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(debian ${CMAKE_CURRENT_BINARY_DIR}/debian)
    configure_file(cmake/debian-copyright.in ${debian}/copyright @ONLY)
    foreach(package fusesim:fusesim libfusesim${PROJECT_VERSION_MAJOR}:library libfusesim-dev:dev)
        string(REGEX REPLACE ":.*" "" name ${package})
        string(REGEX REPLACE ".*:" "" component ${package})
        file(CONFIGURE OUTPUT ${debian}/${component}/changelog.Debian CONTENT
"fusesim (${PROJECT_VERSION}-1) unstable; urgency=medium

  * Release ${PROJECT_VERSION}; /usr/share/doc/fusesim/changelog.gz says what is new.

 -- ${FUSESIM_MAINTAINER}  ${released_rfc}
")
        execute_process(COMMAND gzip -9nkf ${debian}/${component}/changelog.Debian)
        install(FILES ${debian}/copyright ${debian}/${component}/changelog.Debian.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
        # What lintian may not say, and why.
        set(overrides "# Not a package of Debian's archive: no bug asks for it.\n${name}: initial-upload-closes-no-bugs\n")
        if("${component}" STREQUAL "library")
            string(APPEND overrides "# CPack writes these calls, which do what the trigger does.\n${name}: maintscript-calls-ldconfig *\n")
        endif()
        file(CONFIGURE OUTPUT ${debian}/overrides/${name} CONTENT "${overrides}")
        install(FILES ${debian}/overrides/${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides COMPONENT ${component})
    endforeach()
    execute_process(COMMAND gzip -9nc ${CMAKE_CURRENT_SOURCE_DIR}/CHANGELOG.md OUTPUT_FILE ${debian}/changelog.gz)
    install(FILES ${debian}/changelog.gz DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT fusesim)
else()
    install(FILES LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT fusesim)
endif()

# Files in packages are dated by the release, so that two builds have the same bytes.
execute_process(COMMAND date -u -d ${released} +%s OUTPUT_VARIABLE epoch OUTPUT_STRIP_TRAILING_WHITESPACE)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_BINARY_DIR}/dates.cmake)
file(CONFIGURE OUTPUT ${CPACK_PROJECT_CONFIG_FILE} CONTENT "if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})\n    set(ENV{SOURCE_DATE_EPOCH} ${epoch})\nendif()\n")

set(CPACK_PACKAGE_NAME fusesim)
set(CPACK_PACKAGE_VENDOR fusesim)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_PACKAGE_CONTACT "${FUSESIM_MAINTAINER}")
set(CPACK_PACKAGE_FILE_NAME fusesim-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_SOURCE_GENERATOR "")
set(CPACK_GENERATOR TGZ)
if(FUSESIM_DEBIAN)
    set(CPACK_GENERATOR DEB)
    set(CPACK_DEB_COMPONENT_INSTALL ON)
    set(CPACK_COMPONENTS_ALL fusesim library dev)
    set(CPACK_COMPONENTS_GROUPING IGNORE)
    set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
    set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
    # dpkg-shlibdeps sees what is linked, and libzip is opened.
    if(FUSESIM_ZIP_SONAME)
        execute_process(COMMAND dpkg-query -S "*/${FUSESIM_ZIP_SONAME}" OUTPUT_VARIABLE zip)
        string(REGEX REPLACE ":.*" "" zip "${zip}")
        set(CPACK_DEBIAN_FUSESIM_PACKAGE_DEPENDS ${zip})
        set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS ${zip})
    endif()
    set(CPACK_DEBIAN_FUSESIM_PACKAGE_NAME fusesim)
    set(CPACK_DEBIAN_FUSESIM_PACKAGE_SECTION science)
    set(CPACK_DEBIAN_FUSESIM_PACKAGE_SUGGESTS "gnuplot-nox, libnlopt0")
    set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libfusesim${PROJECT_VERSION_MAJOR})
    set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
    set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "fusesim (= ${PROJECT_VERSION}-1)")
    set(CPACK_DEBIAN_DEV_PACKAGE_NAME libfusesim-dev)
    set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
    set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
    set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libfusesim${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION}-1), libyaml-dev, libcjson-dev")
    # What dpkg wants to know of the library: its symbols, each with the release that brought it.
    file(STRINGS include/fusesim.h declared REGEX "^FSIM_API .*fsim_[a-z_]+[(]")
    list(TRANSFORM declared REPLACE ".*(fsim_[a-z_]+)[(].*" " \\1@FUSESIM_0.1 0.1.0\n")
    list(SORT declared)
    list(JOIN declared "" declared)
    file(CONFIGURE OUTPUT ${debian}/symbols CONTENT
"libfusesim.so.${PROJECT_VERSION_MAJOR} libfusesim${PROJECT_VERSION_MAJOR} (>= 0.1.0)
* Build-Depends-Package: libfusesim-dev
 FUSESIM_0.1@FUSESIM_0.1 0.1.0
${declared}")
    file(CONFIGURE OUTPUT ${debian}/shlibs CONTENT
        "libfusesim ${PROJECT_VERSION_MAJOR} libfusesim${PROJECT_VERSION_MAJOR} (>= ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})\n")
    file(CONFIGURE OUTPUT ${debian}/triggers CONTENT "activate-noawait ldconfig\n")
    set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${debian}/symbols ${debian}/shlibs ${debian}/triggers)
    set(about "It reads a workload (YAML, ONNX, torch.export) and the figures of a GPU, finds\nthe best legal way to cut the workload into kernels, and says what each kernel\nmoves, computes and takes. It needs no GPU.")
    set(CPACK_DEBIAN_FUSESIM_DESCRIPTION "cost model of kernel fusion on GPUs\n${about}")
    set(CPACK_DEBIAN_LIBRARY_DESCRIPTION
        "cost model of kernel fusion on GPUs (shared library)\n${about}\n.\nThis package has the library; the shipped GPUs and workloads are in fusesim.")
    set(CPACK_DEBIAN_DEV_DESCRIPTION
        "cost model of kernel fusion on GPUs (development files)\n${about}\n.\nThis package has the header, the static library, and files for pkg-config and\nCMake.")
endif()
include(CPack)
